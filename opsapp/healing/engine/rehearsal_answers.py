"""What a rehearsal comes to: each firing, what would have stopped the rule from acting, what it would have saved.

Must not: read the store or readings.
"""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from opsapp.healing.logic.brake import HOUR
from opsapp.healing.logic.moments import address
from opsapp.healing.logic.rules import names_of
from opsapp.healing.logic.survival import Duration
from opsapp.healing.stages import correlation, planning
from opsapp.healing.stages.case import PlanningCase, RuleEvent, opened
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.healing.stages.trust import Trust
from opsapp.healing.stages.world import Reading
from opsapp.lib.jsontypes import JsonObject

from .inventory import Member
from .past_worlds import PastHeal, PastWorlds
from .rehearsal import ACTS, FIRST, Firing, Rehearsal, VerdictChange
from .savings import ActionElsewhere, savings

LISTED = 500  # firings, the newest
SPANS = 200  # of one target and kind, the longest
DAY = 86400.0
NOTHING_KEPT = "nothing that the condition names is kept as history"
HOST_REASONS = ("no_host", "ambiguous_host", "external")


class AskedTime(NamedTuple):
    """The time that was asked about."""

    since: float
    until: float


class Rehearsed(NamedTuple):
    """What became of one target within the time."""

    target: str
    member: Member
    rehearsal: Rehearsal
    firings: list[Firing]


class RehearsedRule(NamedTuple):
    """All that the answer is made of."""

    span: AskedTime
    now: float
    raw_since: float
    worlds: PastWorlds
    ceiling: Trust
    window_s: float
    seen: list[Rehearsed]
    without: list[Member]  # in the rule's scope, and nothing is kept of what the condition names
    not_kept: tuple[str, ...]
    entries: Sequence[LedgerRecord]
    known: ActionElsewhere


class Judged(NamedTuple):
    """A firing, and what would have stopped the rule from acting. `over_by_itself` None: nobody knows."""

    place: Rehearsed
    firing: Firing
    blocked_by: tuple[str, ...]
    over_by_itself: bool | None

    @property
    def would_act(self) -> bool:
        """Whether nothing but its level would have stopped it, at the beginning of a failure."""
        return not self.firing.again and set(self.blocked_by) <= {"level"}


def answer(rule: RehearsedRule) -> JsonObject:
    judged = _judged(rule)
    acts = [row for row in judged if row.would_act]
    is_known = any(place.rehearsal.known_s(*rule.span) for place in rule.seen)
    saved = savings([_duration(row, rule.span) for row in acts], rule.known) if is_known else None
    unknown_s = [_unknown_s(place, rule.span) for place in rule.seen]
    length = rule.span.until - rule.span.since
    stopped = Counter(word for row in judged for word in row.blocked_by)
    return {
        "from": int(rule.span.since),
        "to": int(rule.span.until),
        "raw_since": int(max(rule.raw_since, rule.span.since)) if rule.raw_since < rule.span.until else None,
        "firings": [_row(row, rule.now) for row in judged[: -LISTED - 1 : -1]],
        "total": len(judged) if is_known else None,
        "failures": sum(not row.firing.again for row in judged) if is_known else None,
        "left_out": max(0, len(judged) - LISTED),
        "by_target": [_of_target(place, rule.span) for place in rule.seen]
        + [_unknown_target(member, rule.span) for member in rule.without],
        "over_by_itself": sum(row.over_by_itself is True for row in judged) if is_known else None,
        "would_act": len(acts) if is_known else None,
        "stopped_by": [{"by": word, "firings": count} for word, count in stopped.most_common()],
        "window_s": rule.window_s,
        "expected_saved_minutes": None
        if saved is None or saved.value is None
        else {"value": saved.value, "low": saved.low, "high": saved.high},
        "why": NOTHING_KEPT if saved is None else saved.why,
        "learned_from": list(rule.known.rules),
        "unknown_s": round(sum(unknown_s) + length * len(rule.without)),
        "not_kept": list(rule.not_kept),
    }


# -- what would have stopped it ----------------------------------------------------------------------------------------


def _judged(rule: RehearsedRule) -> list[Judged]:
    """All firings in the order of time. A heal that would have begun counts against the limits of the next ones."""
    healed = _healed_on(rule.entries)
    fired = sorted(
        ((firing, place) for place in rule.seen for firing in place.firings), key=lambda row: (row[0].at, row[1].target)
    )
    judged = []
    for firing, place in fired:
        stops = _stops(rule, firing)
        if not stops and not firing.again:
            insort(rule.worlds.heals, PastHeal(firing.at, rule.worlds.rule_id, place.target))
        level = () if firing.would in ACTS or stops else ("level",)
        judged.append(Judged(place, firing, (*stops, *level), _over_by_itself(rule, firing, place, healed)))
    return judged


