"""What a case says about whether healing helps: a coin left it alone for the action's window, or had it treated.

Both arms are judged alike, by what is measured within the same window from the coin on (`wire.verdicts`), whatever
becomes of heal or plan. What nobody can tell counts as neither. Cases of one outage share a coin, and count once. Cases
without a coin only show how long they last.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.healing.logic.lift import Draw
from opsapp.wire.actions import ACTIONS
from opsapp.wire.verdicts import ConditionLook, HealJudgement, LooksSeen, ProofWindow, judge

from .case import CaseRecord
from .timing import POLL_S, patience_of, trial_window
from .verification import comes_and_goes
from .world import World

FOLLOWED_S = 86400.0  # so long a case that nobody acts on is followed, for the survival curve
GRACE_S = 600.0  # so long a reading from after the window is waited for
LOOK_S, LOOKS = 5.0, 4  # so often it is looked at meanwhile, and so often at least within the time for its proof
FOLLOWED_ON = ("notified", "observed", "simulated", "expired", "skipped")  # ends of a case after which nobody acts


class Trial(NamedTuple):
    """`draw`, `drawn_at`: of a coin of its own; `judged`: what that has shown is known."""

    case_id: str
    rule_id: str
    target: str
    began_at: float
    window_s: float
    acted_at: float | None = None
    draw: Draw | None = None
    drawn_at: float = 0.0
    judged: bool = False

    @property
    def ends_at(self) -> float:
        return self.drawn_at + self.window_s

    @property
    def is_undecided(self) -> bool:
        """Its coin has not been judged."""
        return self.draw is not None and not self.judged

    @property
    def waits(self) -> bool:
        """Its coin leaves it alone meanwhile."""
        return self.is_undecided and self.draw is not None and not self.draw.treated


def window_of(rule_id: str, world: World) -> float:
    """How long the rule's action would have to help."""
    chain = world.steps(rule_id)
    return trial_window(rule_id, ACTIONS[chain[0].action], world) if chain else patience_of(rule_id, world)


def window_drawn(case: CaseRecord, world: World) -> float:
    """The length of the case's trial by the action that its coin was about."""
    if case.heal is None:
        return (case.left_until or world.now) - world.now
    return trial_window(case.rule_id, ACTIONS[case.heal.action], world)


def looked_at(trial: Trial, seen: LooksSeen, look: ConditionLook, case: CaseRecord, world: World) -> HealJudgement:
    """Judges a look at a trial whose coin is not judged yet."""
    earliest = _counts_from(trial, world)
    seen = seen._replace(flaps=seen.flaps or comes_and_goes(case, world))
    return judge(seen, look, ProofWindow(earliest, trial.ends_at), world.now)


def _counts_from(trial: Trial, world: World) -> float:
    """The end of the settle time."""
    return max(trial.drawn_at, trial.ends_at - patience_of(trial.rule_id, world))


def looked_at_next(trial: Trial, world: World) -> float:
    earliest = _counts_from(trial, world)
    pace = max(POLL_S, min(LOOK_S, (trial.ends_at - earliest) / LOOKS))
    return max(earliest, world.now + pace)


def begins(case: CaseRecord) -> bool:
    """It was measured to be wrong, and can be measured again."""
    return case.about.source == "alert" and bool(case.about.subject) and not case.manual
