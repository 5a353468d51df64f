"""What an incident of no monitor is about. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from opsapp.lib.visible import clip
from opsapp.monitoring.records import IncidentRecord, IncidentSource

LONGEST_TITLE, LONGEST_CAUSE = 300, 1000


class ToldTrouble(NamedTuple):
    """Trouble of something that is no host or monitor here: told by another system, or by a person (`opened_by`) who
    then ends it. `target` is what they call it."""

    inlet: str
    fingerprint: str
    name: str
    target: str
    summary: str
    description: str
    severity: str
    links: tuple[str, ...]
    opened_by: str = ""

    @property
    def title(self) -> str:
        return clip(f"{self.name} on {self.target}" if self.target else self.name, LONGEST_TITLE)

    @property
    def cause(self) -> str:
        return clip(self.summary or self.description or self.name, LONGEST_CAUSE)

    def within(self, record: IncidentRecord) -> IncidentRecord:
        """The record of its incident, with what was told."""
        return replace(
            record,
            source=None if self.opened_by else IncidentSource(self.inlet, self.fingerprint),
            by_hand=bool(self.opened_by),
            opened_by=self.opened_by or None,
            name=self.name,
            target=self.target,
            summary=self.summary,
            description=self.description,
            severity=self.severity,
            links=tuple(self.links),
        )
