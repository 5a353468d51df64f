"""What a rehearsal comes to: each firing, what would have stopped the rule from acting, what it would have saved.

Must not: read readings.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from opsapp.healing.logic.brake import HOUR
from opsapp.healing.logic.moments import address
from opsapp.healing.logic.rules import names_of, target_of
from opsapp.healing.logic.survival import Duration
from opsapp.healing.stages import planning
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.world import Reading
from opsapp.healing.whatif import Rehearsed, RehearsedFiring, RehearsedTarget, StopCount, TimeSpan
from opsapp.lib.durations import whole
from opsapp.runtime.serieswork import SeriesRetention
from opsapp.wire.conditions import Condition

from .alerts import WatchedRule
from .inventory import Member
from .lift import ActionElsewhere, savings
from .past_readings import KeptReading, raw_from
from .rehearsal import ACTS, Firing, HeldLevel, PastHeal, PastWorlds, TrustOfRules, VerdictChange
from .rehearse import Scene, rehearse

LISTED = 500  # firings, the newest
SPANS = 200  # of one target and kind, the longest
DAY = 86400.0
NOTHING_KEPT = "nothing that the condition names is kept as history"
NOT_KEPT = "while the rest of the condition holds, it hangs on what has no history: {names}"
HOST_REASONS = ("no_host", "ambiguous_host", "external")


class AskedTime(NamedTuple):
    since: float
    until: float


class PastOfTarget(NamedTuple):
    """Without changes its condition was never known. `was_open`: what was reported did not always decide it."""

    target: str
    member: Member
    firings: Sequence[Firing] = ()
    changes: Sequence[VerdictChange] = ()
    was_open: bool = False

    def known_s(self, since: float, until: float) -> float:
        ends = [*(change.at for change in self.changes[1:]), until]
        return sum(
            max(0.0, min(end, until) - max(change.at, since))
            for change, end in zip(self.changes, ends, strict=False)
            if change.verdict is not None
        )

    def known_true_until(self, at: float, end: float) -> float:
        """Without a break, from then on."""
        return next((change.at for change in self.changes if change.at > at and change.verdict is not True), end)


class PastTarget(NamedTuple):
    """A target of a rule, and what is kept of the readings that the rule names."""

    member: Member
    condition: Condition
    kept: tuple[KeptReading, ...]

    @property
    def target(self) -> str:
        return target_of(self.member.name, self.condition)


class PastPolicy(NamedTuple):
    """All that is read of the store before readings are."""

    watched: WatchedRule
    worlds: PastWorlds
    levels: HeldLevel
    ceiling: TrustOfRules
    window_s: float
    targets: list[PastTarget]
    without: list[Member]  # in scope, and nothing is kept of what the condition names
    not_kept: tuple[str, ...]
    known: ActionElsewhere
    retention: SeriesRetention


class RehearsedRule(NamedTuple):
    policy: PastPolicy
    span: AskedTime
    now: float
    seen: list[PastOfTarget]
    entries: Sequence[LedgerRecord]


class Judged(NamedTuple):
    """`over_by_itself` None: nobody knows."""

    place: PastOfTarget
    firing: Firing
    blocked_by: tuple[str, ...]
    over_by_itself: bool | None

    @property
    def would_act(self) -> bool:
        """Nothing but its level would have stopped it, at the beginning of a failure."""
        return not self.firing.again and set(self.blocked_by) <= {"level"}


def answer(rule: RehearsedRule) -> Rehearsed:
    judged = _judged(rule)
    acts = [row for row in judged if row.would_act]
    hangs = _hangs_on(rule) if not judged else ""  # none is known, and some may have been
    is_known = not hangs and any(place.known_s(*rule.span) for place in rule.seen)
    saved = savings([_duration(row, rule.span) for row in acts], rule.policy.known) if is_known else None
    unknown_s = [_unknown_s(place, rule.span) for place in rule.seen]
    raw_since = raw_from(rule.policy.retention, int(rule.now * 1000)) / 1000
    stopped = Counter(word for row in judged for word in row.blocked_by)
    return Rehearsed(
        int(rule.span.since),
        int(rule.span.until),
        int(max(raw_since, rule.span.since)) if raw_since < rule.span.until else None,
        tuple(_row(row, rule.now) for row in judged[: -LISTED - 1 : -1]),
        total=len(judged) if is_known else None,
        failures=sum(not row.firing.again for row in judged) if is_known else None,
        left_out=max(0, len(judged) - LISTED),
        by_target=tuple(_of_target(place, rule) for place in rule.seen),
        over_by_itself=sum(row.over_by_itself is True for row in judged) if is_known else None,
        would_act=len(acts) if is_known else None,
        stopped_by=tuple(StopCount(*stop) for stop in stopped.most_common()),
        window_s=rule.policy.window_s,
        expected_saved_minutes=saved and saved.minutes,
        why=(hangs or NOTHING_KEPT) if saved is None else saved.why,
        learned_from=rule.policy.known.rules,
        unknown_s=round(sum(unknown_s)),
        not_kept=rule.policy.not_kept,
    )


def _hangs_on(rule: RehearsedRule) -> str:
    """Why nobody knows whether it has fired, where readings without a history have decided that."""
    names = rule.policy.not_kept
    return NOT_KEPT.format(names=", ".join(names)) if names and any(place.was_open for place in rule.seen) else ""


# -- what would have stopped it ----------------------------------------------------------------------------------------


def _judged(rule: RehearsedRule) -> list[Judged]:
    """Judge the firings in the order of time; a heal that would have begun counts against the limits of the next
    ones."""
    healed = _healed_on(rule.entries)
    fired = sorted(
        ((firing, place) for place in rule.seen for firing in place.firings), key=lambda row: (row[0].at, row[1].target)
    )
    judged = []
    for firing, place in fired:
        stops = _stops(rule, firing)
        if not stops and not firing.again:
            insort(rule.policy.worlds.heals, PastHeal(firing.at, rule.policy.worlds.rule_id, place.target))
        level = () if firing.would in ACTS or stops else ("level",)
        judged.append(Judged(place, firing, (*stops, *level), _over_by_itself(rule, firing, place, healed)))
    return judged


def _stops(rule: RehearsedRule, firing: Firing) -> tuple[str, ...]:
    """Return what would stop the firing if the rule may do as much as it ever will."""
    event, worlds = firing.event, rule.policy.worlds
    reading = Reading(True, dict(event.about.metrics), event.about.measured_at)
    held_at = event.at + worlds.base.settings.hold_s
    arrives, held = (worlds.at(at, rule.policy.ceiling, lambda _: reading) for at in (event.at, held_at))
    rehearsed = rehearse(event, Scene(arrives, held))
    received = rehearsed.received
    if received.kind == "end":
        return (_word(received.reason, received.root),)
    if firing.would == "absorb":
        return ("another case",)
    if firing.over_at is not None and firing.over_at <= held_at:
        return ("over",)
    stop = rehearsed.stop
    return _stops_of(rehearsed.plan) if stop is None else (_word(stop.reason, stop.root),)


def _word(reason: str, root: str | None) -> str:
    if root is not None:
        return "root cause"
    if reason.startswith("window "):
        return "window"
    return "level" if reason.startswith("level ") else reason


def _stops_of(plan: planning.Plan) -> tuple[str, ...]:
    if plan.would in ACTS:
        return ()
    reasons = plan.effective.reasons
    words = [
        ("brake", plan.brake is not None),
        ("window", any(why.startswith("window ") for why in reasons)),
        ("at stake", plan.effective.lowered is not None),
        ("problem overdue", any(why.startswith(planning.OVERDUE) for why in reasons)),
        ("host", any(why.startswith(HOST_REASONS) for why in reasons) or (not plan.passed and plan.choice is not None)),
        ("protected", any(skipped.reason.startswith("protected: ") for skipped in plan.skipped)),
        ("no step", plan.choice is None and not any(s.reason.startswith("protected: ") for s in plan.skipped)),
    ]
    return tuple(word for word, stops in words if stops) or ("level",)


def _healed_on(entries: Sequence[LedgerRecord]) -> Mapping[str, list[float]]:
    healed: dict[str, list[float]] = {}
    for entry in entries:
        for name in names_of(entry.target) if entry.executed else ():
            healed.setdefault(name, []).append(float(entry.created_at))
    return healed


def _over_by_itself(
    rule: RehearsedRule, firing: Firing, place: PastOfTarget, healed: Mapping[str, list[float]]
) -> bool | None:
    """Whether it was over by itself within the action's time; None where a heal may have done it, or readings end."""
    until = firing.over_at
    if until is None:
        known_until = place.known_true_until(firing.at, rule.span.until)
        return False if known_until - firing.at > rule.policy.window_s else None
    if until - firing.at > rule.policy.window_s:
        return False
    acted = (at for name in names_of(place.target) for at in healed.get(name, ()))
    return None if any(firing.since <= at <= until for at in acted) else True


