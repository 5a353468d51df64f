"""Stage 6, trust governor: levels, evidence, promotion, breaker, the effective level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opsapp.healing.answers import TrustEvidence
from opsapp.healing.config import BreakerSettings, HealingSettings, PromotionSettings
from opsapp.healing.logic import bounds
from opsapp.healing.logic.changes import NOTHING, bet_on_bad, won
from opsapp.healing.logic.levels import PREDICTIVE_SOURCES, lowest, one_above, one_below, rank
from opsapp.healing.logic.lift import NO_EFFECT, Arm, Bets, Trials, WaveSums
from opsapp.healing.logic.stakes import Lowered, Stake, lowered

KEPT_TRIGGERS = 1000
KEPT_ROOTS = 50
KEPT_ALONE = 100
SAME_OUTAGE_S = 120.0  # what begins so soon after the beginning of an outage belongs to it
BREAKER, BAD, NO_LIFT, NEEDLESS = "circuit_breaker", "bad", "no_lift", "needless"  # causes of a demotion
EDITED = "trust_edited"  # the same, of a trust state that the service has not written


class Trust(NamedTuple):
    """The evidence since this level was entered (`since`). `executions`, `verified` and `failed` count cases, not
    steps. Triggers are when outages began, however many hosts each had: kept for promotion's window; only those since
    then lead on. Trials are kept whatever the level."""

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
    streak: tuple[float, ...] = ()  # when the cases that failed since the last success ended
    bad: tuple[float, ...] = NOTHING  # what those have won who bet that it helps too seldom
    alone: tuple[str, ...] = ()  # results that agents report of healing alone, which wait for one of the service's own
    treated: Arm = Arm()
    control: Arm = Arm()
    roots: tuple[str, ...] = ()  # the outages of root causes that were counted last
    bets: Bets = Bets()
    waves: WaveSums = WaveSums()

    @property
    def trials(self) -> Trials:
        return Trials(self.treated, self.control, self.bets, self.waves)

    def tried(self, trials: Trials) -> Trust:
        return self._replace(**trials._asdict())


class LevelChange(NamedTuple):
    """A change of a rule's level that is to be committed as an event."""

    rule_id: str
    cause: str


Judged = tuple[Trust, LevelChange | None]


class LevelRefused(ValueError):
    """A promotion or demotion that the present state forbids."""


# -- moving ------------------------------------------------------------------------------------------------------------


def promote(trust: Trust, level: str, now: float) -> Trust:
    if rank(level) <= rank(trust.current_level):
        raise LevelRefused(f"{level} is not above {trust.current_level}")
    if rank(level) > rank(trust.ceiling):
        raise LevelRefused(f"{level} is above the ceiling {trust.ceiling}")
    return _enter(trust, level, now)._replace(promoted_at=now, promotion_count=trust.promotion_count + 1)


def demote(trust: Trust, level: str, now: float) -> Trust:
    if rank(level) >= rank(trust.current_level):
        raise LevelRefused(f"{level} is not below {trust.current_level}")
    return _enter(trust, level, now)._replace(demoted_at=now, demotion_count=trust.demotion_count + 1)


def redefine(trust: Trust, definition: str, ceiling: str, now: float) -> Trust:
    """The ceiling holds at once; other deeds have to be trusted anew."""
    allowed = ceiling if definition == trust.definition else lowest(ceiling, "notify")
    if definition != trust.definition:
        trust = _enter(trust, trust.current_level, now)._replace(triggers=(), roots=()).tried(Trials())
    trust = trust._replace(definition=definition, ceiling=ceiling)
    return demote(trust, allowed, now) if rank(trust.current_level) > rank(allowed) else trust


def _enter(trust: Trust, level: str, now: float) -> Trust:
    fresh = trust._replace(executions=0, verified=0, failed=0, streak=(), bad=NOTHING, alone=())
    return fresh._replace(current_level=level, since=now)


# -- evidence ----------------------------------------------------------------------------------------------------------


def triggered(trust: Trust, at: float, promotion: PromotionSettings, root: str = "") -> Trust:
    """Unless its outage was counted: one that began about then, or has the same root cause. `root` names that one's
    outage."""
    if root and root in trust.roots:
        return trust
    if root:
        trust = trust._replace(roots=(*trust.roots, root)[-KEPT_ROOTS:])
    recent = _recent(trust.triggers, at, promotion)
    if not any(abs(at - began) <= SAME_OUTAGE_S for began in recent):
        recent = tuple(sorted((*recent, at)))
    return trust._replace(triggers=recent[-KEPT_TRIGGERS:])


