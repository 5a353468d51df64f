"""Schedules, overrides and policies changed. Transactions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opsapp.auth.resources import is_enabled, is_invited
from opsapp.lib.ids import digest, new_id, new_token
from opsapp.lib.problems import Conflict, Invalid
from opsapp.maintenance.engine import instant
from opsapp.oncall.records import OverrideRecord, PolicyRecord, ScheduleRecord
from opsapp.oncall.resources import CallPolicy, Override, Schedule, oncall_of
from opsapp.oncall.schemas import OverrideGiven
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of, now_of
from opsapp.tree.root import Root

EVENT = "oncall"
LONGEST_S = 366 * 86400.0


def create_schedule(root: Root, record: ScheduleRecord) -> Schedule:
    schedule = Schedule(record)
    _refuse_strangers(root, _of_layers(schedule.record), ())
    oncall_of(root).schedules.add(schedule)
    _tell(root, schedule, "created")
    return schedule


def change_schedule(root: Root, schedule: Schedule, record: ScheduleRecord) -> None:
    """People in it may be gone by now."""
    _refuse_strangers(root, _of_layers(record), _of_layers(schedule.record))
    oncall_of(root).schedules.refuse_name(record.name, record.id)
    schedule.change(record)
    _tell(root, schedule, "updated")


def delete_schedule(root: Root, schedule: Schedule) -> None:
    """Not while policies call by it."""
    policies = [policy.record for policy in oncall_of(root).policies.values()]
    users = [policy.name for policy in policies if schedule.__name__ in schedules_of(policy)]
    if users:
        raise Conflict(f"These policies call by it: {', '.join(sorted(users))}.", code="in_use")
    _tell(root, schedule, "deleted")
    del oncall_of(root).schedules[schedule.__name__]


def put_back_schedule(root: Root, schedule: Schedule) -> None:
    """Its calendar's address works again."""
    oncall_of(root).schedules.place(schedule, schedule.__name__)
    _tell(root, schedule, "created")


def add_override(root: Root, schedule: Schedule, given: OverrideGiven, by: str) -> OverrideRecord:
    start, end = _span(root, given)
    _refuse_strangers(root, [given.user], (), "user")
    override = OverrideRecord(new_id(), schedule.__name__, given.user, start, end, by)
    schedule.add_override(override, now_of(root))
    _tell(root, schedule, "updated")
    return override


def change_override(root: Root, override: Override, given: OverrideGiven) -> None:
    """It keeps its user, id and place."""
    start, end = _span(root, given)
    override.change(replace(override.record, start=start, end=end))
    _tell(root, override.schedule, "updated")


def _span(root: Root, given: OverrideGiven) -> tuple[float, float]:
    node = node_of(root)
    start, end = (instant(at, node.config.timezone) for at in (given.start, given.end))
    if not 0 < end - start <= LONGEST_S:
        raise Invalid({"end": "must be after start" if end <= start else "must be at most a year after start"})
    if end <= node.clock.now():
        raise Invalid({"end": "is in the past"})
    return start, end


def delete_override(root: Root, override: Override) -> None:
    override.delete()
    _tell(root, override.schedule, "updated")


def new_calendar(schedule: Schedule) -> str:
    """The former address is refused."""
    token = new_token()
    schedule.calendar_digest = digest(token)
    return token


def drop_calendar(schedule: Schedule) -> None:
    schedule.calendar_digest = None


def create_policy(root: Root, record: PolicyRecord) -> CallPolicy:
    policy = CallPolicy(record)
    _refuse_unknown(root, record, None)
    oncall_of(root).policies.add(policy)
    _tell(root, policy, "created")
    return policy


def change_policy(root: Root, policy: CallPolicy, record: PolicyRecord) -> None:
    _refuse_unknown(root, record, policy.record)
    oncall_of(root).policies.refuse_name(record.name, record.id)
    policy.change(record)
    _tell(root, policy, "updated")


def delete_policy(root: Root, policy: CallPolicy) -> None:
    _tell(root, policy, "deleted")
    del oncall_of(root).policies[policy.__name__]


def put_back_policy(root: Root, policy: CallPolicy) -> None:
    """Calls that its deletion has ended stay ended."""
    gone = _gone(root, policy.record)
    if gone:
        raise Conflict(f"{len(gone)} of the schedules that it calls by are gone.", code="cannot_undo")
    oncall_of(root).policies.place(policy, policy.__name__)
    _tell(root, policy, "created")


def _refuse_unknown(root: Root, record: PolicyRecord, before: PolicyRecord | None) -> None:
    gone = _gone(root, record)
    if gone:
        raise Invalid({"steps": "there is no such schedule: " + ", ".join(gone)})
    _refuse_strangers(root, _of_steps(record), () if before is None else _of_steps(before), "steps")


def _gone(root: Root, record: PolicyRecord) -> list[str]:
    return [name for name in schedules_of(record) if name not in oncall_of(root).schedules]


def _refuse_strangers(root: Root, users: Iterable[str], before: Iterable[str], field: str = "layers") -> None:
    known = set(before)
    strangers = [name for name in dict.fromkeys(users) if name not in known and not _is_expected(root, name)]
    if strangers:
        raise Invalid({field: "there is no such user: " + ", ".join(strangers)})


def _is_expected(root: Root, name: str) -> bool:
    """Whether the user is enabled or invited."""
    return is_enabled(root, name) or is_invited(root, name, now_of(root))


def _of_layers(record: ScheduleRecord) -> list[str]:
    return [user for layer in record.layers for user in layer.users]


def _of_steps(record: PolicyRecord) -> list[str]:
    return [user for step in record.steps for user in step.users]


def schedules_of(record: PolicyRecord) -> list[str]:
    return [schedule_id for step in record.steps for schedule_id in step.schedules]


def _tell(root: Root, plan: Schedule | CallPolicy, change: str) -> None:
    """Tells of a changed plan on /api/stream."""
    kind = "schedule" if isinstance(plan, Schedule) else "policy"
    emit(root, EVENT, {"id": plan.__name__, "what": kind, "change": change})
