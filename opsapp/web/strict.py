"""colander as the adaptor at the web's edge: types of nodes are `wire.kinds`, strict. Its own lenient types are used
nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import colander

from opsapp.wire.kinds import ABSENT, LEFT_OUT, REQUIRED, JsonKind, read_entry

Check = Callable[[Any], str | None]


class FieldNode(colander.SchemaNode):
    """A field as an entry (`wire.kinds.DeclaredField`)."""

    null = False  # whether null is a value here, and not the same as nothing
    check: Check | None = None

    @property
    def kind(self) -> JsonKind:
        return self.typ

    @property
    def default(self) -> Any:
        return REQUIRED if self.required else LEFT_OUT if self.missing is colander.drop else self.missing

    def problem(self, value: Any) -> str | None:
        return self.check(value) if self.check and value is not None else None

    def deserialize(self, cstruct: Any = colander.null) -> Any:
        wrong: dict[str, str] = {}
        value = read_entry(self, ABSENT if cstruct is colander.null else cstruct, "", wrong)
        if wrong:
            problem = colander.Invalid(self)
            problem.wrong = wrong
            raise problem
        return value
