"""Which policies and schedules a limited person (in a team) sees. A policy is seen by who sees a monitor whose
incidents it is for; a schedule by who sees a policy that calls by it. How others are reached is theirs to know.

Must not: know who is in a team.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from opsapp.monitoring.engine import register_of
from opsapp.oncall.records import OnCallRecord, PolicyRecord
from opsapp.oncall.resources import CallPolicy, Schedule, oncall_of
from opsapp.runtime.node import node_of
from opsapp.tree.rights import Sight, TagsOfMany
from opsapp.tree.root import Root, root_above

from . import plans


def seen_policies(root: Root, sight: Sight) -> list[PolicyRecord]:
    """By name, with the tags that are seen."""
    of_all = _tags_of_monitors(root)
    seen = (row for row in oncall_of(root).policies.records() if sight.sees(row.tags or of_all))
    return [narrowed(row, sight) for row in seen]


def seen_schedules(root: Root, sight: Sight | None) -> Collection[str] | None:
    """Their ids; None for who is in no team."""
    return None if sight is None else {name for row in seen_policies(root, sight) for name in plans.schedules_of(row)}


def narrowed(policy: PolicyRecord, sight: Sight) -> PolicyRecord:
    return replace(policy, tags=tuple(tag for tag in policy.tags if tag in sight.see))


def without_contacts(rows: Iterable[OnCallRecord], username: str) -> list[OnCallRecord]:
    """But for the reader's own."""
    return [row if row.now.user == username else replace(row, channels=()) for row in rows]


def tags_of_policy(policy: CallPolicy) -> Collection[str]:
    return policy.record.tags or _tags_of_monitors(root_above(policy))


def tags_of_schedule(schedule: Schedule) -> TagsOfMany:
    root = root_above(schedule)
    calling = [row for row in oncall_of(root).policies.records() if schedule.__name__ in plans.schedules_of(row)]
    of_all = _tags_of_monitors(root) if calling else frozenset[str]()
    return TagsOfMany(tuple(row.tags or of_all for row in calling))


def _tags_of_monitors(root: Root) -> frozenset[str]:
    """From memory: of whom a policy without tags calls for."""
    register = register_of(node_of(root))
    register.catch_up(root)
    return frozenset[str]().union(*(entry.settings.tags for entry in tuple(register.entries.values())))
