"""Which incidents a list is asked for, by what stands in an incident itself. Pure."""

from __future__ import annotations

from typing import NamedTuple

from .told import ToldTrouble


class IncidentFilter(NamedTuple):
    """`kind`: of a monitor, an event that another system told of, or opened by hand."""

    q: str | None = None
    owner: str | None = None
    severity: str | None = None
    kind: str | None = None
    tag: str | None = None

    def passes(self, name: str, owner: str | None, tags: tuple[str, ...], told: ToldTrouble | None) -> bool:
        kind = "monitor" if told is None else "by_hand" if told.opened_by else "event"
        return (
            all(word in name.casefold() for word in (self.q or "").casefold().split())
            and self.owner in (None, owner)
            and self.severity in (None, None if told is None else told.severity)
            and self.kind in (None, kind)
            and (self.tag is None or self.tag in tags)
        )
