"""The configuration of a node: one frozen value for each section of the YAML file, found by its class:
`node.config[LoginSettings].session_s`. A section that the file leaves out has its defaults.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, TypeVar

from opsapp.lib.settings import CheckedBy, Length
from opsapp.lib.zones import zone_problem
from opsapp.wire.dataclass import frozen

Section = TypeVar("Section")


@frozen
class General:
    """What belongs to no section."""

    timezone: Annotated[str, Length(1, 60), CheckedBy(zone_problem)] = "UTC"


def by_class(sections: Iterable[Any]) -> dict[type, Any]:
    """The sections by their classes and bases, with the sections within them."""
    section_of: dict[type, Any] = {}
    for section in sections:
        within = (getattr(section, field.name) for field in fields(section))
        section_of |= by_class(part for part in within if is_dataclass(part))
        section_of |= {kind: section for kind in type(section).__mro__ if is_dataclass(kind)}
    return section_of


class Configuration:
    def __init__(self, sections: Iterable[Any] = ()):
        self._sections = by_class(sections)

    def __getitem__(self, kind: type[Section]) -> Section:
        section = self._sections.get(kind)
        if section is None:
            section = self._sections[kind] = kind()
        return section

    @property
    def timezone(self) -> str:
        return self[General].timezone

    def having(self, *sections: Any) -> Configuration:
        return Configuration([*self._sections.values(), *sections])
