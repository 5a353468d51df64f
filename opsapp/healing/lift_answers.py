"""Answers about lift and waiting, declared once (`wire.records`)."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice
from opsapp.wire.records import Between

from .logic.lift import VERDICTS
from .logic.survival import StillBroken
from .records import Count

Sum = Annotated[float, Between(0)]


@frozen
class LiftArm:
    n: Count
    recovered: Count


@frozen
class LiftWaves:
    """Waves that were trials: sums of the shares of those that went, and waited, that were well at its moment; no whole
    numbers. `open`: not judged yet."""

    n: Count
    treated: Sum
    alone: Sum
    open: Count


@frozen
class UsualRange:
    low: float
    high: float


@frozen
class LiftAnswer:
    """Differences of shares: 0.5 is "half of all cases more". `low` and `high` hold however often one looks; `usual` is
    a plain range of the last 100 trials: eight of ten hold the truth."""

    treated: LiftArm
    control: LiftArm
    waves: LiftWaves
    usual: UsualRange | None
    share: Annotated[float, Between(0, 0.5)]
    lift: float | None
    low: float
    high: float
    saved_minutes: float | None
    verdict: Annotated[str, Choice(*VERDICTS)]


@frozen
class ExpectedDowntime:
    wait_s: float
    downtime_s: float


@frozen
class WaitAnswer:
    """`wait_s` None: too little is known. While `cases`, the rule's own, are fewer than 20, `borrowed` ones count too.
    `weight`: of its own curve."""

    rule_id: str
    cases: Count
    recovered: Count
    borrowed: Count
    borrowed_from: Literal["same_readings", "all_rules"] | None
    weight: Annotated[float, Between(0, 1)]
    heals: Count
    heal_s: float | None
    wait_s: float | None
    downtime_s: float | None
    saves_s: float | None
    curve: tuple[StillBroken, ...]
    expected: tuple[ExpectedDowntime, ...]
