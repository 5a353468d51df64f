"""The configuration of a node: one frozen value for each section of the YAML file, found by its class.

`node.config[LoginSettings].session_s`. A section that the file leaves out has its defaults, so does every section of a
node without a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeVar, overload

from opsapp.lib.settings import CheckedBy, Length
from opsapp.lib.zones import zone_problem

Section = TypeVar("Section")


@dataclass(frozen=True)
class General:
    """What belongs to no section."""

    timezone: Annotated[str, Length(1, 60), CheckedBy(zone_problem)] = "UTC"


def by_class(sections: Iterable[Any]) -> dict[type, Any]:
    """Every section, and those within it, by its class."""
    found: dict[type, Any] = {}
    for section in sections:
        within = (getattr(section, field.name) for field in fields(section))
        found |= by_class(part for part in within if is_dataclass(part)) | {type(section): section}
    return found


class Configuration(dict[Any, Any]):
    """The sections by their classes. The keys of the file are for the rooms whose sections are not classes yet."""

    def __init__(self, sections: Mapping[type, Any] | None = None, values: Mapping[str, Any] | None = None):
        super().__init__(values or {})
        self._sections = by_class((sections or {}).values())

    @overload
    def __getitem__(self, key: type[Section]) -> Section: ...

    @overload
    def __getitem__(self, key: str) -> Any: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return super().__getitem__(key)
        if key not in self._sections:
            self._sections[key] = key()
        return self._sections[key]

    @property
    def timezone(self) -> str:
        return self[General].timezone

    def having(self, *sections: Any) -> Configuration:
        """The same with these sections in place of those of their class."""
        return Configuration({**self._sections, **by_class(sections)}, self)

    def __or__(self, values: Any) -> Configuration:
        return Configuration(self._sections, {**self, **values})
