"""Inlets, events from elsewhere, and what came of these: bodies and answers, declared once (`wire.records`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

from opsapp.lib.visible import name_kind
from opsapp.wire.dataclass import frozen

from .records import InletLabels

MOST_NAMED = 50  # refused entries in one answer


@frozen
class InletSettings:
    component: ClassVar[str] = "Inlet"
    sample: ClassVar[dict[str, str]] = {"name": "Alertmanager"}
    name: Annotated[str, name_kind(100)]
    mapping: InletLabels | None = None


@frozen
class InletRecord:
    """`unknown_targets`: firing events that are about nothing that is known. `refused`: of all that it ever sent."""

    id: str
    name: str
    mapping: InletLabels
    created_by: str
    created_at: int
    firing: int = 0
    unknown_targets: int = 0
    last_event_at: int | None = None
    refused: int = 0
    last_refusal: str = ""


@frozen
class InletUpdated(InletRecord):
    status: Literal["updated"] = "updated"


@frozen(kw_only=True)
class InletMade(InletRecord):
    """The token is shown this once."""

    token: str
    url: str


@frozen
class EventSubject:
    """The host or monitor that an event is about."""

    kind: Literal["agent", "monitor"]
    id: str
    name: str


@frozen
class EventRecord:
    """Times by the sender's clock, `told_at` by ours. `became` `nothing`: it was over already."""

    id: str
    fingerprint: str
    name: str
    status: Literal["firing", "resolved"]
    severity: str
    target: str
    labels: dict[str, str]
    values: dict[str, float]
    summary: str
    description: str
    links: tuple[str, ...]
    starts_at: int | None
    ends_at: int | None
    told_at: int
    became: Literal["reading", "incident", "nothing"]
    about: EventSubject | None
    incident_id: str | None


@frozen
class RefusedEvent:
    """An entry of a body that is no event: where it stands there, and why it is none."""

    sample: ClassVar[dict[str, str]] = {"place": "alerts.17"}
    place: str
    why: str


@frozen
class EventsTaken:
    """`older`: a later word was here before it. `refused`: the first of them."""

    received: int = 0
    firing: int = 0
    resolved: int = 0
    repeated: int = 0
    older: int = 0
    unknown_targets: int = 0
    refused: tuple[RefusedEvent, ...] = ()
    refused_count: int = 0

    def plus(self, more: EventsTaken) -> EventsTaken:
        sums = EventsTaken(**{name: count + getattr(more, name) for name, count in vars(self).items()})
        return replace(sums, refused=sums.refused[:MOST_NAMED])
