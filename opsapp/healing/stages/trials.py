"""What a case says about whether healing helps: it was left alone for the action's window, or something was done.

Both are judged alike: by `wire.verdicts`, over a window of the same span. It begins with the case, or with the act.

A case in which nobody acted within the window is a control. One in which something was done is treated. What nobody can
tell (a person decided in between, the host was silent, something else acted there) counts as neither. Only the first
case of an outage counts: later ones of the same outage would say the same again.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.healing.logic.rules import steps
from opsapp.wire.actions import ACTIONS
from opsapp.wire.verdicts import ConditionLook, HealJudgement, LooksSeen, ProofWindow, judge

from .case import CaseRecord
from .timing import patience_of, settle_of
from .trust import Trust
from .verification import comes_and_goes
from .world import World

FOLLOWED_S = 86400.0  # so long a case that nobody acts on is followed, for the survival curve
GRACE_S = 600.0  # so long a reading from after the window is waited for
LOOK_S = 5.0
FOLLOWED_ON = ("notified", "observed", "simulated", "expired", "skipped")  # ends of a case after which nobody acts

CONTROL, TREATED = "control", "treated"


class Trial(NamedTuple):
    """One case, as far as it is known. `arm` is None until it is decided."""

    case_id: str
    rule_id: str
    target: str
    began_at: float
    window_s: float
    arm: str | None = None
    acted_at: float | None = None

    @property
    def ends_at(self) -> float:
        return self.began_at + self.window_s

    @property
    def due(self) -> float:
        """When it is looked at next."""
        return self.began_at + FOLLOWED_S if self.arm == CONTROL else self.ends_at


def window_of(rule_id: str, world: World) -> float:
    """How long the rule's action would have to help: its settle time and its verification."""
    chain = steps(world.rules[rule_id])
    settles = settle_of(rule_id, ACTIONS[chain[0].action], world) if chain else 0.0
    return settles + patience_of(rule_id, world)


def left_alone(trial: Trial, seen: LooksSeen, look: ConditionLook, case: CaseRecord, world: World) -> HealJudgement:
    """What a look says of a case that nobody has acted on: what it would say after an act."""
    earliest = max(trial.began_at, trial.ends_at - patience_of(trial.rule_id, world))
    seen = seen._replace(flaps=seen.flaps or comes_and_goes(case, world))
    return judge(seen, look, ProofWindow(earliest, trial.ends_at), world.now)


def helped(trial: Trial, case: CaseRecord, result: str, now: float) -> bool | None:
    """Whether a case recovered within the window after the act. None: nobody can say, because nobody was there to look
    within the window. A later step has helped only as far as it was within the window of the first."""
    if result != "verified":
        return False
    one_step = len(case.tried) == 1 and case.heal is not None
    acted_at = case.heal.acted_at if one_step and case.heal is not None else trial.acted_at
    if (case.recovered_at or now) - (acted_at or now) <= trial.window_s:
        return True
    return None if one_step else False


def begins(case: CaseRecord) -> bool:
    """Whether a case is a trial: something was measured to be wrong, and can be measured again."""
    return case.about.source == "alert" and bool(case.about.subject) and not case.manual


def counted(trust: Trust, arm: str, recovered: bool) -> Trust:
    if arm == CONTROL:
        return trust._replace(control=trust.control.added(recovered))
    return trust._replace(treated=trust.treated.added(recovered))
