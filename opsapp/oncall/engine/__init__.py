"""Who is on call now."""

from __future__ import annotations

from collections.abc import Collection

from opsapp.auth.resources import is_enabled
from opsapp.lib import icalendar
from opsapp.notify.engine import channels_answering
from opsapp.oncall import logic
from opsapp.oncall.records import OnCallRecord, ScheduleRecord, ShiftRecord
from opsapp.oncall.resources import oncall_of
from opsapp.tree.root import Root

from .reach import seen_schedules

DAY_S = 86400
AHEAD_S = 14.0 * DAY_S
CALENDAR_BACK_S, CALENDAR_AHEAD_S = 7.0 * DAY_S, 55.0 * DAY_S


def known_in(root: Root) -> logic.Known:
    """Not disabled."""
    return lambda username: is_enabled(root, username)


def shifts_of(root: Root, schedule: ScheduleRecord, since: float, until: float) -> list[ShiftRecord]:
    return logic.shifts(schedule, since, until, known_in(root))


def calendar_of(root: Root, schedule: ScheduleRecord, now: float) -> str:
    """The schedule's shifts as an iCalendar text, from a week ago on."""
    today = int(now) // DAY_S * DAY_S
    shifts = shifts_of(root, schedule, today - CALENDAR_BACK_S, today + CALENDAR_AHEAD_S)
    return icalendar.text(f"On call: {schedule.name}", "on call", (
        icalendar.CalendarEvent(f"{schedule.id}-{int(shift.start)}", f"{shift.user or 'Nobody'} is on call",
                                int(shift.start), int(shift.end), today, description=shift.layer or "")
        for shift in shifts))  # fmt: skip


def on_call_now(root: Root, now: float, seen: Collection[str] | None = None) -> list[OnCallRecord]:
    """Who is on call now, by name of schedule; also where it is nobody. `seen`: by these schedules alone."""
    return [_on_call(root, record, now) for record in _schedules(root, seen)]


def names_on_call(root: Root, now: float, seen: Collection[str] | None = None) -> tuple[str, ...] | None:
    """The names of those who are on call by any schedule; None where there is no schedule. `seen`: by these alone."""
    records, known = _schedules(root, seen), known_in(root)
    users = (logic.duty(record, now, known).user for record in records)
    return tuple(dict.fromkeys(user for user in users if user is not None)) if records else None


def _schedules(root: Root, seen: Collection[str] | None) -> list[ScheduleRecord]:
    return [record for record in oncall_of(root).schedules.records() if seen is None or record.id in seen]


def _on_call(root: Root, record: ScheduleRecord, now: float) -> OnCallRecord:
    on, following = logic.now_and_next(record, now, AHEAD_S, known_in(root))
    reached = () if on.user is None else (channel.record.name for channel in channels_answering(root, on.user))
    return OnCallRecord(record.id, record.name, on, tuple(reached), following)
