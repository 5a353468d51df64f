"""A rule's worth: its lift, the downtime that it has saved, and how long it pays to wait; and what a draft rule would
save.

How long failures last by themselves their own survival curve says; what acting changes, the trials and heals of all
rules with the same first action. Where one is not known, nothing is.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import NamedTuple

from opsapp.healing.lift_answers import ExpectedDowntime, LiftAnswer, LiftArm, LiftWaves, UsualRange, WaitAnswer
from opsapp.healing.logic import survival
from opsapp.healing.logic.lift import LAST, Arm, Bets, Trials, WaveSums
from opsapp.healing.logic.survival import Duration, LeftAlone, StillBroken, downtimes
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.resources.rules import TrustState
from opsapp.healing.stages import trials
from opsapp.healing.stages.holdout import share_of
from opsapp.healing.whatif import SavedMinutes
from opsapp.lib.problems import NotFound
from opsapp.tree.root import Root

from . import world
from .pipeline import world_now

SHOWN = 100  # points of a curve


def lift(root: Root, rule_id: str) -> LiftAnswer:
    healing = healing_of(root)
    known, compared = _of(healing, rule_id).trust.trials, healing.trials.compared()
    return LiftAnswer(
        LiftArm(*known.treated),
        LiftArm(*known.control),
        LiftWaves(*known.waves, sum(wave.rule_id == rule_id for _, wave in compared)),
        known.usual and UsualRange(*(round(end, 4) for end in known.usual)),
        share_of(rule_id, world_now(root)).share,
        None if known.lift is None else round(known.lift, 4),
        round(known.bets.low, 4),
        round(known.bets.high, 4),
        _saved_minutes(root, rule_id),
        known.verdict,
    )


def _saved_minutes(root: Root, rule_id: str) -> float | None:
    """Return the minutes saved within the action's window alone: nobody has seen what would have come after it."""
    book = healing_of(root).trials
    durations = book.durations.get(rule_id)
    if durations is None or not durations.healed or len(durations.alone) < survival.ENOUGH:
        return None
    window_s = trials.window_of(rule_id, world_now(root))
    alone_s = survival.area(survival.curve(durations.alone), window_s)
    saved_s = sum(alone_s - min(healed.seconds, window_s) for healed in durations.healed)
    return round(saved_s / 60, 1)


def wait(root: Root, rule_id: str, now: float, *, borrows: bool = True) -> WaitAnswer:
    """`borrows`: from rules of others, too."""
    healing = healing_of(root)
    _of(healing, rule_id)
    book, rules = healing.trials, {name: rule.record for name, rule in healing.rules.items()}
    own = book.alone(rule_id, now)
    lent = world.borrowed(book, rules, rule_id, len(own)) if borrows and rule_id in rules else world.Borrowed()
    known, heal_s = LeftAlone(own, lent.durations), world.heal_s(book, rule_id)
    best = world.best(known, heal_s)
    points = known.curve() if known.own or known.borrowed else []
    every = max(1, -(-len(points) // SHOWN))
    expected = [] if heal_s is None or not points else list(downtimes(points, heal_s))[::every]
    return WaitAnswer(
        rule_id=rule_id,
        cases=len(own),
        recovered=sum(duration.recovered for duration in own),
        borrowed=len(lent.durations),
        borrowed_from=lent.lenders,
        weight=round(known.weight, 4),
        heals=len(book.healed(rule_id)),
        heal_s=heal_s and round(heal_s, 1),
        wait_s=best and round(best.wait_s, 1),
        downtime_s=best and round(best.downtime_s, 1),
        saves_s=best and round(best.saves_s, 1),
        curve=tuple(StillBroken(round(point.seconds, 1), round(point.share, 4)) for point in points[::every]),
        expected=tuple(ExpectedDowntime(round(at.wait_s, 1), round(at.downtime_s, 1)) for at in expected),
    )


def _of(healing: Healing, rule_id: str) -> TrustState:
    state = healing.trust.get(rule_id)
    if state is None:
        raise NotFound(f"There is no rule {rule_id!r}.")
    return state


NO_ACTION = "the rule has no action"
NO_ACTS = "it would not have acted"
NO_TRIALS = "no trial has shown yet what {action} does"
NO_HEALS = "no heal by {action} has been timed"
NO_ENDS = "none of these failures is known to have ended"


class ActionElsewhere(NamedTuple):
    """What is known of an action from all rules that take it first."""

    action: str = ""
    trials: Trials = Trials()
    heals_s: tuple[float, ...] = ()
    rules: tuple[str, ...] = ()


class Savings(NamedTuple):
    """None where nobody knows, and why."""

    minutes: SavedMinutes | None = None
    why: str = ""


def elsewhere(root: Root, rule: RuleSettings) -> ActionElsewhere:
    chain = rule.steps
    if not chain:
        return ActionElsewhere()
    action, healing = chain[0].action, healing_of(root)
    treated, control, waves, last = Arm(), Arm(), WaveSums(), []
    heals: list[float] = []
    using = []
    for rule_id, stored in healing.rules.items():
        own = stored.record.steps
        state = healing.trust.get(rule_id)
        if not own or own[0].action != action or state is None:
            continue
        known = state.trust.trials
        treated, control = Arm(*map(add, treated, known.treated)), Arm(*map(add, control, known.control))
        waves = WaveSums(*map(add, waves, known.waves))
        last += known.bets.last
        durations = healing.trials.durations.get(rule_id)
        heals += [healed.heal_s for healed in durations.healed] if durations is not None else []
        using.append(rule_id)
    trials = Trials(treated, control, Bets(last=tuple(last[-LAST:])), waves)
    return ActionElsewhere(action, trials, tuple(heals), tuple(using))


def savings(durations: Sequence[Duration], known: ActionElsewhere, cases: int | None = None) -> Savings:
    """Estimate the savings from failures that nobody acted on; one not known to be over has lasted at least so long.
    With `cases`, they are the savings of so many that were healed."""
    if not known.action:
        return Savings(why=NO_ACTION)
    if not durations:
        return Savings(why=NO_ACTS)
    lift, usual = known.trials.lift, known.trials.usual
    if lift is None or usual is None:
        return Savings(why=NO_TRIALS.format(action=known.action))
    if not known.heals_s:
        return Savings(why=NO_HEALS.format(action=known.action))
    if not any(duration.recovered for duration in durations):
        return Savings(why=NO_ENDS)
    longest = max(duration.seconds for duration in durations)
    heal_s = sum(known.heals_s) / len(known.heals_s)
    lasts_s = survival.area(survival.curve(durations), longest)
    most = (len(durations) if cases is None else cases) * max(0.0, lasts_s - heal_s) / 60
    value, low, high = (round(share * most, 1) for share in (lift, *usual))
    return Savings(SavedMinutes(value, low, high))
