"""Why a rule's level is lower now for one target: decided here alone. Must not: know where a reason comes from
(`stages.stakes`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from opsapp.lib.durations import DurationKind, seconds
from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice
from opsapp.wire.records import Between

from .levels import Level, lowest, one_below, rank

BUDGET, RELEASE, HANDS_OFF, HERE = "budget", "release", "hands_off", "here"
KINDS = (BUDGET, RELEASE, HANDS_OFF, HERE)
OF_WINDOWS = {RELEASE: "release window", HANDS_OFF: "hands off", HERE: "somebody is here"}  # actions of healing windows
ASKED = "medium"  # the risk that is asked about while somebody is here: a high one always is
NEARLY_GONE = 0.1
SHORTEST_S = 3600.0  # over which there is a budget


@frozen
class Stake:
    """`said`: the whole reason; `by` and `until` where a person gave it."""

    kind: Annotated[str, Choice(*KINDS)]
    said: str
    by: str = ""
    until: int | None = None


@frozen
class Lowered:
    level: Level
    instead_of: Level
    reasons: tuple[Stake, ...]

    def __str__(self) -> str:
        return f"{self.level} instead of {self.instead_of}: {'; '.join(stake.said for stake in self.reasons)}"


@frozen
class RuleBudget:
    """The availability in percent that a target's monitors are to have over so long."""

    slo: Annotated[float, Between(50, 99.999)]
    window: Annotated[float | str, DurationKind(30 * 86400)] = "30d"

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        short = "window" in sound and seconds(sound["window"]) < SHORTEST_S
        return {"window": "must be at least 1h"} if short else {}

    @property
    def window_s(self) -> float:
        return seconds(self.window)


class BudgetLeft(NamedTuple):
    """Less than 0 where it is overspent; None: unknown."""

    monitor: str
    share: float | None


def lowered(level: str, own: str, risk: str, stakes: Sequence[Stake]) -> Lowered | None:
    """`level`: what else is left of `own`. Reasons together lower it by one, and never below `notify`: care must not
    keep people uninformed."""
    floors = {stake: _floor(stake, own, risk) for stake in stakes}
    least = lowest(level, *floors.values())
    if least == level:
        return None
    return Lowered(least, level, tuple(stake for stake, floor in floors.items() if floor == least))


def _floor(stake: Stake, own: str, risk: str) -> str:
    """What one reason alone leaves."""
    if stake.kind == HERE:
        return lowest(own, "approve") if risk == ASKED else own
    return one_below(own) if rank(own) > rank("notify") else own


def of_budget(budget: RuleBudget, left: Sequence[BudgetLeft]) -> Stake | None:
    """No data is no budget."""
    asked = f"{budget.slo:g} % over {budget.window}"
    for monitor, share in left:
        if share is None:
            whose = f"of {monitor} " if monitor else ""
            return Stake(BUDGET, f"error budget {whose}unknown ({asked})")
    share, monitor = min(((share, monitor) for monitor, share in left if share is not None), default=(1.0, ""))
    if share >= NEARLY_GONE:
        return None
    gone = "used up" if share <= 0 else f"{100 * share:.0f} % left"
    return Stake(BUDGET, f"error budget of {monitor} {gone} ({asked})")
