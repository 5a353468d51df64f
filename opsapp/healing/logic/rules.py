"""Names in rules and conditions: targets, parts of hosts, scopes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from opsapp.wire.conditions import Condition, parse, reread, without_event
from opsapp.wire.conditiontree import Name
from opsapp.wire.readings import split


def target_of(hostname: str, condition: Condition) -> str:
    """`hostname/NAME` where the condition is about exactly one service, container or mount."""
    subject = condition.subject
    return hostname if subject is None else f"{hostname}/{subject.name}"


@lru_cache(maxsize=4096)
def told_of(text: str) -> tuple[str, ...]:
    """The condition as written, and as a rule about every such thing says it: outcomes count for both."""
    condition = reread(without_event(text))
    if condition is None:
        return (text,)
    written, subject = str(condition.tree), condition.subject
    if subject is None or subject.name == "*":
        return (written,)
    general = written
    for key in condition.names:
        family, middle, attribute = split(key)
        if middle:
            general = general.replace(str(Name(key)), f"{family}.*.{attribute}")
    return written, general


@lru_cache(maxsize=4096)
def readings_of(text: str) -> frozenset[str]:
    """Without thresholds and names: `disk.percent`. What only others tell is the condition itself."""
    condition = parse(without_event(text))
    if condition.only_told:
        return frozenset((text,))
    return frozenset(f"{family}.{attribute}" for family, _, attribute in map(split, condition.names))


def names_of(target: str) -> tuple[str, ...]:
    """The target with its host, which is what filters and windows match."""
    host, slash, _ = target.partition("/")
    return (target, host) if slash else (target,)


def part_of(target: str) -> str | None:
    """A mount keeps its own slash."""
    _, slash, name = target.partition("/")
    return name if slash else None


def in_scope(names: Iterable[str], tags: Iterable[str], wanted: Iterable[str]) -> bool:
    known = {*names, *(f"tag:{tag}" for tag in tags)}
    return not known.isdisjoint(wanted)
