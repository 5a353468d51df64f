"""The brake: past so many heals an hour, or with so much of the fleet sick, nothing acts."""

from __future__ import annotations

import math
from typing import NamedTuple

from opsapp.healing.config import BrakeSettings, HealsPerHour
from opsapp.wire.heals import used_up

SICK_FROM = 5  # with fewer sick targets a percentage says nothing
HOUR = 3600.0
SCOPES = ("fleet", "site", "rule", "target")
OF_RULE = 0.6  # how much of a rule's heals an hour one target may use up, where nothing else is configured


class Load(NamedTuple):
    """Cases that began to heal within the last hour, and the fleet's state."""

    fleet: int = 0
    site: int = 0
    rule: int = 0
    target: int = 0
    sick: int = 0
    targets: int = 0


def pulled(load: Load, limits: BrakeSettings) -> str | None:
    """Why the brake is on."""
    for scope in SCOPES:
        done, limit = getattr(load, scope), limit_of(scope, limits)
        if used_up(done, limit):
            return f"{done} heals within an hour, the limit for one {scope} is {limit}"
    return too_sick(load, limits)


def limit_of(scope: str, limits: BrakeSettings) -> int:
    rates = limits.max_heals_per_hour
    return of_target(rates) if scope == "target" else int(getattr(rates, scope))


def too_sick(load: Load, limits: BrakeSettings) -> str | None:
    """Why the fleet's state alone puts the brake on."""
    percent = 100 * load.sick / load.targets if load.targets else 0.0
    if load.sick >= SICK_FROM and percent > limits.max_unhealthy_percent:
        return f"{percent:.0f} % of all targets are unhealthy, the limit is {limits.max_unhealthy_percent} %"
    return None


def without_heals(load: Load) -> Load:
    """The load without heals, for a case that is counted already. A limit of nothing stops it all the same."""
    return load._replace(fleet=0, site=0, rule=0, target=0)


def of_target(rates: HealsPerHour) -> int:
    """A part of its rule's limit: a unit that flaps must not stop the heals of all others."""
    return math.ceil(OF_RULE * rates.rule) if rates.target is None else rates.target
