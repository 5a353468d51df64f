"""Stage 6, trust governor: levels, evidence, automatic promotion with its bound, breaker, the effective level."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from opsapp.healing.logic import bounds
from opsapp.healing.logic.levels import PREDICTIVE_SOURCES, lowest, one_above, one_below, rank

TRIGGERS = 10
TRIGGER_WINDOW = 7 * 86400.0
EXECUTIONS = 10
SUCCESS_RATE = 0.85
KEPT_TRIGGERS = 1000


class Breaker(NamedTuple):
    failures: int = 3
    window_s: float = 3600.0


class Trust(NamedTuple):
    """A rule's trust and the evidence gathered at its level since it entered it (`since`). Triggers are kept for seven
    days whatever the level; only those since then lead on from `notify`."""

    rule_id: str
    current_level: str
    ceiling: str
    definition: str
    since: float
    promoted_at: float | None = None
    demoted_at: float | None = None
    promotion_count: int = 0
    demotion_count: int = 0
    last_evaluated: float = 0.0
    triggers: tuple[float, ...] = ()
    executions: int = 0
    verified: int = 0
    failed: int = 0
    streak: tuple[float, ...] = ()  # when the failed verifications since the last success happened


class Change(NamedTuple):
    """A level that changed, to be committed as an event (and, for the breaker, a suggestion)."""

    rule_id: str
    old_level: str
    new_level: str
    cause: str


class Refused(ValueError):
    """A promotion or demotion that the present state forbids."""


# -- moving ------------------------------------------------------------------------------------------------------------


def promote(trust: Trust, level: str, now: float) -> Trust:
    if rank(level) <= rank(trust.current_level):
        raise Refused(f"{level} is not above {trust.current_level}")
    if rank(level) > rank(trust.ceiling):
        raise Refused(f"{level} is above the ceiling {trust.ceiling}")
    return _enter(trust, level, now)._replace(promoted_at=now, promotion_count=trust.promotion_count + 1)


def demote(trust: Trust, level: str, now: float) -> Trust:
    if rank(level) >= rank(trust.current_level):
        raise Refused(f"{level} is not below {trust.current_level}")
    return _enter(trust, level, now)._replace(demoted_at=now, demotion_count=trust.demotion_count + 1)


def redefine(trust: Trust, definition: str, ceiling: str, now: float) -> Trust:
    """After an edit: the ceiling holds at once, and other deeds have to be trusted anew."""
    allowed = ceiling if definition == trust.definition else lowest(ceiling, "notify")
    if definition != trust.definition:
        trust = _enter(trust, trust.current_level, now)._replace(triggers=())
    trust = trust._replace(definition=definition, ceiling=ceiling)
    return demote(trust, allowed, now) if rank(trust.current_level) > rank(allowed) else trust


def _enter(trust: Trust, level: str, now: float) -> Trust:
    return trust._replace(current_level=level, since=now, executions=0, verified=0, failed=0, streak=())


# -- evidence ----------------------------------------------------------------------------------------------------------


def triggered(trust: Trust, now: float) -> Trust:
    return trust._replace(triggers=(*_recent(trust.triggers, now), now)[-KEPT_TRIGGERS:])


def recorded(
    trust: Trust, outcome: str, now: float, breaker: Breaker, at: float | None = None
) -> tuple[Trust, Change | None]:
    """After the final outcome of something that was executed. What is not known counts neither for nor against. `at`:
    when it happened, where it is heard of later."""
    trust = trust._replace(executions=trust.executions + 1)
    if outcome == "verified":
        return trust._replace(verified=trust.verified + 1, streak=()), None
    if outcome not in ("failed", "rolled_back"):
        return trust, None
    happened = now if at is None else min(at, now)
    trust = trust._replace(failed=trust.failed + 1, streak=(*trust.streak, happened)[-breaker.failures :])
    if trust.current_level == "execute" and tripped(trust.streak, breaker):
        lower = demote(trust, "notify", now)
        return lower, Change(trust.rule_id, "execute", "notify", "circuit_breaker")
    return trust, None


def tripped(streak: tuple[float, ...], breaker: Breaker) -> bool:
    last = streak[-breaker.failures :]
    return len(last) == breaker.failures and max(last) - min(last) <= breaker.window_s


def evaluate(trust: Trust, now: float) -> tuple[Trust, Change | None]:
    """Promote when nothing is missing any more."""
    trust = trust._replace(triggers=_recent(trust.triggers, now), last_evaluated=now)
    above = one_above(trust.current_level)
    if above is None or needs(trust, now):
        return trust, None
    return promote(trust, above, now), Change(trust.rule_id, trust.current_level, above, "evidence")


def needs(trust: Trust, now: float) -> list[str]:
    """What is missing for the next level, in words; nothing at the top level or when nothing is missing."""
    above = one_above(trust.current_level)
    if above is None:
        return []
    if rank(above) > rank(trust.ceiling):
        return [f"a ceiling above {trust.ceiling}"]
    if trust.current_level in ("observation", "dry-run"):
        return ["promotion by an admin"]
    if trust.current_level == "notify":
        missing = TRIGGERS - triggers_at_level(trust, now)
        return [f"{missing} more trigger{'s' * (missing > 1)} within 7 days"] if missing > 0 else []
    return _needs_for_execute(trust)


def triggers_at_level(trust: Trust, now: float) -> int:
    """Those of the last seven days that came since the level was entered."""
    return sum(time >= trust.since for time in _recent(trust.triggers, now))


def _needs_for_execute(trust: Trust) -> list[str]:
    total, missing = trust.verified + trust.failed, []
    if total < EXECUTIONS:
        missing.append(f"{EXECUTIONS - total} more verified or failed executions")
    if total and trust.verified / total < SUCCESS_RATE:
        missing.append(f"a success rate of {SUCCESS_RATE:.0%}, now {100 * trust.verified // total} %")
    bound = bounds.sequential(trust.verified, trust.failed)
    if bound <= bounds.PROMOTION_BOUND:
        missing.append(f"a lower bound above {bounds.PROMOTION_BOUND:.0%}, now {bound:.0%}")
    return missing


def evidence(trust: Trust, now: float) -> dict[str, Any]:
    return {
        "triggers_7d": len(_recent(trust.triggers, now)),
        "executions": trust.executions,
        "verified": trust.verified,
        "failed": trust.failed,
        "sequential_bound": round(100 * bounds.sequential(trust.verified, trust.failed), 2),
    }


def _recent(triggers: tuple[float, ...], now: float) -> tuple[float, ...]:
    if not triggers or now - triggers[0] <= TRIGGER_WINDOW:
        return triggers
    return tuple(time for time in triggers if now - time <= TRIGGER_WINDOW)


# -- the level that counts now -----------------------------------------------------------------------------------------


class Effective(NamedTuple):
    level: str
    reasons: tuple[str, ...]


def effective(trust: Trust, *, source: str, caps: Iterable[tuple[str, str]]) -> Effective:
    """The rule's level under its ceiling, under every cap (level, why), and one below for what is only predicted."""
    level, reasons = lowest(trust.current_level, trust.ceiling), []
    if level != trust.current_level:
        reasons.append(f"ceiling {trust.ceiling}")
    if source in PREDICTIVE_SOURCES:
        level = one_below(level)
        reasons.append(f"source {source}: one level below")
    for cap, why in caps:
        if rank(cap) < rank(level):
            level = cap
            reasons.append(f"{why}: at most {cap}")
    return Effective(level, tuple(reasons))
