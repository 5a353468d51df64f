"""What a draft rule would have done over stored readings: a sentence, a strip for each target, a list."""

from __future__ import annotations

from typing import NamedTuple

from markupsafe import Markup

from opsapp.healing.whatif import Rehearsed, RehearsedFiring, RehearsedTarget
from opsapp.ui import charts, words
from opsapp.ui.reader import Reader

SLOTS = 84  # bars of a strip: two hours each, of seven days
TARGETS, FIRINGS = 8, 8  # that are shown
LITTLE_S = 60
STOPS = {
    "level": "only told: its level does not act yet",
    "window": "held back by a window",
    "root cause": "what it depends on had failed",
    "brake": "stopped by the brake",
    "protected": "a protected target",
    "host": "no host to act on",
    "over": "over before it would have acted",
    "another case": "a case was open already",
    "no step": "no step was left",
    "problem overdue": "a problem is overdue",
    "at stake": "more is at stake",
}


class PastStrip(NamedTuple):
    target: str
    words: str
    bars: Markup


class PastFiring(NamedTuple):
    row: RehearsedFiring
    lasted: str
    kind: str
    words: str


class RulePast(NamedTuple):
    words: str
    unknown: str
    saved: str
    ends: tuple[str, str]
    strips: tuple[PastStrip, ...]
    more_targets: int
    firings: tuple[PastFiring, ...]
    more_firings: int


def past_of(answer: Rehearsed, reader: Reader) -> RulePast:
    known = sorted(answer.by_target, key=lambda row: (-(row.firings or 0), row.target))
    shown = [row for row in answer.firings if not row.again][:FIRINGS]
    days = (answer.until - answer.since) / 86400
    return RulePast(
        _sentence(answer, days),
        _unknown(answer),
        _saved(answer),
        (words.local(answer.since, reader.zone).strftime("%d %b %H:%M"), "now"),
        tuple(_strip(row, answer) for row in known[:TARGETS]),
        max(0, len(known) - TARGETS),
        tuple(_firing(row) for row in shown),
        (answer.failures or 0) - len(shown),
    )


def _sentence(answer: Rehearsed, days: float) -> str:
    total, span = answer.total, f"In {days:.0f} days"
    if total is None:
        return f"{span}: unknown. No reading that it names is kept as history."
    if total == 0:
        measured = ", as far as anything was measured" if answer.unknown_s >= LITTLE_S else ""
        return f"{span} it would never have fired{measured}."
    targets = sum(bool(row.firings) for row in answer.by_target)
    on = "one target" if targets == 1 else f"{targets} targets"
    failures = "" if answer.failures == total else f", for {_failures(answer.failures or 0)}"
    told = f"{span} it would have fired {_times(total)}{failures}, on {on}."
    if answer.over_by_itself:
        told += f" {_count(answer.over_by_itself)} over by itself in time."
    if answer.would_act:
        told += f" At its ceiling it would have acted {_times(answer.would_act)}."
    return told


def _failures(count: int) -> str:
    return "one failure" if count == 1 else f"{count} failures"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _count(count: int) -> str:
    return "One was" if count == 1 else f"{count} were each"


def _unknown(answer: Rehearsed) -> str:
    if answer.not_kept:
        return f"No history is kept of {', '.join(answer.not_kept)}."
    if answer.unknown_s < LITTLE_S:
        return ""
    return f"For {words.rough_span(answer.unknown_s)}, all targets together, nothing was measured: unknown."


def _saved(answer: Rehearsed) -> str:
    saved = answer.expected_saved_minutes
    if saved is None:
        return f"What acting would have saved is unknown: {answer.why}."
    between = f"{saved.low:.0f} to {saved.high:.0f}"
    return f"Acting would have saved about {saved.value:.0f} min ({between}), by what the action does in other rules."


def _strip(row: RehearsedTarget, answer: Rehearsed) -> PastStrip:
    start, length = answer.since, (answer.until - answer.since) / SLOTS
    spans = (("unknown", row.unknown), ("down", row.held))
    states = ["up"] * SLOTS
    for state, parts in spans:
        for part in parts:
            first, last = int((part.at - start) / length), int((part.until - 1 - start) / length)
            states[max(0, first) : last + 1] = [state] * (min(last, SLOTS - 1) - max(0, first) + 1)
    count = row.firings
    told = "unknown" if count is None else "never" if count == 0 else _times(count)
    bars = charts.bars([charts.Bar(state) for state in states], row.target, told=f"would have fired: {told}")
    return PastStrip(row.target, told, bars)


def _firing(row: RehearsedFiring) -> PastFiring:
    lasted = "no end is known" if row.lasted_s is None else f"lasted {words.rough_span(row.lasted_s)}"
    if row.over_by_itself:
        kind, said = "ok", "over by itself"
    elif row.blocked_by:
        kind = "warn" if row.would_act else "off"
        said = ", ".join(STOPS.get(word, word) for word in row.blocked_by)
    else:
        kind, said = "warn", "would have acted"
    return PastFiring(row, lasted, kind, said)
