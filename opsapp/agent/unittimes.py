"""How long systemd lets a unit take to stop and to start, and how long the agent waits for that.

Who gives up before systemd does not learn how it ended. Must not: change anything.
"""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Sequence

from opsapp.wire.actionparams import UNIT_LONGEST_S, UNIT_MARGIN_S, UNIT_TIMEOUT_S, HealParams
from opsapp.wire.actiontypes import Action

from . import vpn
from .processes import Ran
from .services import blocks, show

WITH_NEEDED = "service_dependency_restart"
_NEEDS = ("Requires", "BindsTo", "Requisite")
_TIMES = ("TimeoutStopUSec", "TimeoutStartUSec")
_SPAN = re.compile(r"([0-9.]+)(us|ms|s|min|h|d|w|month|y)")
_SECONDS = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
    "month": 2629800.0,
    "y": 31557600.0,
}


class UnitPatience(NamedTuple):
    """`seconds`: how long the agent waits. `allowed`: how long systemd would; None while it does not say."""

    seconds: float
    allowed: Optional[float] = None

    def told(self, ran: Ran) -> Ran:
        """Where systemd may wait on after we have given up, the reason says so."""
        if ran.status != "timeout" or self.allowed is None or self.allowed <= self.seconds:
            return ran
        own = "for ever" if self.allowed == float("inf") else f"for {self.allowed:.0f} s"
        return ran._replace(
            reason=f"not done within {self.seconds:.0f} s, the longest that is waited for; "
            f"systemd waits {own} (TimeoutStopSec and TimeoutStartSec)"
        )


def for_action(action: Action, params: HealParams) -> UnitPatience:
    named = getattr(params, action.units) if action.units else ""
    return patience(_groups(action, named) if named else [], action.timeout)


def for_service(name: str) -> UnitPatience:
    return patience([[name]], UNIT_TIMEOUT_S)


def _groups(action: Action, named: str) -> List[List[str]]:
    if action.units == "interface":
        return [vpn.openvpn_units(named)]
    return [needed_by(named) if action.name == WITH_NEEDED else [], [named]]


def patience(groups: Sequence[List[str]], least: float) -> UnitPatience:
    """`groups`: units that are restarted together, one group after the other."""
    spans = [_longest(units) for units in groups if units]
    allowed = None if not spans or None in spans else sum(span or 0.0 for span in spans)
    if allowed is None:
        return UnitPatience(least)
    return UnitPatience(max(least, min(allowed + UNIT_MARGIN_S, UNIT_LONGEST_S)), allowed)


def needed_by(name: str) -> List[str]:
    words = " ".join(value for shown in _show([name], _NEEDS) for value in shown.values()).split()
    return sorted({word for word in words if word.endswith(".service")})


def _longest(units: List[str]) -> Optional[float]:
    """The time until the slowest of the units has stopped and started, or systemd has given up."""
    spans = []
    for shown in _show(units, _TIMES):
        times = [seconds_of(value) for value in shown.values()]
        if None in times:
            return None
        spans.append(sum(span or 0.0 for span in times))
    return max(spans, default=None)


def _show(units: List[str], properties: Sequence[str]) -> List[Dict[str, str]]:
    """The properties of the units; nothing where systemd does not answer, or does not run here."""
    code, output = show(properties, ["--", *units])
    said = [{name: block[name] for name in properties if name in block} for block in blocks(output)]
    return [values for values in said if values] if code == 0 else []


def seconds_of(span: str) -> Optional[float]:
    """The seconds of a span such as `1min 30s` or `infinity`; None for anything else."""
    if span.strip() == "infinity":
        return float("inf")
    parts = [_SPAN.fullmatch(word) for word in span.split()]
    if not parts or None in parts:
        return 0.0 if span.strip() == "0" else None
    return sum(float(part[1]) * _SECONDS[part[2]] for part in parts if part)
