"""What a series of looks at a condition after an act means: wait, verified, failed, worse, or nobody can say.

Both arms of a trial are judged with it too. Pure: times are numbers of one clock, whichever the caller has.
Must not: measure, wait, or undo anything.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

from .harms import Harm
from .spoken import spoken_condition, spoken_target

VERIFY_TIMEOUT_S = 60.0  # how long after its settle time an act may take to show its effect, where a rule says nothing
ASK_AGAIN_S = 10.0  # so often it is measured again meanwhile
STEADY_LOOKS = 2  # a condition that comes and goes is over when so many measurements in a row found it false,
STEADY_S = 10.0  # or when it has been known false for so long
FLAPS_WITHIN_S = 300.0  # what holds again so soon after it was known to be over comes and goes
MOST_TOLD = 3  # so many harms are named in a reason

WAIT, VERIFIED, FAILED, WORSE, INCONCLUSIVE = "wait", "verified", "failed", "worse", "inconclusive"


class ProofWindow(NamedTuple):
    """The settle time after the act, and the time-out after that."""

    earliest: float
    latest: float


class ConditionLook(NamedTuple):
    """A verdict of None is unknown; `measured_at`: the oldest reading that it needed."""

    verdict: Optional[bool]
    measured_at: Optional[float]


class LooksSeen(NamedTuple):
    """All that has to be kept between two looks."""

    newest: Optional[float] = None  # when the newest measurement that counts was made
    well_since: Optional[float] = None  # when the first of those in a row was made that found the condition false
    well: int = 0  # how many these are
    flaps: bool = False  # the condition is known to come and go

    def moved(self, by: float) -> LooksSeen:
        """The same looks after the clock was set by so many seconds."""
        newest, since = (None if at is None else at + by for at in (self.newest, self.well_since))
        return self._replace(newest=newest, well_since=since)


class HealJudgement(NamedTuple):
    kind: str
    reason: str
    seen: LooksSeen

    @property
    def outcome(self) -> str:
        """The outcome of a step that is decided."""
        return FAILED if self.kind == WORSE else self.kind


def judge(
    seen: LooksSeen, look: ConditionLook, window: ProofWindow, now: float, worse: Sequence[Harm] = ()
) -> HealJudgement:
    """Only what was measured within the window counts. Failed it is at the end of the window, and not before; unknown
    is never verified."""
    fresh = look.measured_at is not None and look.measured_at >= window.earliest
    if fresh:
        seen = _looked(seen, look)
    if worse:
        return HealJudgement(WORSE, f"worse: {_told(worse)}", seen)
    if fresh and look.verdict is False and _is_over(seen, now):
        return HealJudgement(VERIFIED, "the condition is known false", seen)
    if now < window.latest:
        return HealJudgement(WAIT, "", seen)
    if fresh and look.verdict is True:
        return HealJudgement(FAILED, "the condition still holds", seen)
    return HealJudgement(INCONCLUSIVE, _unknown(look, fresh), seen)


def _told(worse: Sequence[Harm]) -> str:
    more = f" and {len(worse) - MOST_TOLD} more" if len(worse) > MOST_TOLD else ""
    return ", ".join(map(_named, worse[:MOST_TOLD])) + more


def _named(harm: Harm) -> str:
    by = f" (rule {harm.rule_id})" if harm.rule_id else ""
    return f"{spoken_target(harm.target)}: {spoken_condition(harm.condition)}{by}"


def came_back(at: float, over_at: Optional[float]) -> bool:
    """Whether the condition came back: it holds since `at`, and was known to be over shortly before."""
    return over_at is not None and 0 <= at - over_at < FLAPS_WITHIN_S


def _looked(seen: LooksSeen, look: ConditionLook) -> LooksSeen:
    """A measurement counts once, however often it is looked at."""
    if look.verdict is None:
        return seen._replace(newest=look.measured_at, well_since=None, well=0)
    if look.verdict:
        return seen._replace(newest=look.measured_at, well_since=None, well=0, flaps=seen.flaps or seen.well > 0)
    if seen.well_since is None:
        return seen._replace(newest=look.measured_at, well_since=look.measured_at, well=1)
    return seen._replace(newest=look.measured_at, well=seen.well + (look.measured_at != seen.newest))


def _is_over(seen: LooksSeen, now: float) -> bool:
    if not seen.flaps or seen.well >= STEADY_LOOKS:
        return True
    return seen.well_since is not None and now - seen.well_since >= STEADY_S


def _unknown(look: ConditionLook, fresh: bool) -> str:
    if not fresh:
        return "stale: nothing fresh was reported"
    return "the condition is unknown" if look.verdict is None else "the condition comes and goes"
