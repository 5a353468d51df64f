"""A moment in words: the answer on top, and what was true at the crosshair. A cause is named only where a host has
named it."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from opsapp.healing.moments import Moment, MomentLane, MomentMark, StateRow
from opsapp.ui import charts, words
from opsapp.ui.reader import Reader
from opsapp.ui.sentences import sentence_of

HIGH, TIMES = 90.0, 3.0  # a reading stands out above so many percent, or so many times its usual value
FEW = 3


class MomentLine(NamedTuple):
    look: str
    words: str
    href: str = ""
    note: str = ""


class MomentAnswer(NamedTuple):
    title: str
    lead: str
    facts: tuple[MomentLine, ...]


def answer_of(told: Moment, reader: Reader) -> MomentAnswer:
    went = [mark for mark in told.marks if mark.row == "outage"]
    cases = [mark for mark in told.marks if mark.row == "machine" and not mark.look.startswith(("icon", "hid"))]
    around = [mark for mark in told.marks if mark.row in ("run", "planned", "people")]
    high = list(_high(told, reader))
    sentences = [_told(mark, told, reader) for mark in (went[-FEW:] + cases[-FEW:])]
    more = max(0, len(went) - FEW) + max(0, len(cases) - FEW)
    sentences += [f"{more} more {'are' if more > 1 else 'is'} in the list of events."] if more else []
    sentences += high
    sentences += ["The cause is unknown: no host has reported one."] if sentences and not told.causes else []
    sentences += [gap for row in told.states for gap in _gaps(row, reader)]
    facts = [MomentLine(mark.look, _told(mark, told, reader), mark.place) for mark in around[-2 * FEW :]]
    return MomentAnswer(_title(told, went, cases, high), " ".join(sentences), tuple(facts))


def _title(told: Moment, went: list[MomentMark], cases: list[MomentMark], high: list[str]) -> str:
    if told.causes:
        return sentence_of(told.causes[-1])
    if went:
        spent = sum((mark.until or told.until) - mark.since for mark in went)
        open_ended = any(mark.until is None for mark in went)
        times = f"{len(went)} times, " if len(went) > 1 else ""
        return f"Down {times}{words.rough_span(spent)}{' so far' if open_ended else ''}"
    if cases or high:
        return "Something was wrong" if cases else "Something stood out"
    if not any(value is not None for lane in told.lanes for curve in lane.curves for value in curve.values):
        return "Nothing was measured in this time"
    return "Nothing stood out, as far as was measured"


def _told(mark: MomentMark, told: Moment, reader: Reader) -> str:
    since = _at(mark.since, told, reader)
    if mark.until is None:
        when = f"at {since}" if mark.row not in ("outage", "run") else f"since {since}"
    elif (until := _at(mark.until, told, reader)) != since:
        when = f"{since} to {until}"
    else:
        lasted = mark.until - mark.since
        when = f"at {since}, for {words.rough_span(lasted)}" if lasted >= 1 else f"at {since}"
    return f"{mark.words} ({when})."


def _at(at: float, told: Moment, reader: Reader) -> str:
    return words.local(at, reader.zone).strftime("%H:%M" if told.until - told.since <= words.DAY else "%d %b %H:%M")


def _high(told: Moment, reader: Reader) -> Iterator[str]:
    for lane in told.lanes:
        known = [(value, at) for value, at in zip(lane.curves[-1].values if lane.unit == "milliseconds" else
                 lane.curves[0].values, told.times, strict=True) if value is not None]  # fmt: skip
        if len(known) < FEW:
            continue
        (highest, at), usual = max(known), median(value for value, _ in known)
        if _stands_out(lane, highest, usual):
            written = UNITS[lane.unit].words
            yield (
                f"{lane.name} reached {written(highest)} at {_at(at, told, reader)}; "
                f"half of this time it was below {written(usual)}."
            )


UNITS = {"milliseconds": charts.MILLISECONDS, "percent": charts.PERCENT, "plain": charts.PLAIN, "rate": charts.RATE}


def _stands_out(lane: MomentLane, highest: float, usual: float) -> bool:
    if lane.unit == "percent":
        return highest >= HIGH and (highest - usual >= 5 or usual >= HIGH)
    if lane.limit is not None and highest > lane.limit:
        return True
    return lane.unit != "rate" and usual > 0 and highest >= TIMES * usual and highest >= 1


def _gaps(row: StateRow, reader: Reader) -> Iterator[str]:
    unknown = [part for part in row.stretches if part.state == "unknown"]
    if len(unknown) == len(row.stretches):
        yield f"There is no data of {row.name} in this time."
    elif unknown:
        long = max(unknown, key=lambda part: part.until - part.since)
        day = "%H:%M" if row.stretches[-1].until - row.stretches[0].since <= words.DAY else "%d %b %H:%M"
        since, until = (words.local(at, reader.zone).strftime(day) for at in (long.since, long.until))
        more = f", and {len(unknown) - 1} more times" if len(unknown) > 1 else ""
        when = f"at {since}" if since == until else f"from {since} to {until}"
        yield f"There is no data of {row.name} {when}{more}."


def lines_at(told: Moment, reader: Reader) -> tuple[MomentLine, ...]:
    """What lasted or happened at the crosshair."""
    lasting = (mark for mark in told.marks if mark.since <= told.at <= _end(mark, told))
    return tuple(MomentLine(mark.look, mark.words, mark.place, _at(mark.since, told, reader)) for mark in lasting)


def _end(mark: MomentMark, told: Moment) -> float:
    """What only happened counts for the bucket after it."""
    lasts = told.until if mark.row in ("outage", "run") else mark.since + told.step
    return lasts if mark.until is None else mark.until
