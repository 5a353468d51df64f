"""A condition compared with what is reported now, for who writes a rule; and the names that can be read now.

The same condition language, scope and readings as the rules are compared with. Must not: fire anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opsapp.healing.logic.rules import in_scope, target_of
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.conditions import Condition, parse
from opsapp.wire.readings import FAMILIES, PLUGIN, split

from .fleet_access import fleet_access
from .inventory import Member
from .pipeline import IHealingEngine
from .readings import LiveReadings, read

SHOWN = 50  # targets that are named
NAMED = 1000  # names of readings
OF_MONITORS = ("monitor.", PLUGIN)
ORDER = {True: 0, False: 1, None: 2}


class Look(NamedTuple):
    """One target, and what the condition says of it now."""

    target: str
    name: str
    subject: str
    verdict: bool | None
    readings: JsonObject
    missing: list[str]


def compare(root: Root, text: str, targets: JsonObject | None) -> JsonObject:
    """Of every agent and monitor in the scope that reports something that the condition names. Where a scope is given,
    of the others in it too: there it says what is missing."""
    readings, condition, now = _readings(root), parse(text), node_of(root).clock.now()
    members = [member for member in fleet_access(root).inventory(root) if _applies(member, targets)]
    looks = [look for member in members for look in _looks(member, readings, condition, now)]
    if targets is None:
        looks = [look for look in looks if look.readings]
    looks.sort(key=lambda look: (ORDER[look.verdict], look.target))
    verdicts = [look.verdict for look in looks]
    return {
        "matching": len(members),
        "holds": verdicts.count(True),
        "false": verdicts.count(False),
        "unknown": verdicts.count(None),
        "targets": [look._asdict() for look in looks[:SHOWN]],
    }


def names(root: Root) -> list[JsonObject]:
    """What can be read now, as conditions say it: a service's state once, whatever services there are."""
    readings = _readings(root)
    row_by_name: dict[tuple[str, str], JsonObject] = {}
    for member in fleet_access(root).inventory(root):
        of, seen = ("host" if member.is_agent else "monitor"), set()
        for key, (value, _) in readings.samples(member.subject).items():
            if value is None or isinstance(value, dict | list) or (of == "monitor") != key.startswith(OF_MONITORS):
                continue
            name = _general(key)
            row = row_by_name.setdefault(
                (of, name), {"name": name, "of": of, "subjects": 0, "example": value, "on": member.name}
            )
            row["subjects"] += name not in seen
            seen.add(name)
    return [row_by_name[key] for key in sorted(row_by_name)[:NAMED]]


def _readings(root: Root) -> LiveReadings:
    return node_of(root).registry.getUtility(IHealingEngine).readings


def _applies(member: Member, targets: JsonObject | None) -> bool:
    if targets is None:
        return True
    return in_scope(member.names, member.tags, targets["agents"] if member.is_agent else targets["monitors"])


def _looks(member: Member, readings: LiveReadings, condition: Condition, now: float) -> Iterator[Look]:
    samples = readings.samples(member.subject)
    bound = [condition]
    if condition.family is not None:  # a monitor has no services, containers or mounts
        bound = [condition.bind(name) for name in condition.bindings(samples)] if member.is_agent else []
    for instance in bound:
        reading = read(samples, instance, now, member.interval)
        missing = [name for name in instance.names if name not in reading.metrics]
        yield Look(
            target_of(member.name, instance), member.name, member.subject, reading.verdict, reading.metrics, missing
        )


def _general(key: str) -> str:
    family, middle, attribute = split(key)
    return f"{family}.*.{attribute}" if middle and family in FAMILIES else key
