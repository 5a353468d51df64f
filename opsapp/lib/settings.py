"""What may stand in a section of the YAML file, said in the annotations of a frozen dataclass: the marks of a declared
record (`wire.records`), and one that names a schema.

    @dataclass(frozen=True)
    class Retry:
        first_s: Annotated[float, Between(0.05, 3600)] = 5
"""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

from opsapp.wire.kinds import CheckedBy, JsonKind  # noqa: F401 - a mark, handed on
from opsapp.wire.kinds import Text as Length  # noqa: F401 - the same
from opsapp.wire.records import Between, Most  # noqa: F401 - the same


@dataclass(eq=False)
class SchemaAt(JsonKind):
    """What an annotation cannot say, because this file must not import schemas: the dotted name of a schema's class."""

    dotted: str

    @property
    def default(self) -> Any:
        """Of the schema; so far as it has one, the field may be left out."""
        return self.stands_for.default

    @property
    def stands_for(self) -> JsonKind:
        schema = resolve_name(self.dotted)()
        return getattr(schema, "kind", schema)
