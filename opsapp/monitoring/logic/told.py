"""What an incident of no monitor is about. Pure."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.records import IncidentSource

LONGEST_TITLE, LONGEST_CAUSE = 300, 1000


class ToldTrouble(NamedTuple):
    """What another system told of something that is no host or monitor here, or a person (`opened_by`) who then ends it
    too. `target` is what they call it."""

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
        return _cut(f"{self.name} on {self.target}" if self.target else self.name, LONGEST_TITLE)

    @property
    def cause(self) -> str:
        return _cut(self.summary or self.description or self.name, LONGEST_CAUSE)

    def shown(self) -> JsonObject:
        source = {"source": IncidentSource(self.inlet, self.fingerprint)}
        return {
            **({"by_hand": True, "opened_by": self.opened_by} if self.opened_by else source),
            "name": self.name,
            "target": self.target,
            "summary": self.summary,
            "description": self.description,
            "severity": self.severity,
            "links": tuple(self.links),
        }


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
