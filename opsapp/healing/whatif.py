"""Questions about what would be, and their answers: dry run, comparison, replay, a draft over the past. Declared once
(`wire.records`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar, Literal

from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Anything, AnyValues, Choice, DeclaredField, JsonKind, MapOf, Number, Scalar, Text
from opsapp.wire.records import Between, Most, SaidAs

from .logic.graph import MOST_TARGETS, Dependency
from .logic.levels import SEVERITIES, Level
from .records import ConditionText, Count, DeclaredRule, NewRule, Readings, RuleSettings, RuleTargets
from .stages.case import Metrics
from .stages.execution import RollbackPlan
from .stages.planning import PreflightCheck, SkippedStep

SOURCES = ("alert", "prediction", "anomaly", "agent", "chaos", "test")
OfWhat = Literal["host", "monitor"]


class ComparedValue(JsonKind):
    """A number, or a text such as a state."""

    openapi = {"oneOf": [{"type": "number"}, {"type": "string", "maxLength": 1000}]}

    def problem(self, value):
        return (Text(0, 1000) if isinstance(value, str) else Number()).problem(value)


WOULD = ("execute", "request_approval", "notify", "simulate", "observe", "suppress", "absorb", "nothing")
Would = Annotated[str, Choice(*WOULD)]


# -- what is asked


@frozen(kw_only=True)
class EventAsked:
    """Only a state or part of an event is a text; all other metrics are numbers."""

    component: ClassVar[str] = "HealEvent"
    source: Annotated[str, Choice(*SOURCES)] = "test"
    rule_id: Annotated[str, Text(1, 64)]
    condition: ConditionText | None = None
    target: Annotated[str, Text(1, 1000)]
    severity: Annotated[str | None, Choice(*SEVERITIES)] = None
    metrics: Annotated[Metrics, MapOf(DeclaredField("", ComparedValue()), 1000)] = field(default_factory=dict)

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        texts = [name for name, value in sound.get("metrics", {}).items() if isinstance(value, str)]
        return {f"metrics.{name}": "must be a number" for name in texts if not _may_be_text(name)}


def _may_be_text(name: str) -> bool:
    return name.rpartition(".")[2] in ("state", "status") or name.startswith("event.")


@frozen
class DryRunAsked:
    """`rule`: a draft in the place of the saved one of its id."""

    component: ClassVar[str] = "DryRun"
    event: EventAsked
    rule: DeclaredRule | None = None


@frozen
class ComparisonAsked:
    component: ClassVar[str] = "ConditionNow"
    sample = RuleSettings.sample
    condition: ConditionText
    targets: RuleTargets | None = None


@frozen
class ReplayAsked:
    component: ClassVar[str] = "Replay"
    sample = {"days": 7, "dependencies": [{"target": "db", "type": "service"}]}
    days: Annotated[float, Between(0, 365)]
    rules: Annotated[tuple[DeclaredRule, ...] | None, Most(1000)] = None
    dependencies: Annotated[tuple[Dependency, ...] | None, Most(MOST_TARGETS)] = None


@frozen
class PastAsked:
    """So many days before now, or `from` until `to`."""

    component: ClassVar[str] = "RuleOverPast"
    sample = {"rule": NewRule.sample}

    rule: NewRule
    days: Annotated[float, Between(0.01, 30)] = 7
    since: Annotated[float | None, Between(0, 10**10), SaidAs("from")] = None
    until: Annotated[float | None, Between(0, 10**10), SaidAs("to")] = None


# -- what is answered


@frozen
class SimulatedEvent:
    source: Annotated[str, Choice(*SOURCES)]
    rule_id: str
    condition: str
    target: str
    severity: Annotated[str, Choice(*SEVERITIES)]
    metrics: Annotated[Mapping[str, object], MapOf(DeclaredField("", ComparedValue()))]


@frozen
class SimulatedCorrelation:
    kind: str
    case_id: str | None
    reason: str


@frozen
class SimulatedDependency:
    root_cause: str
    suppressed: bool
    depends_on: tuple[str, ...]
    site: str | None


@frozen
class SimulatedWindow:
    effect: str | None
    cap: str | None
    reasons: tuple[str, ...]


@frozen
class SimulatedTrust:
    level: Level
    effective_level: Level
    reasons: tuple[str, ...]


@frozen
class SelectedAction:
    action_type: str
    action_params: AnyValues
    step: int
    risk: str
    skipped: tuple[SkippedStep, ...]


@frozen
class Preflight:
    passed: bool
    checks: tuple[PreflightCheck, ...]


@frozen
class Simulated:
    event: SimulatedEvent
    correlation: SimulatedCorrelation
    dependency: SimulatedDependency
    window: SimulatedWindow
    trust: SimulatedTrust
    action_selection: SelectedAction | None
    pre_flight: Preflight
    rollback_plan: RollbackPlan
    would: Would
    why: tuple[str, ...]


@frozen
class ReplayedEvent:
    source: str
    rule_id: str
    condition: str
    target: str
    metrics: Readings
    created_at: int


@frozen
class ReplayDifference:
    event: ReplayedEvent
    then: str
    then_action: str | None
    then_outcome: str | None
    would: str
    would_action: str | None
    would_outcome: str | None
    ledger_id: int
    events: int


@frozen
class ReplayedRule:
    """Recorded events of a changed rule, and those that come under the change."""

    rule_id: str
    recorded: Count
    would: Count


@frozen
class Replayed:
    events: int
    same: int
    rules: tuple[ReplayedRule, ...]
    differences: Annotated[tuple[ReplayDifference, ...], Most(100_000)]


@frozen
class ComparedTarget:
    target: str
    name: str
    subject: str
    verdict: bool | None
    readings: Readings
    missing: tuple[str, ...]


@frozen
class Compared:
    matching: Count
    holds: Count
    false: Count
    unknown: Count
    targets: tuple[ComparedTarget, ...]


@frozen
class ReadingRecord:
    """Of how many hosts or monitors, and one value."""

    name: str
    of: OfWhat
    subjects: Annotated[int, Between(1)]
    example: Annotated[object, Scalar()]
    on: str


@frozen
class TimeSpan:
    at: Count
    until: Count


@frozen
class RehearsedFiring:
    """`since`: from when its condition held; `until`: known false again. `again`: the same failure, after the cooldown.
    `would`: at its level; `would_act`: only that level would have stopped it. `over_by_itself`: within `window_s`.
    `resolution_s`: how far apart its readings were. Null: nobody knows."""

    at: Count
    target: str
    since: Count
    until: Count | None
    lasted_s: Count | None
    again: bool
    over_by_itself: bool | None
    would: Would
    would_act: bool
    blocked_by: tuple[str, ...]
    readings: Readings
    resolution_s: float
    link: str


@frozen
class RehearsedTarget:
    """`firings` null: nothing was known. `held`, `unknown`: the longest 200 of each."""

    target: str
    subject: str
    firings: Count | None
    unknown_s: Count
    held: tuple[TimeSpan, ...]
    unknown: tuple[TimeSpan, ...]


@frozen
class StopCount:
    by: str
    firings: Annotated[int, Between(1)]


@frozen
class SavedMinutes:
    """Eight of ten such ranges hold the truth."""

    value: float
    low: float
    high: float


@frozen
class Rehearsed:
    """`raw_since`: from then on each reading is kept, before it means. Counts are null where nothing was known, or it
    has not fired for certain and readings without a history decided; `why` says what is missing. `failures`: firings
    without `again`. `left_out`: the oldest, counted and not listed. `learned_from`: rules with the same first action.
    `not_kept`: readings without a history."""

    since: Annotated[Count, SaidAs("from")]
    until: Annotated[Count, SaidAs("to")]
    raw_since: Count | None
    firings: tuple[RehearsedFiring, ...]
    total: Count | None
    failures: Count | None
    left_out: Count
    by_target: Annotated[tuple[RehearsedTarget, ...], Most(20_000)]
    over_by_itself: Count | None
    would_act: Count | None
    stopped_by: tuple[StopCount, ...]
    window_s: float
    expected_saved_minutes: SavedMinutes | None
    why: str
    learned_from: tuple[str, ...]
    unknown_s: Count
    not_kept: tuple[str, ...]


# -- chaos


@frozen
class ScenarioRecord:
    name: str
    description: str
    inject: str


@frozen
class Expectation:
    check: str
    expected: Annotated[object, Anything()]
    actual: Annotated[object, Anything()]
    passed: bool


@frozen
class ChaosResult:
    name: str
    dry_run: bool
    settings: Literal["live", "default"]
    status: Literal["passed", "failed"]
    started_at: int
    duration_s: float
    expectations: tuple[Expectation, ...]
    notes: tuple[str, ...]
