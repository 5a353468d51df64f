"""What a draft rule would be expected to save: from how long its failures lasted, and what its action does elsewhere.

The failures' own survival curve says how long they last when nobody acts; the trials of other rules with the same first
action say how many more recover with it, and their heals how long it takes. Where one of them is not known, nothing is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add
from typing import Any, NamedTuple

from opsapp.healing.logic import survival
from opsapp.healing.logic.lift import LAST, Arm, Bets, Trials, WaveSums
from opsapp.healing.logic.survival import Duration
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.runtime.projection import readable
from opsapp.tree.root import Root

NO_ACTION = "the rule has no action"
NO_ACTS = "it would not have acted"
NO_TRIALS = "no trial has shown yet what {action} does"
NO_HEALS = "no heal by {action} has been timed"
NO_ENDS = "none of these failures is known to have ended"


class ActionElsewhere(NamedTuple):
    """What is known of an action, from all rules that take it first."""

    action: str = ""
    trials: Trials = Trials()
    heals_s: tuple[float, ...] = ()
    rules: tuple[str, ...] = ()


class Savings(NamedTuple):
    """Minutes, with a plain range of which 8 of 10 hold the truth; None where nobody knows, and why."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


def elsewhere(root: Root, rule: RuleSettings) -> ActionElsewhere:
    chain = rule.steps
    if not chain:
        return ActionElsewhere()
    action, healing = chain[0].action, healing_of(root)
    treated, control, waves, last = Arm(), Arm(), WaveSums(), []
    heals: list[float] = []
    using = []
    for rule_id, stored in readable(healing["rules"], "rule"):
        own = stored.record.steps
        state = healing["trust"].get(rule_id)
        if not own or own[0].action != action or state is None:
            continue
        known = state.trust.trials
        treated, control = Arm(*_sums(treated, known.treated)), Arm(*_sums(control, known.control))
        waves = WaveSums(*_sums(waves, known.waves))
        last += known.bets.last
        durations = healing.trials.durations.get(rule_id)
        heals += [healed.heal_s for healed in durations.healed] if durations is not None else []
        using.append(rule_id)
    trials = Trials(treated, control, Bets(last=tuple(last[-LAST:])), waves)
    return ActionElsewhere(action, trials, tuple(heals), tuple(using))


def _sums(first: tuple[Any, ...], second: tuple[Any, ...]) -> Iterable[Any]:
    return map(add, first, second)


def savings(durations: Sequence[Duration], known: ActionElsewhere, cases: int | None = None) -> Savings:
    """Of failures that nobody acted on; one that is not known to be over has lasted at least so long. `cases`: of so
    many that were healed, where others show how long they would have lasted."""
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
    return Savings(value, low, high)
