"""One time axis of a host, a monitor, an incident or a case, and what was true at one time on it. The address is in UTC
(`from`, `to`, `at`); the page speaks by the reader's clock. Must not: claim a cause that no host has named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from markupsafe import Markup

from opsapp.healing.moments import Moment, MomentLane, MomentMark, RuleThen, StateStretch
from opsapp.lib.alike import FEWEST, TOGETHER_S, gathered
from opsapp.lib.visible import clip
from opsapp.ui import charts, words
from opsapp.ui.charts import lanes as drawing
from opsapp.ui.charts.frame import TimeAxis
from opsapp.ui.charts.lanes import LaneShown, MarkShown, StateShown
from opsapp.ui.choices import LinkChoice
from opsapp.ui.parts import MOMENT
from opsapp.ui.reader import UTC, Answers, Reader, TemplateValues
from opsapp.ui.words import DAY, HOUR

from .momentwords import UNITS, MomentAnswer, MomentLine, answer_of, lines_at

SPANS = (("1 h", HOUR), ("6 h", 6 * HOUR), ("1 d", DAY), ("7 d", 7 * DAY), ("30 d", 30 * DAY), ("1 y", 365 * DAY))
LONGEST_S, LEAST_S, SECONDS_BELOW_S = 366 * DAY, 300, 600
ROWS = (
    ("planned", "Planned"),
    ("deployed", "Deployed"),
    ("run", "Runs"),
    ("outage", "Outages"),
    ("people", "People"),
    ("machine", "Machine"),
)
SHORT = 34
ADDED = "runs"  # `add` in the address of an incident: what ran near it, too
LEAST_AGAIN_S = 30
EVENTS = 100
LOCAL = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?")


class LaneRow(NamedTuple):
    name: str
    figures: tuple[tuple[int, str, str], ...]  # column of the table, name, value
    drawing: Markup


class StateLine(NamedTuple):
    name: str
    place: str
    kind: str
    word: str
    was: str


class EventLine(NamedTuple):
    """One, or several that are alike and near each other. `last`: when the last one was."""

    at: int
    clock: str
    look: str
    words: str
    href: str
    place: str
    now: bool
    last: str = ""


class MomentShown(NamedTuple):
    """All that the part shows. The first ones are for its script."""

    since: str
    until: str
    row: int
    again: int  # after so many seconds the same address has more to show; 0: it never has
    title: str
    answer: MomentAnswer
    spans: tuple[LinkChoice, ...]
    moves: tuple[LinkChoice, ...]
    local: tuple[str, str]
    address: str
    zone: str
    coarse: str
    head: Markup
    behind: Markup
    marks: Markup | None
    mark_names: tuple[str, ...]
    states: tuple[StateLine, ...]
    states_drawn: Markup
    lanes: tuple[LaneRow, ...]
    cross: float
    flag: Markup
    day: str
    table: Markup
    clock: str
    then: tuple[MomentLine, ...]
    rules: tuple[RuleThen, ...]
    rules_false: int
    rules_unknown: tuple[RuleThen, ...]
    before: EventLine | None
    after: EventLine | None
    events: tuple[EventLine, ...]
    left_out: int


def asked(reader: Reader, earlier: Answers) -> dict[str, str]:
    """A time that was filled in is one of the reader's clock."""
    times = {name: in_utc(text, reader.zone) for name in ("from", "to", "at") if (text := reader.asked(name))}
    return times | ({"runs": "all"} if reader.asked("add") == ADDED else {})


def in_utc(text: str, zone: str) -> str:
    if not LOCAL.fullmatch(text):
        return text
    try:
        return iso(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp(), seconds=True)
    except (ValueError, OverflowError):
        return text


