"""A rule on plain values: its steps, the hash of what it does, the target its events name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.actions import ACTIONS
from opsapp.wire.conditions import Condition, ConditionError, parse, without_event
from opsapp.wire.conditiontree import Name
from opsapp.wire.readings import split


class RuleStep(NamedTuple):
    """One rung of the escalation chain."""

    position: int
    action: str
    params: JsonObject


def steps(rule: JsonObject) -> list[RuleStep]:
    """The chain, or the single action of a rule without one."""
    chain = rule.get("escalation_chain")
    if chain:
        return [RuleStep(at, entry["action"], dict(entry.get("params") or {})) for at, entry in enumerate(chain)]
    action = rule.get("action") or {}
    return [RuleStep(0, action["type"], dict(action.get("params") or {}))] if action.get("type") else []


RUNS = {action.name: action.runs for action in ACTIONS.values() if action.runs}  # whose parameter names an automation


def automations_in(rule: JsonObject) -> list[str]:
    """The ids of the automations that the rule runs."""
    done = [(step.action, step.params) for step in steps(rule)]
    return sorted({params[RUNS[action]] for action, params in done if action in RUNS and RUNS[action] in params})


def definition(rule: JsonObject, automations: Mapping[str, str] | None = None) -> str:
    """A hash of what the rule does: evidence gathered under another definition says nothing about it. `automations`
    that it runs, and what those are made of, belong to it: id -> digest."""
    parts = [rule["condition"], rule.get("action"), rule.get("escalation_chain"), rule.get("targets")]
    if automations:
        parts.append(dict(automations))
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def target_of(hostname: str, condition: Condition) -> str:
    """`hostname`, or `hostname/NAME` for a condition about exactly one service, container or mount."""
    subject = condition.subject
    return hostname if subject is None else f"{hostname}/{subject.name}"


@lru_cache(maxsize=4096)
def told_of(text: str) -> tuple[str, ...]:
    """A condition as it is written down, and as a rule about every such thing says it: outcomes count for both."""
    try:
        condition = parse(without_event(text))
    except ConditionError:
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
    """What a condition is about, whatever its thresholds and the things it names: `disk.percent`. What only others
    tell is what they call it: the condition itself."""
    condition = parse(without_event(text))
    if condition.only_told:
        return frozenset((text,))
    return frozenset(f"{family}.{attribute}" for family, _, attribute in map(split, condition.names))


def names_of(target: str) -> tuple[str, ...]:
    """A target and the host that it is on: what filters and windows match."""
    host, slash, _ = target.partition("/")
    return (target, host) if slash else (target,)


def part_of(target: str) -> str | None:
    """The NAME of `hostname/NAME`. A mount keeps its own slash."""
    _, slash, name = target.partition("/")
    return name if slash else None


def in_scope(names: Iterable[str], tags: Iterable[str], wanted: Iterable[str]) -> bool:
    """Whether an agent or monitor known by `names` and `tags` is among a rule's targets."""
    known = {*names, *(f"tag:{tag}" for tag in tags)}
    return not known.isdisjoint(wanted)
