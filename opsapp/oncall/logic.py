"""Who is on call, and from when until when. Pure; epoch seconds, `end` never belongs to a span.

Hand-overs are by the wall clock of the schedule's zone: a time that a clock change skips is the moment of the change,
of two the first. So turns meet without gap or overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from opsapp.lib import cron
from opsapp.oncall.records import DAYS, LayerRecord, ScheduleRecord, ShiftRecord

OVERRIDE = "override"
DAY_S = 86400.0
Known = Callable[[str], bool]  # whether there is such a user, who may sign in


class Duty(NamedTuple):
    """`skipped`: whose turn it would be, if they were here."""

    user: str | None = None
    layer: str = ""
    skipped: tuple[str, ...] = ()


def duty(schedule: ScheduleRecord, at: float, known: Known) -> Duty:
    """The youngest override, else the last layer that has somebody."""
    skipped: tuple[str, ...] = ()
    for layer, users in _candidates(schedule, at):
        user = next(filter(known, users), None)
        skipped += users if user is None else users[: users.index(user)]
        if user is not None:
            return Duty(user, layer, tuple(dict.fromkeys(skipped)))
    return Duty(skipped=tuple(dict.fromkeys(skipped)))


def _candidates(schedule: ScheduleRecord, at: float) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(by what, people in order). For somebody who is gone the next in turn is on call."""
    for override in reversed(schedule.overrides):
        if override.start <= at < override.end:
            yield OVERRIDE, (override.user,)
    for number, layer in reversed(list(enumerate(schedule.layers, 1))):
        turn = turn_of(layer, schedule.zone, at)
        if turn is not None and is_on(layer, schedule.zone, at):
            first = turn % len(layer.users)
            yield layer.name or f"layer {number}", layer.users[first:] + layer.users[:first]


def turn_of(layer: LayerRecord, zone: str, at: float) -> int | None:
    """The number of a layer's turn at a time, counted from 0; None before the first."""
    turn = (_day(at, zone) - date.fromisoformat(layer.start)).days // layer.length_days
    while handover(layer, zone, turn + 1) <= at:
        turn += 1
    while handover(layer, zone, turn) > at:
        turn -= 1
    return turn if turn >= 0 else None


def handover(layer: LayerRecord, zone: str, turn: int) -> float:
    return _moment(date.fromisoformat(layer.start) + timedelta(days=turn * layer.length_days), layer.handover, zone)


def is_on(layer: LayerRecord, zone: str, at: float) -> bool:
    """Hours that end on the next day belong to the day they begin on. A clock that is set back over midnight shows
    a day again, when the hours of the next one have begun."""
    days = (_day(at, zone) + timedelta(days=days) for days in (-1, 0, 1))
    return any(begin <= at < end for begin, end in map(_hours_on(layer, zone), days))


def _hours_on(layer: LayerRecord, zone: str) -> Callable[[date], tuple[float, float]]:
    since, until = layer.since or "00:00", layer.until or "00:00"

    def hours(day: date) -> tuple[float, float]:
        if DAYS[day.weekday()] not in layer.days:
            return 0.0, 0.0
        last = day + timedelta(days=1) if until <= since else day
        return _moment(day, since, zone), _moment(last, until, zone)

    return hours


def shifts(schedule: ScheduleRecord, since: float, until: float, known: Known) -> list[ShiftRecord]:
    """Without a gap: also nobody."""
    edges = sorted({since, *(edge for edge in _edges(schedule, since, until) if since < edge < until)})
    rows: list[ShiftRecord] = []
    for start, end in zip(edges, [*edges[1:], until], strict=True):
        on = duty(schedule, start, known)
        if rows and Duty(rows[-1].user, rows[-1].layer, rows[-1].skipped) == on:
            start = rows.pop().start
        rows.append(ShiftRecord(on.user, start, end, on.layer, on.skipped))
    return rows


def _edges(schedule: ScheduleRecord, since: float, until: float) -> Iterator[float]:
    """Every moment of a possible change, and some beside."""
    for override in schedule.overrides:
        yield from (override.start, override.end)
    for layer in schedule.layers:
        turn = max(0, turn_of(layer, schedule.zone, since) or 0)
        while (begins := handover(layer, schedule.zone, turn)) < until:
            yield begins
            turn += 1
        if layer.since is not None or layer.days != DAYS:
            day, hours = _day(since, schedule.zone) - timedelta(days=1), _hours_on(layer, schedule.zone)
            for number in range(int((until - since) // DAY_S) + 4):
                yield from hours(day + timedelta(days=number))


def now_and_next(
    schedule: ScheduleRecord, now: float, ahead_s: float, known: Known
) -> tuple[ShiftRecord, ShiftRecord | None]:
    on, *coming = shifts(schedule, now, now + ahead_s, known)
    return on, coming[0] if coming else None


def _day(at: float, zone: str) -> date:
    return datetime.fromtimestamp(at, ZoneInfo(zone)).date()


def _moment(day: date, clock: str, zone: str) -> float:
    return cron.moment(datetime.combine(day, time.fromisoformat(clock)), zone)
