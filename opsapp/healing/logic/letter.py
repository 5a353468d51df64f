"""The morning letter in words, and the day for which one is due. Pure.

A day's letter is due from its hour to the next day's hour: a restart delays it and skips none. A handled day is not due
again whatever the clock does, but for a clock that was wrong by days.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from opsapp.lib import cron
from opsapp.wire.spoken import spoken_target

from .reasons import reason

WRONG_S = 2 * 86400.0  # a clock that was ahead by more was wrong
KEPT = 8
MOST_LINES, LONGEST_LINE, MOST_NAMES = 6, 150, 3


class HandledDay(NamedTuple):
    day: str
    at: float


def latest(at: str, zone: str, now: float) -> tuple[str, float]:
    """The last day whose hour has come, and when."""
    today = datetime.fromtimestamp(now, ZoneInfo(zone)).date()
    hour = time.fromisoformat(at)
    days = (today, today - timedelta(days=1), today - timedelta(days=2))
    moments = ((day.isoformat(), cron.moment(datetime.combine(day, hour), zone)) for day in days)
    return next((day, moment) for day, moment in moments if moment <= now)


def next_after(at: str, zone: str, now: float) -> float:
    hour, minute = at.split(":")
    return cron.next_time(f"{int(minute)} {int(hour)} * * *", zone, now)


def is_handled(handled: Iterable[HandledDay], day: str, now: float) -> bool:
    return any(known.day == day and known.at <= now + WRONG_S for known in handled)


def handle(handled: Iterable[HandledDay], day: str, now: float) -> tuple[HandledDay, ...]:
    kept = [known for known in handled if known.at <= now + WRONG_S and known.day != day]
    return (*kept, HandledDay(day, now))[-KEPT:]


class CaseEnd(NamedTuple):
    """`action`: what was done last."""

    rule_id: str
    target: str
    outcome: str
    reason: str = ""
    action: str = ""


class Saved(NamedTuple):
    """The minutes that `cases` healed ones saved; of others nobody knows."""

    minutes: float = 0.0
    low: float = 0.0
    high: float = 0.0
    cases: int = 0


class Request(NamedTuple):
    words: str
    address: str | None = None


class Night(NamedTuple):
    """`more`: entries too many to be read."""

    since: float
    until: float
    head: str
    healed: tuple[CaseEnd, ...] = ()
    not_healed: tuple[CaseEnd, ...] = ()
    left_alone: tuple[CaseEnd, ...] = ()
    held_back: tuple[CaseEnd, ...] = ()
    saved: Saved = Saved()
    asks: tuple[Request, ...] = ()
    asks_more: int = 0
    more: int = 0


def title(night: Night) -> str:
    counts = [
        (len(night.healed), "healed"),
        (len(night.not_healed), "not healed"),
        (len(night.left_alone), "left alone to learn"),
        (len(night.held_back), "held back"),
    ]
    parts = [f"{count} {words}" for count, words in counts if count]
    asks = len(night.asks) + night.asks_more
    parts += [f"{asks} {'asks' if asks == 1 else 'ask'} for you"] if asks else []
    return f"Morning letter: {', '.join(parts) or 'nothing happened'}"


def body(night: Night, zone: str, address: str | None) -> str:
    """All but its last lines (`foot`)."""
    lines = [f"From {clock(night.since, zone)} to {clock(night.until, zone)}."]
    for what, ends, said, *more in (
        ("Healed", night.healed, _done, _saved(night)),
        ("Not healed", night.not_healed, _failed),
        ("Left alone for a while to learn whether the heal is needed", night.left_alone, _alone),
        ("Held back", night.held_back, _why),
    ):
        if ends:
            lines += ["", f"{what}: {_cases(len(ends))}.", *_grouped(ends, said), *more]
    if night.asks:
        lines += ["", "What asks for you today:", *_asks(night)]
    if night.more:
        lines += ["", f"{night.more} older entries of the ledger are not counted here."]
    return "\n".join([*lines, *(["", f"This letter: {address}"] if address else [])])


def foot(night: Night) -> str:
    return f"Signed head of the ledger: {night.head}"


def clock(at: float, zone: str) -> str:
    return datetime.fromtimestamp(at, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M %Z")


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def _done(end: CaseEnd) -> str:
    return f"{_words(end.action)} (rule {end.rule_id})"


def _failed(end: CaseEnd) -> str:
    why = f": {reason(end.reason)}" if end.reason else ""
    return f"{_words(end.outcome)} (rule {end.rule_id}){why}"


def _alone(end: CaseEnd) -> str:
    ends = {"withdrawn": "recovered without a heal", "verified": "healed after the wait", "": "not over yet"}
    return f"{ends.get(end.outcome, _words(end.outcome))} (rule {end.rule_id})"


def _why(end: CaseEnd) -> str:
    return f"{reason(end.reason) or _words(end.outcome)} (rule {end.rule_id})"


def _words(name: str) -> str:
    return name.replace("_", " ") or "healed"


def _grouped(ends: Sequence[CaseEnd], said: Callable[[CaseEnd], str]) -> Iterator[str]:
    """A line for all of which the same is said."""
    counts = Counter(map(said, ends))
    for words, count in counts.most_common(MOST_LINES):
        names = list(dict.fromkeys(spoken_target(end.target) for end in ends if said(end) == words))
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        times = f", {count} times" if count > len(names) else ""
        yield _line(f"{', '.join(names[:MOST_NAMES])}{more}: {words}{times}")
    if len(counts) > MOST_LINES:
        yield _line(f"and {len(counts) - MOST_LINES} more kinds")


def _saved(night: Night) -> str:
    saved, unknown = night.saved, len(night.healed) - night.saved.cases
    if not saved.cases:
        return "What that saved is not known yet."
    span = f"between {saved.low:.0f} and {saved.high:.0f}"
    known = f"That saved about {saved.minutes:.0f} minutes of outage ({span})."
    return f"{known} Of {_cases(unknown)} it is not known yet." if unknown else known


def _asks(night: Night) -> Iterator[str]:
    for request in night.asks:
        yield _line(request.words)
        if request.address:
            yield f"  {request.address}"
    if night.asks_more:
        yield _line(f"and {night.asks_more} more")


def _line(text: str) -> str:
    return f"- {text if len(text) <= LONGEST_LINE else text[: LONGEST_LINE - 1] + '…'}"
