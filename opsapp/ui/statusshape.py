"""What the pages of the public status page show, in words. Must not: ask anything, know HTTP, make markup of its
own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from itertools import groupby
from typing import NamedTuple
from zoneinfo import ZoneInfo

from markupsafe import Markup

from opsapp.lib.alike import gathered
from opsapp.lib.enumerated import listed
from opsapp.monitoring.engine import is_known, shown_uptime
from opsapp.monitoring.records import PublicIncident, PublicWindow, StatusComponent, StatusDay, StatusDocument
from opsapp.statuspages.engine import CANCELLED, PlannedTime, dates
from opsapp.statuspages.records import PublicPage

from .charts import Bar, bars
from .words import DOWN_IN_WINDOW, local

WORDS = {
    "up": "Operational",
    "degraded": "Degraded",
    "down": "Down",
    "maintenance": "Maintenance",
    DOWN_IN_WINDOW: "Maintenance, down now",
    "paused": "Not monitored",
    "pending": "Not checked yet",
    "unknown": "Unknown",
}
LOOKS = {"up": "ok", "degraded": "warn", "down": "bad", "maintenance": "maint", DOWN_IN_WINDOW: "maint"}
OVERALL = {
    "operational": "All systems operational",
    "degraded": "Degraded performance",
    "partial_outage": "Partial outage",
    "major_outage": "Major outage",
    "maintenance": "Under maintenance",
}
OVERALL_LOOKS = {"operational": "ok", "degraded": "warn", "maintenance": "maint"}
NOTICE_LOOKS = {"critical": ("bad", "Critical"), "warning": ("warn", "Warning"), "info": ("maint", "Notice")}
WORST = ("down", "degraded", DOWN_IN_WINDOW, "maintenance", "unknown", "pending", "paused", "up")
GOOD, FAIR = 99.9, 99.0  # a day's bar: at least this, less, and below
MANY = 60  # services, of which a small page tells less in each line
MOST_OPEN, MOST_WINDOWS, MOST_NAMES, MOST_PAST, MOST_MEMBERS = 20, 10, 6, 12, 100
MOST_SAID = 3  # names in the sentence over everything


class Verdict(NamedTuple):
    kind: str
    title: str
    words: str
    since: int | None
    rest: str


class ComponentLine(NamedTuple):
    """`odd`: the days that were not wholly up, for the script."""

    id: str
    name: str
    status: str
    uptime: str
    bars: Markup
    odd: str


class ComponentGroup(NamedTuple):
    name: str
    collapsed: bool
    kind: str
    words: str
    monitors: list[ComponentLine]


class PastLine(NamedTuple):
    """One, or several that began together and of which nobody has said anything."""

    members: tuple[PublicIncident, ...]

    @property
    def title(self) -> str:
        names = self.names
        return (
            f"{len(names)} services were down" if len(names) > 1 else f"{names[0]} was down {len(self.members)} times"
        )

    @property
    def who(self) -> str:
        return listed(self.names, MOST_NAMES) if len(self.names) > 1 else ""

    @property
    def names(self) -> list[str]:
        return sorted({incident.monitor_name for incident in self.members})

    @property
    def shown(self) -> list[PublicIncident]:
        return sorted(self.members, key=lambda incident: incident.monitor_name)[:MOST_MEMBERS]

    @property
    def began(self) -> int:
        return min(incident.started for incident in self.members)

    @property
    def minutes(self) -> float:
        """Of the longest."""
        return max(incident.duration_minutes for incident in self.members)


class PastDay(NamedTuple):
    at: int
    lines: list[PastLine]
    windows: list[PlannedTime]


class DayRow(NamedTuple):
    date: str
    kind: str
    words: str
    uptime: str
    incidents: int


def state_of(monitor: StatusComponent) -> str:
    return DOWN_IN_WINDOW if monitor.down_in_window else str(monitor.status)


def look(status: str) -> str:
    return LOOKS.get(status, "off")


def headline(document: StatusDocument) -> str:
    """`degraded` is also the word for what is not known."""
    statuses = {monitor.status for monitor in document.monitors}
    if not is_known(statuses):
        return "No information at the moment"
    if document.overall == "degraded" and "degraded" not in statuses:
        return "Some systems cannot be seen at the moment"
    return OVERALL[document.overall]


def verdict(document: StatusDocument) -> Verdict:
    """The sentence over everything: what does not work, since when, and what does."""
    monitors, title = document.monitors, headline(document)
    kind = OVERALL_LOOKS.get(document.overall, "bad")
    down = [monitor.name for monitor in monitors if monitor.status == "down"]
    if down:
        since = min((row.started for row in document.active_incidents if not row.by_hand), default=None)
        return Verdict(kind, f"{listed(down, MOST_SAID)} {_are(down)} down", title, since, _rest(monitors))
    slow = [monitor.name for monitor in monitors if monitor.status == "degraded"]
    if slow:
        return Verdict(
            kind,
            title,
            f"{listed(slow, MOST_SAID)} {_are(slow)} slow or near a limit, or a certificate ends soon",
            None,
            "",
        )
    hidden = [monitor.name for monitor in monitors if monitor.down_in_window]
    if document.overall == "maintenance":
        meanwhile = f"; {listed(hidden, MOST_SAID)} {_are(hidden)} down meanwhile" if hidden else ""
        return Verdict(kind, title, f"Work that was planned is under way{meanwhile}", None, "")
    known = is_known({monitor.status for monitor in monitors})
    words = f"{len(monitors)} service{'s' * (len(monitors) != 1)} watched" if monitors else "Nothing is published"
    return Verdict(kind if known else "off", title, words, None, "")


def _rest(monitors: Sequence[StatusComponent]) -> str:
    """What is known of those that are not down: "the other" are all of them."""
    statuses = [monitor.status for monitor in monitors if monitor.status != "down"]
    well = sum(status in ("up", "degraded") for status in statuses)
    unseen = sum(status in ("unknown", "pending") for status in statuses)
    if not well:
        return ""
    if well == len(statuses):
        return "The other one works." if well == 1 else f"The other {well} work."
    works = f"{well} of the other {len(statuses)} {'works' if well == 1 else 'work'}"
    return f"{works}, {unseen} cannot be seen at the moment." if unseen else f"{works}."


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def groups(page: PublicPage, document: StatusDocument) -> list[ComponentGroup]:
    monitors = {monitor.id: monitor for monitor in document.monitors}
    most_odd, shaped = (90 if len(monitors) <= MANY else 12), []
    for group in page.groups:
        own = [monitors.pop(monitor_id) for monitor_id in group.monitors if monitor_id in monitors]
        shaped += [_group(group.name, own, most_odd, collapsed=group.collapsed)] if own else []
    if monitors:
        shaped.append(_group("Other services" if shaped else "", list(monitors.values()), most_odd, collapsed=False))
    return shaped


def _group(name: str, monitors: list[StatusComponent], most_odd: int, *, collapsed: bool) -> ComponentGroup:
    statuses = [state_of(monitor) for monitor in monitors]
    worst = min(statuses, key=WORST.index)
    partly = worst == "down" and any(status != "down" for status in statuses)
    words = "Partly down" if partly else WORDS[worst]
    shut = collapsed and worst in ("up", "paused")  # what is not well is never hidden
    return ComponentGroup(name, shut, look(worst), words, [component(monitor, most_odd) for monitor in monitors])


def component(monitor: StatusComponent, most_odd: int = 90) -> ComponentLine:
    states = [Bar(day_state(day)) for day in monitor.days]
    drawn = bars(states, monitor.name, told=summary(monitor), look="bars d")
    odd = odd_days(monitor, most_odd)
    return ComponentLine(monitor.id, monitor.name, state_of(monitor), uptime(monitor), drawn, odd)


def uptime(monitor: StatusComponent) -> str:
    """Nothing where less than half of the time was measured."""
    known = monitor.uptime_90d
    return "" if known is None else f"{shown_uptime(known)} %"


def day_state(day: StatusDay) -> str:
    known = day.uptime
    if known is None:
        return "unknown"
    return "up" if known >= GOOD else "degraded" if known >= FAIR else "down"


def summary(monitor: StatusComponent) -> str:
    days = monitor.days
    lacking = sum(day.uptime is None for day in days)
    short = sum(day.uptime is not None and day.uptime < 100 for day in days)
    return f"last {len(days)} days: {short} with downtime, {lacking} without data"


def odd_days(monitor: StatusComponent, most: int = 90) -> str:
    """`0-78,85:99.93:1`: unknown days, and those with downtime. Of more than `most` the older ones are one entry,
    `0-40:?`."""
    told: list[tuple[int, str]] = []
    for lacking, run in groupby(enumerate(monitor.days), key=lambda pair: pair[1].uptime is None):
        several = list(run)
        if lacking:
            first, last = several[0][0], several[-1][0]
            told.append((first, f"{first}-{last}" if last > first else f"{first}"))
            continue
        told += [
            (number, f"{number}:{shown_uptime(day.uptime)}:{day.incidents}")
            for number, day in several
            if day.uptime is not None and (day.uptime < 100 or day.incidents)
        ]
    kept = told[-most:]
    older = [f"0-{kept[0][0] - 1}:?"] if len(kept) < len(told) else []
    return ",".join(older + [words for _, words in kept])


def day_rows(monitor: StatusComponent) -> list[DayRow]:
    """Newest first; days after each other without data are one row."""
    rows = []
    for lacking, run in groupby(reversed(monitor.days), key=lambda day: day.uptime is None and not day.incidents):
        days = list(run)
        if lacking and days[1:]:
            rows.append(DayRow(f"{days[-1].date} to {days[0].date}", look("unknown"), "No data", "–", 0))
        else:
            rows += map(_day_row, days)
    return rows


def _day_row(day: StatusDay) -> DayRow:
    state, uptime = day_state(day), day.uptime
    words = {"up": "Up", "degraded": "Short downtime", "down": "Downtime", "unknown": "No data"}[state]
    shown = "–" if uptime is None else f"{shown_uptime(uptime)} %"
    return DayRow(day.date, look(state), words, shown, day.incidents)


def under_way(incidents: Iterable[PublicIncident]) -> list[PastLine]:
    """What is open, causes before what they took with them; many without a word of anybody are one line."""
    causes_first = sorted(incidents, key=lambda incident: bool(incident.part_of))
    return [PastLine(tuple(same)) for same in gathered(causes_first, _unsaid, lambda incident: incident.started)]


def windows(document: StatusDocument) -> list[tuple[PublicWindow, str]]:
    """Each with what it covers."""
    every = len(document.monitors)
    return [
        (window, "All services" if len(window.monitors) == every > 1 else listed(window.monitors, MOST_NAMES))
        for window in document.maintenance[:MOST_WINDOWS]
        if window.monitors
    ]


def past(
    incidents: Iterable[PublicIncident], windows: Iterable[PlannedTime], zone: str, most: int | None = None
) -> list[PastDay]:
    """What is past by day of the page's zone, newest first; an outage of many is one line."""
    days = dict[date, PastDay]()
    lines = [PastLine(tuple(same)) for same in gathered(incidents, _alike, lambda incident: incident.started)]
    for line in lines[:most]:
        _day_in(days, line.members[0].started, zone).lines.append(line)
    for window in windows:
        _day_in(days, window.start, zone).windows.append(window)
    return [days[day] for day in sorted(days, reverse=True)]


