"""Something that a scenario expects, and what was seen."""

from __future__ import annotations

from typing import Any, NamedTuple

from opsapp.lib.jsontypes import JsonObject


class Expectation(NamedTuple):
    check: str
    expected: Any
    actual: Any

    @property
    def passed(self) -> bool:
        return bool(self.expected == self.actual)

    def plain(self) -> JsonObject:
        """As the API gives it: what is a set here is a sorted list there."""
        values = {name: sorted(value) if isinstance(value, set) else value for name, value in self._asdict().items()}
        return {**values, "passed": self.passed}
