"""What an agent is asked to look at for a monitor, and what it saw, as messages have it.

Must not: look (`probes`), or know a type of monitors (`monitortypes`).
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Dict, Optional, Tuple

from .checks import OnWire, checks_of
from .dataclass import dataclass
from .fields import WireField, mapping, number, text
from .kinds import REQUIRED, Choice, Text
from .monitortypes import TYPES, every_own
from .plugins import MOST_METRICS, UNIT_LENGTH
from .probes import FAMILIES, Outcome
from .records import Between, Most
from .reports import Count
from .webchecks import MOST_BODY, STATUS_RANGE

Networks = Annotated[Tuple[Annotated[str, Text(0, 64)], ...], Most(1000)]


@dataclass(frozen=True)
class ProbeAsked:
    """What an agent is asked to look at, beside the settings that the type alone has."""

    type: Annotated[str, Choice(*(name for name, declared in TYPES.items() if declared.by_agents))]
    url: Annotated[str, Text(0, 2000)] = ""
    timeout: Annotated[float, Between(0.1, 60)] = REQUIRED
    expected_status: Annotated[Optional[int], Between(100, 599)] = None
    method: Annotated[str, Text(1, 16)] = "GET"
    headers: Annotated[Dict[str, str], OnWire(mapping(text(4000), 50))] = field(default_factory=dict)
    follow_redirects: bool = True
    verify_tls: bool = True
    accepted_statuses: Annotated[Tuple[Annotated[str, Text(3, 7, STATUS_RANGE)], ...], Most(50)] = ()
    max_redirects: Annotated[Optional[int], Between(0, 20)] = None
    ip_family: Annotated[str, Choice(*FAMILIES)] = FAMILIES[0]
    body: Annotated[str, Text(0, MOST_BODY)] = ""


@dataclass(frozen=True)
class ProbeNetworks:
    """The networks that the server's configuration names."""

    allow: Networks = ()
    deny: Networks = ()


@dataclass(frozen=True)
class ProbeSeen:
    """What it saw (`probes.Outcome`); `ok` null: it could not look."""

    ok: Optional[bool] = None
    response_time_ms: Count = None
    detail: Annotated[str, Text(0, 2000)] = ""
    phases: Annotated[Optional[Dict[str, float]], OnWire(mapping(number(0), 10))] = None
    certificate_days: Optional[float] = None
    protocol: Annotated[Optional[str], Text(0, 32)] = None
    http_status: Annotated[Optional[int], Between(0, 999)] = None
    degraded: Optional[bool] = None
    metrics: Annotated[Optional[Dict[str, float]], OnWire(mapping(number(), MOST_METRICS))] = None
    units: Annotated[Optional[Dict[str, str]], OnWire(mapping(text(UNIT_LENGTH), MOST_METRICS))] = None

    @property
    def outcome(self) -> Outcome:
        return Outcome(**vars(self))


PROBE_TARGET: Dict[str, WireField] = {**checks_of(ProbeAsked), **checks_of(every_own()), **checks_of(ProbeNetworks)}
PROBED = checks_of(ProbeSeen)
