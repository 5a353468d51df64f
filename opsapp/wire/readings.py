"""Names of readings and how old one may be: `disk./var.percent` is the family `disk`, the name `/var` and the attribute
`percent`.

The service and the agent write and read these names with the same functions. What a condition does with them is in
conditions.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

Lookup = Callable[[str], Any]

STALE_AFTER_INTERVALS = 3
FAMILIES = ("service", "container", "disk", "vpn", "backup")


def split(key: str) -> tuple[str, str, str]:
    """`disk./var.percent` is ("disk", "/var", "percent"); a name without a middle part has "" there."""
    family, dot, rest = key.partition(".")
    middle, dot, attribute = rest.rpartition(".")
    return (family, middle, attribute) if dot else (family, "", rest)


def key_of(family: str, name: str, attribute: str) -> str:
    """The one spelling of a reading's name: systemd's suffix is left out for services."""
    if family == "service" and name.endswith(".service"):
        name = name[: -len(".service")]
    return f"{family}.{name}.{attribute}"


def fresh(samples: Mapping[str, tuple[Any, float]], now: float, interval: float) -> Lookup:
    """Readings by name, where one that is older than three intervals does not exist. Samples are (value, time)."""
    oldest = now - STALE_AFTER_INTERVALS * interval

    def lookup(name: str) -> Any:
        sample = samples.get(name)
        return None if sample is None or sample[1] < oldest else sample[0]

    return lookup