def recorded(trust: Trust, result: str, now: float, settings: HealingSettings, *, drawn: bool = False) -> Judged:
    """`drawn`: whether it helps too seldom is judged with its trial."""
    waiting, trust = trust.alone, _counted(trust, result)
    if result not in ("verified", "failed"):
        return trust, None
    verified = result == "verified"
    trust = trust._replace(alone=()) if drawn else _watched(trust._replace(alone=()), verified, settings)
    for waited in waiting:
        trust = _counted(trust, waited)
    if verified:
        return trust._replace(streak=()), None
    return _failed(trust, now, now, settings)


def reported(trust: Trust, result: str, happened: float, now: float, settings: HealingSettings) -> Judged:
    """A case that an agent healed alone. It counts together with one that the service saw, so that nobody with an
    agent's key can move a rule by what he makes up. Helping too seldom goes by what the service saw."""
    if not trust.verified + trust.failed:
        return trust._replace(alone=(*trust.alone, result)[-KEPT_ALONE:]), None
    trust = _counted(trust, result)
    if result != "failed" or not trust.streak:
        return trust, None
    return _failed(trust, min(happened, now), now, settings)


def _counted(trust: Trust, result: str) -> Trust:
    return trust._replace(
        executions=trust.executions + 1,
        verified=trust.verified + (result == "verified"),
        failed=trust.failed + (result == "failed"),
    )


def _failed(trust: Trust, happened: float, now: float, settings: HealingSettings) -> Judged:
    """The breaker looks at failures in a row, the bet at all cases since the promotion."""
    trust = trust._replace(streak=(*trust.streak, happened)[-settings.breaker.failures :])
    if trust.current_level != "execute":
        return trust, None
    if tripped(trust.streak, settings.breaker):
        return demote(trust, "notify", now), LevelChange(trust.rule_id, BREAKER)
    return _bad(trust, now) if won(trust.bad) >= settings.change.threshold else (trust, None)


def _bad(trust: Trust, now: float) -> Judged:
    """People are asked, and what was known holds no longer."""
    return demote(trust.tried(Trials()), "approve", now), LevelChange(trust.rule_id, BAD)


def _watched(trust: Trust, recovered: bool, settings: HealingSettings) -> Trust:
    """Below `execute` people watch."""
    if trust.current_level != "execute":
        return trust
    return trust._replace(bad=bet_on_bad(trust.bad, recovered, settings.promotion.bound))


def tripped(streak: tuple[float, ...], breaker: BreakerSettings) -> bool:
    last = streak[-breaker.failures :]
    return len(last) == breaker.failures and max(last) - min(last) <= breaker.window_s


def evaluate(trust: Trust, now: float, settings: HealingSettings) -> Judged:
    trust = trust._replace(triggers=_recent(trust.triggers, now, settings.promotion), last_evaluated=now)
    above = one_above(trust.current_level)
    if above is None or needs(trust, now, settings):
        return trust, None
    return promote(trust, above, now), LevelChange(trust.rule_id, "evidence")


def needs(trust: Trust, now: float, settings: HealingSettings) -> list[str]:
    """What is missing for the next level, in words."""
    above = one_above(trust.current_level)
    if above is None:
        return []
    if rank(above) > rank(trust.ceiling):
        return [f'a higher ceiling than {trust.ceiling} ("Never above" in the rule)']
    if trust.current_level in ("observation", "dry-run"):
        return ["promotion by an admin"]
    promotion = settings.promotion
    if trust.current_level == "notify":
        missing = promotion.triggers - triggers_at_level(trust, now, promotion)
        return [f"{missing} more outage{'s' * (missing > 1)} within {in_days(promotion)}"] if missing > 0 else []
    return _needs_for_execute(trust, promotion) + _needs_of_lift(trust, settings)


def in_days(promotion: PromotionSettings) -> str:
    return f"{promotion.window_s / 86400:g} days"


def triggers_at_level(trust: Trust, now: float, promotion: PromotionSettings) -> int:
    """How many triggers there were within the window and since the level was entered."""
    triggers = _recent(trust.triggers, now, promotion)
    if not triggers or trust.since <= min(triggers):
        return len(triggers)
    return sum(time >= trust.since for time in triggers)