def _alike(incident: PublicIncident) -> tuple[object, ...] | None:
    """What was said of one is read at it alone; so is what is not over."""
    return None if incident.resolved is None else _unsaid(incident)


def _unsaid(incident: PublicIncident) -> tuple[object, ...] | None:
    return None if incident.updates or incident.by_hand else (incident.part_of,)


def _day_in(days: dict[date, PastDay], at: int, zone: str) -> PastDay:
    return days.setdefault(local(at, zone).date(), PastDay(at, [], []))


def month_of(seconds: float, zone: str) -> str:
    return local(seconds, zone).strftime("%Y-%m")


def stepped(month: str, by: int) -> str:
    """The month before, or after."""
    number = int(month[:4]) * 12 + int(month[5:]) - 1 + by
    return f"{number // 12:04}-{number % 12 + 1:02}"


def month_words(month: str, language: str) -> str:
    return dates.month_name(int(month[:4]), int(month[5:]), language)


def month_edges(month: str, zone: str) -> tuple[float, float]:
    """When it begins and ends there."""
    after = stepped(month, 1)
    first, last = (datetime(int(edge[:4]), int(edge[5:]), 1, tzinfo=ZoneInfo(zone)) for edge in (month, after))
    return first.timestamp(), last.timestamp()


def is_over(window: PlannedTime, now: float) -> bool:
    return window.start <= now or window.state == CANCELLED