def _duration(row: Judged, span: AskedTime) -> Duration:
    over, firing = row.firing.over_at, row.firing
    end = row.place.known_true_until(firing.at, span.until) if over is None else over
    return Duration(max(0.0, end - firing.at), over is not None)


# -- what it would save ------------------------------------------------------------------------------------------------
# How long its failures last when nobody acts, by their own survival curve, less what trials and heals of other rules
# with the same first action say. Where one of them is not known, nothing is.


def _row(row: Judged, now: float) -> RehearsedFiring:
    firing = row.firing
    return RehearsedFiring(
        int(firing.at),
        row.place.target,
        int(firing.since),
        whole(firing.over_at),
        None if firing.over_at is None else round(firing.over_at - firing.since),
        firing.again,
        row.over_by_itself,
        firing.would,
        row.would_act,
        row.blocked_by,
        firing.event.about.metrics,
        round(firing.resolution_s, 1),
        chart_of(row.place.member, firing, now),
    )


def chart_of(member: Member, firing: Firing, now: float) -> str:
    end = firing.at if firing.over_at is None else firing.over_at
    query = address(firing.since - HOUR, min(end + HOUR, now), firing.at)
    return f"/{'agents' if member.is_agent else 'monitors'}/{member.item_id}{query}"


def _unknown_s(place: PastOfTarget, span: AskedTime) -> float:
    return span.until - span.since - place.known_s(*span)


def _of_target(place: PastOfTarget, rule: RehearsedRule) -> RehearsedTarget:
    unknown_s, changes, span = _unknown_s(place, rule.span), place.changes, rule.span
    may_have_fired = not place.firings and place.was_open and bool(rule.policy.not_kept)
    return RehearsedTarget(
        place.target,
        place.member.subject,
        len(place.firings) if unknown_s < span.until - span.since and not may_have_fired else None,
        round(unknown_s),
        _spans(changes, span, True),
        _spans([VerdictChange(span.since, None), *changes], span, None),
    )


def _spans(changes: Sequence[VerdictChange], span: AskedTime, verdict: bool | None) -> tuple[TimeSpan, ...]:
    ends = [*changes, VerdictChange(span.until, None)]
    spans = [
        (max(change.at, span.since), min(after.at, span.until))
        for change, after in pairwise(ends)
        if change.verdict is verdict
    ]
    longest = sorted((since, until) for since, until in spans if until > since)
    if len(longest) > SPANS:
        longest = sorted(sorted(longest, key=lambda part: part[0] - part[1])[:SPANS])
    return tuple(TimeSpan(int(since), int(until)) for since, until in longest)
