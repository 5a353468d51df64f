"""Maintenance: what is on, what comes, what was; a month as a calendar; what a window silences."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from opsapp.lib.enumerated import listed
from opsapp.maintenance.records import CalendarEntry, WindowRecord
from opsapp.ui.clocks import by_readers_clock
from opsapp.ui.parts import (
    AGENTS,
    CALENDAR,
    COVERED,
    EVERYTHING,
    HELD,
    MONITORS,
    OWN,
    STORED_WINDOW,
    WINDOW,
    WINDOWS,
    WINDOWS_OFF,
    WINDOWS_PAST,
    WINDOWS_PLANNED,
)
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.words import local
from opsapp.wire.records import plain

from . import holds

HEALING = {
    "disabled": "healing does nothing there",
    "notify": "healing only notifies people",
    "approve": "healing asks before it does anything",
    "execute": "healing goes on as always",
}
LISTED = 300  # monitors, and hosts, whose names the pages ask for
NAMED = 4  # names in a sentence before they are counted
DAY_S = 86_400
NEXT = 5
CHOOSING = {"covers", "scope", "everything"}  # what an address says that is chosen


class WindowLine(NamedTuple):
    sentence: str
    row: WindowRecord


class CalendarDay(NamedTuple):
    number: int
    date: str
    title: str
    inside: bool  # of the month
    today: bool
    entries: tuple[tuple[CalendarEntry, str], ...]  # each with its hours on that day


class CalendarMonth(NamedTuple):
    title: str
    before: str
    after: str
    weeks: tuple[tuple[CalendarDay, ...], ...]
    days: tuple[CalendarDay, ...]  # those with something on them, for a phone


class KnownNames(NamedTuple):
    """Names of monitors and hosts by their ids. `whole`: there is no other monitor or host."""

    by_id: dict[str, str]
    whole: bool


def names_in(answers: Answers) -> KnownNames:
    monitors, hosts = answers.known(MONITORS), answers.known(AGENTS)
    by_id = {row.id: row.name for row in (*(monitors or ()), *(hosts or ()))}
    return KnownNames(by_id, all(rows is not None and len(rows) < LISTED for rows in (monitors, hosts)))


def silences(scope: Sequence[str], override: str, names: KnownNames) -> str:
    if scope:
        what = f"No alert of {_covered(scope, names)} is sent"
    else:
        what = "Everything is silent: no alert of any monitor or host is sent"
    return f"{what}, the time does not count in the uptime, and {HEALING[override]}."


def _covered(scope: Sequence[str], names: KnownNames) -> str:
    """A few by name, the rest counted. What has no name is gone only where all names are known."""
    told = [
        names.by_id.get(target, "something that is gone") for target in scope if names.whole or target in names.by_id
    ]
    if not told:
        return "one monitor or host" if len(scope) == 1 else f"{len(scope)} monitors or hosts"
    if len(scope) > NAMED:
        told = told[: NAMED - 1]
    if len(scope) > len(told):
        told = [*told, f"{len(scope) - len(told)} more"]
    return listed(told)


def windows(answers: Answers, reader: Reader) -> TemplateValues:
    names = names_in(answers)
    zone = service_zone(answers)
    by_state = {"now": WINDOWS, "planned": WINDOWS_PLANNED, "off": WINDOWS_OFF, "past": WINDOWS_PAST}
    return {
        **{state: [_window(row, names) for row in answers[part]] for state, part in by_state.items()},
        "held": [holds.window_line(row) for row in answers[HELD]],
        "month": month_of(answers[CALENDAR], reader),
        "zone": zone,
    }


def _window(row: WindowRecord, names: KnownNames) -> WindowLine:
    return WindowLine(silences(row.scope, row.autonomy_override, names), row)


# -- the calendar


def service_zone(answers: Answers) -> str:
    """The zone in which windows are read."""
    own = answers.known(OWN)
    return own.service_timezone if own else "UTC"


def month_asked(reader: Reader, earlier: Answers) -> dict[str, str]:
    first = _first_of(reader)
    days = list(calendar.Calendar().itermonthdates(first.year, first.month))
    begin, end = _begin_of(days[0], reader.zone), _begin_of(days[-1] + timedelta(days=1), reader.zone)
    return {"since": str(int(begin)), "until": str(int(end))}


def _begin_of(day: date, zone: str) -> float:
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).timestamp()


def next_asked(reader: Reader, earlier: Answers) -> dict[str, str]:
    return {"since": str(int(reader.now)), "until": str(int(reader.now + 62 * DAY_S))}


def _first_of(reader: Reader) -> date:
    today = local(reader.now, reader.zone).date()
    try:
        first = datetime.strptime(reader.asked("month"), "%Y-%m").date()
    except ValueError:
        return today.replace(day=1)
    return first if 2000 <= first.year <= 2100 else today.replace(day=1)


def month_of(entries: list[CalendarEntry], reader: Reader) -> CalendarMonth:
    """By the reader's days."""
    first, today = _first_of(reader), local(reader.now, reader.zone).date()
    weeks = []
    for week in calendar.Calendar().monthdatescalendar(first.year, first.month):
        weeks.append(tuple(_day(day, entries, reader.zone, first.month, today) for day in week))
    before, after = first - timedelta(days=1), (first + timedelta(days=31)).replace(day=1)
    with_some = tuple(day for week in weeks for day in week if day.entries and day.inside)
    return CalendarMonth(f"{first:%B %Y}", f"{before:%Y-%m}", f"{after:%Y-%m}", tuple(weeks), with_some)


