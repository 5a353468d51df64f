"""Escalation policies as code (`opsapp.runtime.ascode`), by name; so are their schedules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from opsapp.lib.problems import Invalid
from opsapp.oncall.records import PolicyRecord
from opsapp.oncall.resources import by_name, oncall_of
from opsapp.runtime.ascode.kinds import StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import changed, settings_of

from . import plans


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    """A schedule that is gone is called by its id."""
    names = {schedule.__name__: schedule.record.name for schedule in oncall_of(root).schedules.whole()}
    for record in sorted((policy.record for policy in oncall_of(root).policies.whole()), key=by_name):
        yield StoredEntry(record.id, settings_of(_renamed(record, names)))


def create(_node: Node, root: Root, entry: PolicyRecord) -> str:
    return plans.create_policy(root, _with_ids(root, entry)).__name__


def update(_node: Node, root: Root, policy_id: str, entry: PolicyRecord) -> None:
    policy = oncall_of(root).policies[policy_id]
    plans.change_policy(root, policy, changed(policy.record, settings_of(_with_ids(root, entry))))


def delete(_node: Node, root: Root, policy_id: str) -> None:
    plans.delete_policy(root, oncall_of(root).policies[policy_id])


def _with_ids(root: Root, policy: PolicyRecord) -> PolicyRecord:
    known = {record.name: record.id for record in oncall_of(root).schedules.records()}
    named = {name for step in policy.steps for name in step.schedules}
    missing = sorted(named - known.keys() - set(known.values()))
    if missing:
        raise Invalid({"steps": "there is no such schedule: " + ", ".join(missing)})
    return _renamed(policy, known)


def _renamed(policy: PolicyRecord, names: Mapping[str, str]) -> PolicyRecord:
    steps = (replace(step, schedules=tuple(names.get(name, name) for name in step.schedules)) for step in policy.steps)
    return replace(policy, steps=tuple(steps))