def iso(at: float, *, seconds: bool) -> str:
    return words.local(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ" if seconds else "%Y-%m-%dT%H:%MZ")


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    told = answers.known(MOMENT)
    return {"moment": None if told is None else shown(told, reader)}


def page(answers: Answers, reader: Reader) -> TemplateValues:
    """Of the page that is nothing else."""
    told = answers[MOMENT]
    rooms = {"hosts": "/agents", "monitors": "/monitors", "incidents": "/incidents", "cases": "/healing/cases"}
    about = f"{rooms[told.kind]}/{told.id}"
    return {"moment": shown(told, reader), "title": f"{told.name}, a moment", "name": told.name, "about": about}


def shown(told: Moment, reader: Reader) -> MomentShown:
    axis = TimeAxis(told.since, told.until, ZoneInfo(reader.zone), told.live)
    times = [min(told.until, max(told.since, at + told.step / 2)) for at in told.times]
    row = min(range(len(times)), key=lambda number: abs(times[number] - told.at), default=0)
    drawn = [_lane(lane) for lane in told.lanes]
    places = [1 + sum(len(lane.curves) for lane in drawn[:number]) for number in range(len(drawn))]
    made_lanes = [drawing.lane(axis, times, lane, place) for lane, place in zip(drawn, places, strict=True)]
    scaled = [(lane, made_lane.scale) for lane, made_lane in zip(drawn, made_lanes, strict=True)]
    states = [(row_told.name, [_state(part) for part in row_told.stretches]) for row_told in told.states]
    table, rows = drawing.figures(axis, times, told.step, scaled, states)
    link = _Links(told, reader)
    singly, events = _events(told, link, reader, len(told.marks) + 1), _events(told, link, reader)
    kinds = [(name, [mark for mark in told.marks if mark.row == kind]) for kind, name in ROWS]
    rowed = [(name, [_mark(mark, axis, link) for mark in marks]) for name, marks in kinds if marks]
    rules = [rule for rule in told.rules if rule.holds]
    cross = rows[row].x if rows else 100.0
    return MomentShown(
        link.iso(told.since),
        link.iso(told.until),
        row,
        max(LEAST_AGAIN_S, told.step) if told.live and not (reader.asked("from") or reader.asked("at")) else 0,
        _title(axis),
        answer_of(told, reader),
        _spans(told, link),
        _moves(told, link),
        (_field(told.since, reader), _field(told.until, reader)),
        link.to(told.since, told.until, told.at),
        reader.zone.rpartition("/")[2].replace("_", " "),
        "" if told.step < 300 else f"Each point is a mean of {words.rough_span(told.step)}.",
        drawing.head(axis),
        drawing.behind(axis, [(mark.since, mark.until or told.until) for mark in told.marks if mark.row == "outage"]),
        drawing.marks(axis, rowed) if rowed else None,
        tuple(name for name, _ in rowed),
        tuple(_state_line(name, row_told.place, parts, told.at, axis)
              for row_told, (name, parts) in zip(told.states, states, strict=True)),
        drawing.states(axis, states),
        tuple(_lane_row(lane, made_lane.drawing, place, rows[row].cells if rows else ())
              for lane, made_lane, place in zip(drawn, made_lanes, places, strict=True)),
        cross,
        drawing.flag(cross, _clock(told.at, axis)),
        words.local(told.until, reader.zone).strftime("%a %d %b %Y"),
        table,
        _clock(told.at, axis),
        lines_at(told, reader),
        tuple(rules),
        sum(rule.holds is False for rule in told.rules),
        tuple(rule for rule in told.rules if rule.holds is None),
        next((event for event in reversed(singly) if event.at < told.at), None),
        next((event for event in singly if event.at > told.at), None),
        tuple(events[-EVENTS:]),
        told.left_out + max(0, len(events) - EVENTS),
    )  # fmt: skip


class _Links:
    """Addresses of the same page, of another time."""

    def __init__(self, told: Moment, reader: Reader):
        self._told, self._more = told, f"&add={ADDED}" if reader.asked("add") == ADDED else ""

    def iso(self, at: float) -> str:
        return iso(at, seconds=self._told.until - self._told.since < SECONDS_BELOW_S)

    def to(self, since: float, until: float, at: float) -> str:
        return f"?from={self.iso(since)}&to={self.iso(until)}&at={self.iso(at)}{self._more}"

    def at(self, at: float) -> str:
        told = self._told
        return self.to(told.since, told.until, min(told.until, max(told.since, at))) + "#moment"


def _spans(told: Moment, link: _Links) -> tuple[LinkChoice, ...]:
    """Of the same end, or around the crosshair where that is elsewhere."""
    length = told.until - told.since
    links = []
    for name, span in SPANS:
        until = told.until if told.at == told.until else min(told.until if told.live else 1e12, told.at + span / 2)
        chosen = abs(length - span) < max(60, told.step)
        links.append(LinkChoice(name, link.to(until - span, until, told.at) + "#moment", chosen))
    return tuple(links)


def _moves(told: Moment, link: _Links) -> tuple[LinkChoice, ...]:
    length = told.until - told.since
    by = length / 4
    ways = [("earlier", told.since - by, told.until - by, told.at - by)]
    ways += [] if told.live else [("later", told.since + by, told.until + by, told.at + by)]
    for name, wide in (("wider", length), ("closer", length / 4)):
        since, until = told.at - wide, told.at + wide
        if LEAST_S <= until - since <= LONGEST_S:
            ways.append((name, since, until, told.at))
    return tuple(LinkChoice(name, link.to(since, until, at) + "#moment") for name, since, until, at in ways)


def _lane(told: MomentLane) -> LaneShown:
    curves = tuple(charts.Curve(curve.name, curve.values, number > 0) for number, curve in enumerate(told.curves))
    top = 100.0 if told.unit == "percent" else None
    high = 84 if told.unit == "milliseconds" else 48
    return LaneShown(told.name, UNITS[told.unit], curves, told.gap_s, top, told.limit, high)


def _lane_row(lane: LaneShown, drawn: Markup, place: int, cells: Sequence[str]) -> LaneRow:
    named = enumerate(lane.curves, place)
    return LaneRow(
        lane.name, tuple((number, curve.name, cells[number] if cells else "–") for number, curve in named), drawn
    )


def _mark(mark: MomentMark, axis: TimeAxis, link: _Links) -> MarkShown:
    until = axis.end if mark.until is None and mark.row == "outage" else mark.until
    whole = f"{_clock(mark.since, axis)} {mark.words}{_lasted(mark)}"
    return MarkShown(mark.since, until, mark.look, whole, clip(mark.words, SHORT), mark.place or link.at(mark.since))


def _state(part: StateStretch) -> StateShown:
    kind = "none" if part.state == "unknown" else words.kind_of(part.state)
    return StateShown(part.since, part.until, kind, part.state)


def _state_line(name: str, place: str, row: Sequence[StateShown], at: float, axis: TimeAxis) -> StateLine:
    then = next((part for part in reversed(row) if part.since <= at), row[0])
    was = ";".join(f"{axis.x(part.since):g} {_glyph(part.kind)} {part.word}" for part in row)
    return StateLine(name, place, _glyph(then.kind), then.word, was)


def _glyph(kind: str) -> str:
    return "off" if kind == "none" else kind


def _events(told: Moment, link: _Links, reader: Reader, fewest: int = FEWEST) -> list[EventLine]:
    """The events in order of time; what began before stands at the beginning. Alike ones are one line."""
    long = told.until - told.since > DAY

    def clock(at: float) -> str:
        return words.local(at, reader.zone).strftime("%d %b %H:%M" if long else "%H:%M")

    def line(marks: Sequence[MomentMark]) -> EventLine:
        first, times = marks[0], len(marks)
        return EventLine(
            first.since,
            clock(first.since),
            first.look,
            first.words + (_lasted(first) if times == 1 else f" ({times} times)"),
            link.at(first.since),
            first.place,
            any(mark.since <= told.at <= (mark.until or mark.since + told.step) for mark in marks),
            clock(marks[-1].since) if times > 1 else "",
        )

    in_order = sorted(told.marks, key=lambda mark: mark.since)
    near = max(TOGETHER_S, (told.until - told.since) / 24)
    same = gathered(
        in_order, lambda mark: (mark.row, mark.look, mark.words), lambda mark: mark.since * TOGETHER_S / near, fewest
    )
    return [line(marks) for marks in same]


def _lasted(mark: MomentMark) -> str:
    return (
        "" if mark.until is None or mark.until <= mark.since else f", for {words.rough_span(mark.until - mark.since)}"
    )


def _field(at: float, reader: Reader) -> str:
    return words.local(at, reader.zone).strftime("%Y-%m-%dT%H:%M")


def _clock(at: float, axis: TimeAxis) -> str:
    return charts.frame.clock_words(at, axis)


def _title(axis: TimeAxis) -> str:
    since, until = (datetime.fromtimestamp(at, axis.zone) for at in (axis.start, axis.end))
    day = f"{since:%A} {since.day} {since:%B}"
    last = f"{until:%H:%M}" if since.date() == until.date() else f"{until:%A} {until.day} {until:%B} {until:%H:%M}"
    return f"{day} {since:%H:%M} to {last}"
