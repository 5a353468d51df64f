"""Answers about the state of healing and what makes it do less now, and bodies that ask for that. Declared once
(`wire.records`)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from opsapp.lib.durations import DurationKind
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.threads.supervisor import WorkerState
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice, Text
from opsapp.wire.records import Between, SaidAs

from .logic.stakes import OF_WINDOWS
from .records import LONGEST_S, Count


@frozen
class PauseSpan:
    """`for` so long, or `until` a moment. A pause with neither has no end of its own."""

    span: Annotated[float | str | None, DurationKind(LONGEST_S), SaidAs("for")] = None
    until: Annotated[int | None, Between(0, 10**10)] = None
    reason: Annotated[str, Text(0, 1000)] = ""

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        both = sound.get("for") is not None and sound.get("until") is not None
        return {"until": "give either for or until"} if both else {}


@frozen
class HoldSpan(PauseSpan):
    """What needs an end."""

    sample: ClassVar[dict[str, str]] = {"for": "2h"}

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        ends = [name for name in ("for", "until") if sound.get(name) is not None]
        return {} if len(ends) == 1 else {"for": "give either for or until"}


@frozen
class HoldRecord:
    """`target`: an id or a name, `all` for everything; `name`: what it is called."""

    kind: Annotated[str, Choice("pause", *OF_WINDOWS)]
    target: str
    name: str
    by: str
    reason: str
    since: Count
    until: Count | None


@frozen
class AnomalyBudget:
    """False ones in a week, and how rare one has to be for that: one in 10^bound."""

    false_a_week: float
    bound: float | None


@frozen
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