def _day(day: date, entries: list[CalendarEntry], zone: str, month: int, today: date) -> CalendarDay:
    begin, end = _begin_of(day, zone), _begin_of(day + timedelta(days=1), zone)
    marks = tuple(
        (entry, _words(entry, begin, end, zone)) for entry in entries if entry.start < end and entry.end > begin
    )
    return CalendarDay(day.day, day.isoformat(), f"{day:%A %d %B}", day.month == month, day == today, marks)


def _words(entry: CalendarEntry, begin: float, end: float, zone: str) -> str:
    """From when to when, on one day."""
    starts, ends = entry.start >= begin, entry.end <= end
    start, until = (f"{local(at, zone):%H:%M}" for at in (entry.start, entry.end))
    if starts and ends:
        return f"{start}–{until}"
    return f"from {start}" if starts else f"until {until}" if ends else "all day"


# -- one window


def new_window(answers: Answers, reader: Reader) -> TemplateValues:
    """A round hour from now, for two hours; what the address names is covered (`?scope=ID`)."""
    zone = service_zone(answers)
    start = local(reader.now, zone).replace(minute=0, second=0, microsecond=0)
    start += timedelta(hours=1)
    end = start + timedelta(hours=2)
    scope = tuple(filter(None, [reader.asked("scope")]))
    window = WindowRecord("", f"{start:%Y-%m-%dT%H:%M}", f"{end:%Y-%m-%dT%H:%M}", scope=scope)
    return _editor(plain(window) | {"scope": scope or None}, answers, reader) | {"window": None, "next": ()}


def cloned(answers: Answers, reader: Reader) -> TemplateValues:
    row = answers[STORED_WINDOW]
    shown = _editor(plain(row) | {"name": f"{row.name} (copy)"}, answers, reader)
    return shown | {"window": None, "next": (), "title": f"Clone {row.name}"}


def one_window(answers: Answers, reader: Reader) -> TemplateValues:
    row = answers[WINDOW]
    window = _window(row, names_in(answers))
    times = [entry for entry in answers[CALENDAR] if entry.window_id == row.id][:NEXT]
    return _editor(plain(row), answers, reader) | {"window": window, "next": times, "title": row.name}


def covers_asked(reader: Reader, earlier: Answers) -> dict[str, tuple[str, ...]]:
    stored = earlier.known(WINDOW) or earlier.known(STORED_WINDOW)
    chosen = reader.query.get("covers", reader.asked("scope"))
    held = stored.scope if stored else ()
    ids = tuple(filter(None, chosen.split(","))) if CHOOSING & reader.query.keys() else held
    return {"scope": ids} if ids else {}


def covered(answers: Answers, reader: Reader) -> TemplateValues:
    """None: nothing is chosen."""
    stored = answers.known(WINDOW) or answers.known(STORED_WINDOW)
    is_chosen = reader.asks(*CHOOSING) if CHOOSING & reader.query.keys() else stored
    return {"covered": answers[COVERED] if is_chosen else None}


def _editor(row: dict[str, object], answers: Answers, reader: Reader) -> TemplateValues:
    zone = service_zone(answers)
    times = {name: row[name] and by_readers_clock(str(row[name]), zone, reader.zone) for name in ("start", "end")}
    told = {"row": row | times, "zone": service_zone(answers), "effects": HEALING, "everything": answers[EVERYTHING]}
    return told | covered(answers, reader)
