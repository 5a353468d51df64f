"""On call at work, and what the pages call of it: who is on call now."""

from __future__ import annotations

from opsapp.auth.resources import is_enabled
from opsapp.notify.engine import channels_answering
from opsapp.oncall import logic
from opsapp.oncall.records import OnCallRecord, ScheduleRecord, ShiftRecord
from opsapp.oncall.resources import oncall_of
from opsapp.tree.root import Root

__all__ = ["AHEAD_S", "known_in", "names_on_call", "on_call_now", "shifts_of"]

AHEAD_S = 14 * 86400.0


def known_in(root: Root) -> logic.Known:
    """Whether there is such a user, who is not disabled."""
    return lambda username: is_enabled(root, username)


def shifts_of(root: Root, schedule: ScheduleRecord, since: float, until: float) -> list[ShiftRecord]:
    return logic.shifts(schedule, since, until, known_in(root))


def on_call_now(root: Root, now: float) -> list[OnCallRecord]:
    """By each schedule, in the order of their names; also where it is nobody."""
    return [_on_call(root, record, now) for record in oncall_of(root).schedules.records()]


def names_on_call(root: Root, now: float) -> tuple[str, ...] | None:
    """Everybody who is on call by any schedule; None where there is no schedule."""
    records, known = oncall_of(root).schedules.records(), known_in(root)
    users = (logic.duty(record, now, known).user for record in records)
    return tuple(dict.fromkeys(user for user in users if user is not None)) if records else None


def _on_call(root: Root, record: ScheduleRecord, now: float) -> OnCallRecord:
    on, following = logic.now_and_next(record, now, AHEAD_S, known_in(root))
    reached = () if on.user is None else (channel.record.name for channel in channels_answering(root, on.user))
    return OnCallRecord(record.id, record.name, on, tuple(reached), following)
