"""What an agent is asked to look at for a monitor.

Must not: look (`probes`), or know a type of monitors (`monitortypes`).
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Dict, Optional, Tuple

from .checks import OnWire, checks_of
from .dataclass import frozen
from .fields import WireField, mapping, text
from .kinds import REQUIRED, Choice, Text
from .monitortypes import TYPES, every_own
from .probes import FAMILIES
from .records import Between, Most
from .webchecks import MOST_BODY, STATUS_RANGE

Networks = Annotated[Tuple[Annotated[str, Text(0, 64)], ...], Most(1000)]


@frozen
class ProbeAsked:
    """What every probe is asked; beside it goes what the type alone has."""

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


@frozen
class ProbeNetworks:
    allow: Networks = ()
    deny: Networks = ()


PROBE_TARGET: Dict[str, WireField] = {**checks_of(ProbeAsked), **checks_of(every_own()), **checks_of(ProbeNetworks)}