def _stops(rule: RehearsedRule, firing: Firing) -> tuple[str, ...]:
    """What stands in the way of a rule that may do as much as it ever will."""
    event, worlds = RuleEvent.read(firing.event), rule.worlds
    reading = Reading(True, dict(event.about.metrics), event.about.measured_at)
    world = worlds.at(event.at, rule.ceiling, lambda _: reading)
    received = correlation.receive(event, world, ())
    if received.kind == "end":
        return (_word(received.reason, received.root),)
    if firing.would == "absorb":
        return ("another case",)
    after = event.at + worlds.base.settings.hold_s
    if firing.over_at is not None and firing.over_at <= after:
        return ("over",)
    world = worlds.at(after, rule.ceiling, lambda _: reading)
    case = replace(opened(event), id=FIRST)
    correlated = correlation.correlate(case, world)
    if correlated.kind != "plan":
        return (_word(correlated.reason, correlated.root),)
    return _stops_of(planning.plan(case.becomes(PlanningCase), world))


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
        ("problem overdue", any(why.startswith(planning.OVERDUE) for why in reasons)),
        ("host", any(why.startswith(HOST_REASONS) for why in reasons) or (not plan.passed and plan.choice is not None)),
        ("protected", any(skipped.reason.startswith("protected: ") for skipped in plan.skipped)),
        ("no step", plan.choice is None and not any(s.reason.startswith("protected: ") for s in plan.skipped)),
    ]
    return tuple(word for word, stops in words if stops) or ("level",)


def _healed_on(entries: Sequence[LedgerRecord]) -> Mapping[str, list[float]]:
    """When something was done about a target, or about its host."""
    healed: dict[str, list[float]] = {}
    for entry in entries:
        for name in names_of(entry.target) if entry.executed else ():
            healed.setdefault(name, []).append(float(entry.created_at))
    return healed


def _over_by_itself(
    rule: RehearsedRule, firing: Firing, place: Rehearsed, healed: Mapping[str, list[float]]
) -> bool | None:
    """Within the time that the action would have had. Not known where a heal may have done it, or readings end."""
    until = firing.over_at
    if until is None:
        known_until = place.rehearsal.known_true_until(firing.at, rule.span.until)
        return False if known_until - firing.at > rule.window_s else None
    if until - firing.at > rule.window_s:
        return False
    acted = (at for name in names_of(place.target) for at in healed.get(name, ()))
    return None if any(firing.since <= at <= until for at in acted) else True


def _duration(row: Judged, span: AskedTime) -> Duration:
    over, firing = row.firing.over_at, row.firing
    end = row.place.rehearsal.known_true_until(firing.at, span.until) if over is None else over
    return Duration(max(0.0, end - firing.at), over is not None)


# -- as the API says it ------------------------------------------------------------------------------------------------


def _row(row: Judged, now: float) -> JsonObject:
    firing = row.firing
    return {
        "at": int(firing.at),
        "target": row.place.target,
        "since": int(firing.since),
        "until": None if firing.over_at is None else int(firing.over_at),
        "lasted_s": None if firing.over_at is None else round(firing.over_at - firing.since),
        "again": firing.again,
        "over_by_itself": row.over_by_itself,
        "would": firing.would,
        "would_act": row.would_act,
        "blocked_by": list(row.blocked_by),
        "readings": dict(firing.event["metrics"]),
        "resolution_s": round(firing.resolution_s, 1),
        "link": chart_of(row.place.member, firing, now),
    }


def chart_of(member: Member, firing: Firing, now: float) -> str:
    """Where its readings of that time are drawn."""
    item_id = member.subject.partition(":")[2]
    end = firing.at if firing.over_at is None else firing.over_at
    query = address(firing.since - HOUR, min(end + HOUR, now), firing.at)
    return f"/{'agents' if member.is_agent else 'monitors'}/{item_id}{query}"


def _unknown_s(place: Rehearsed, span: AskedTime) -> float:
    return span.until - span.since - place.rehearsal.known_s(*span)


def _of_target(place: Rehearsed, span: AskedTime) -> JsonObject:
    unknown_s, changes = _unknown_s(place, span), place.rehearsal.changes
    return {
        "target": place.target,
        "subject": place.member.subject,
        "firings": len(place.firings) if unknown_s < span.until - span.since else None,
        "unknown_s": round(unknown_s),
        "held": _spans(changes, span, True),
        "unknown": _spans([VerdictChange(span.since, None), *changes], span, None),
    }


def _unknown_target(member: Member, span: AskedTime) -> JsonObject:
    whole = {"at": int(span.since), "until": int(span.until)}
    return {
        "target": member.name,
        "subject": member.subject,
        "firings": None,
        "unknown_s": round(span.until - span.since),
        "held": [],
        "unknown": [whole],
    }


def _spans(changes: Sequence[VerdictChange], span: AskedTime, verdict: bool | None) -> list[JsonObject]:
    """When it was so, in order."""
    ends = [*changes, VerdictChange(span.until, None)]
    spans = [
        (max(change.at, span.since), min(after.at, span.until))
        for change, after in pairwise(ends)
        if change.verdict is verdict
    ]
    longest = sorted((since, until) for since, until in spans if until > since)
    if len(longest) > SPANS:
        longest = sorted(sorted(longest, key=lambda part: part[0] - part[1])[:SPANS])
    return [{"at": int(since), "until": int(until)} for since, until in longest]