def _needs_for_execute(trust: Trust, promotion: PromotionSettings) -> list[str]:
    total, missing = trust.verified + trust.failed, []
    if total < promotion.executions:
        missing.append(f"{promotion.executions} heals with a known result, now {total}")
    if total and trust.verified / total < promotion.success_rate:
        missing.append(f"a success rate of {100 * promotion.success_rate:g} %, now {100 * trust.verified // total} %")
    bound = bounds.sequential(trust.verified, trust.failed)
    if bound <= promotion.bound:
        least, now = 100 * promotion.bound, 100 * bound
        missing.append(f"a success rate above {least:g} % with 95 % confidence, now {now:.0f} %")
    return missing


def after_trial(trust: Trust, trials: Trials, treated: bool | None, now: float, settings: HealingSettings) -> Judged:
    """`treated`: what a coin has shown of a healed case. Those of a wave count as bad by their verdicts: its moment is
    not all of their time."""
    trust = trust.tried(trials)
    return judged(trust if treated is None else _watched(trust, treated, settings), now, settings)


def judged(trust: Trust, now: float, settings: HealingSettings) -> Judged:
    """A rule that hardly helps, is needless by now, or helps too seldom. What is known of the last two holds no
    longer."""
    if not with_trials(settings):
        return trust, None
    if trust.current_level == "execute" and won(trust.bad) >= settings.change.threshold:
        return _bad(trust, now)
    if trust.trials.needless >= settings.change.threshold:
        cause, trust = NEEDLESS, trust.tried(Trials())
    elif trust.bets.high < NO_EFFECT:
        cause = NO_LIFT
    else:
        return trust, None
    if trust.current_level != "execute":
        return trust, None
    return demote(trust, "approve", now), LevelChange(trust.rule_id, cause)


def with_trials(settings: HealingSettings) -> bool:
    return bool(settings.trial.share and settings.holdout.share)


def _needs_of_lift(trust: Trust, settings: HealingSettings) -> list[str]:
    """Without controls nobody can know."""
    if not with_trials(settings) or trust.bets.low > 0:
        return []
    return [f"proof that it helps: {said_of_lift(trust.trials)}"]


def said_of_lift(trials: Trials) -> str:
    treated, control = trials.treated, trials.control
    healed, alone = f"{treated.recovered} of {treated.n}", f"{control.recovered} of {control.n}"
    said, waves = f"{healed} recovered with the heal, {alone} by themselves", trials.waves
    if not waves.n:
        return said
    shares = f"{waves.treated / waves.n:.0%} of those that went and {waves.alone / waves.n:.0%} of those that waited"
    return f"{said}; in {waves.n} wave{'s' * (waves.n > 1)}, {shares}"


def evidence(trust: Trust, now: float, settings: HealingSettings) -> TrustEvidence:
    return TrustEvidence(
        len(_recent(trust.triggers, now, settings.promotion)),
        trust.executions,
        trust.verified,
        trust.failed,
        round(100 * bounds.sequential(trust.verified, trust.failed), 2),
        round(won(trust.bad), 2),
        round(trust.trials.needless, 2),
        settings.change.threshold,
        round(trust.bets.low, 4),
    )


def _recent(triggers: tuple[float, ...], now: float, promotion: PromotionSettings) -> tuple[float, ...]:
    """When outages began. Older versions kept each host."""
    began: list[float] = []
    for at in triggers:
        if now - at <= promotion.window_s and (not began or at - began[-1] > SAME_OUTAGE_S):
            began.append(at)
    return tuple(began)


# -- the level that counts now -----------------------------------------------------------------------------------------


class Effective(NamedTuple):
    level: str
    reasons: tuple[str, ...]
    lowered: Lowered | None = None


def effective(
    trust: Trust, *, source: str, caps: Iterable[tuple[str, str]], stakes: Sequence[Stake] = (), risk: str = "low"
) -> Effective:
    """The level under ceiling and caps, one below for a prediction, and lower by what is at stake for an act of this
    risk."""
    level, reasons = lowest(trust.current_level, trust.ceiling), []
    own = level
    if level != trust.current_level:
        reasons.append(f"ceiling {trust.ceiling}")
    if source in PREDICTIVE_SOURCES:
        level = one_below(level)
        reasons.append(f"source {source}: one level below")
    for cap, why in caps:
        if rank(cap) < rank(level):
            level = cap
            reasons.append(f"{why}: at most {cap}")
    less = lowered(level, own, risk, stakes)
    return Effective(level, tuple(reasons)) if less is None else Effective(less.level, (*reasons, str(less)), less)
