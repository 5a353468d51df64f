"""How healing stands: its health, and what makes it do less now. Declared once (`wire.records`)."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import Choice

from .logic.stakes import OF_WINDOWS
from .records import Count


@dataclass(frozen=True)
class HoldRecord:
    """What makes healing do less now. `target`: an id or a name, `all` where it is everything; `name`: what that
    is called."""

    kind: Annotated[str, Choice("pause", *OF_WINDOWS)]
    target: str
    name: str
    by: str
    reason: str
    since: Count
    until: Count | None


@dataclass(frozen=True)
class WorkerState:
    """`late_s`: None where it has not worked yet, or another node has its lease."""

    name: str
    late_s: float | None
    errors: Count
    last_error: str | None


@dataclass(frozen=True)
class AnomalyBudget:
    """How many false ones people may be told of in a week, and how rare one has to be for that: one in 10^bound."""

    false_a_week: float
    bound: float | None


@dataclass(frozen=True)
class Health:
    status: Literal["Active", "Paused", "Degraded"]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    holds: tuple[HoldRecord, ...]
    components: tuple[WorkerState, ...]
    queue_depth: int
    active_heals: int
    last_event_at: int | None
    runs_kept_apart: bool | None
    runs_not_held: tuple[str, ...] | None
    anomalies: AnomalyBudget
