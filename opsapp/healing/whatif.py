"""Questions about what would be, and their answers: the dry run, a condition compared with live readings, the replay,
a draft rule over the past. Declared once (`wire.records`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import Anything, Choice, DeclaredField, JsonKind, MapOf, Number, Scalar, Text
from opsapp.wire.records import Between, Most, SaidAs

from .logic.graph import Dependency
from .logic.levels import LEVELS, SEVERITIES
from .records import Count, DeclaredRule, NewRule, RuleTargets
from .stages.case import Metrics
from .stages.execution import RollbackPlan
from .stages.planning import PreflightCheck, SkippedStep

SOURCES = ("alert", "prediction", "anomaly", "agent", "chaos", "test")
OfWhat = Literal["host", "monitor"]


class ComparedValue(JsonKind):
    """What a condition can compare: a number, or a text such as a state."""

    openapi = {"oneOf": [{"type": "number"}, {"type": "string", "maxLength": 1000}]}

    def problem(self, value):
        return (Text(0, 1000) if isinstance(value, str) else Number()).problem(value)


Level = Annotated[str, Choice(*LEVELS)]
WOULD = ("execute", "request_approval", "notify", "simulate", "observe", "suppress", "absorb", "nothing")
Would = Annotated[str, Choice(*WOULD)]
Readings = Annotated[Mapping[str, object], MapOf(DeclaredField("", Scalar()))]
Told = Annotated[Mapping[str, object], MapOf(DeclaredField("", Anything()))]


# -- what is asked


@dataclass(frozen=True)
class EventAsked:
    source: str
    rule_id: str
    condition: str | None
    target: str
    severity: str | None
    metrics: Annotated[Metrics, MapOf(DeclaredField("", ComparedValue()))]


@dataclass(frozen=True)
class DryRunAsked:
    event: EventAsked
    rule: DeclaredRule | None


@dataclass(frozen=True)
class ComparisonAsked:
    condition: str
    targets: RuleTargets | None


@dataclass(frozen=True)
class ReplayAsked:
    days: float
    rules: tuple[DeclaredRule, ...] | None
    dependencies: tuple[Dependency, ...] | None


@dataclass(frozen=True)
class PastAsked:
    rule: NewRule
    days: float
    since: Annotated[float | None, SaidAs("from")]
    until: Annotated[float | None, SaidAs("to")]


# -- what is answered


@dataclass(frozen=True)
class SimulatedEvent:
    source: Annotated[str, Choice(*SOURCES)]
    rule_id: str
    condition: str
    target: str
    severity: Annotated[str, Choice(*SEVERITIES)]
    metrics: Annotated[Mapping[str, object], MapOf(DeclaredField("", ComparedValue()))]


@dataclass(frozen=True)
class SimulatedCorrelation:
    kind: str
    case_id: str | None
    reason: str


@dataclass(frozen=True)
class SimulatedDependency:
    root_cause: str
    suppressed: bool
    depends_on: tuple[str, ...]
    site: str | None


@dataclass(frozen=True)
class SimulatedWindow:
    effect: str | None
    cap: str | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class SimulatedTrust:
    level: Level
    effective_level: Level
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class SelectedAction:
    action_type: str
    action_params: Told
    step: int
    risk: str
    skipped: tuple[SkippedStep, ...]


@dataclass(frozen=True)
class Preflight:
    passed: bool
    checks: tuple[PreflightCheck, ...]


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class ReplayedEvent:
    source: str
    rule_id: str
    condition: str
    target: str
    metrics: Readings
    created_at: int


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class ReplayedRule:
    """Of a changed rule: how many events were recorded, and how many of them would have come under the change."""

    rule_id: str
    recorded: Count
    would: Count


@dataclass(frozen=True)
class Replayed:
    events: int
    same: int
    rules: tuple[ReplayedRule, ...]
    differences: Annotated[tuple[ReplayDifference, ...], Most(100_000)]


@dataclass(frozen=True)
class ComparedTarget:
    """A condition compared with what one target reports now. `held_s`: for how long it has been seen to hold."""

    target: str
    name: str
    subject: str
    verdict: bool | None
    readings: Readings
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    matching: Count
    holds: Count
    false: Count
    unknown: Count
    targets: tuple[ComparedTarget, ...]


@dataclass(frozen=True)
class ReadingRecord:
    """The name of a reading as conditions say it, of how many hosts or monitors, and one value of it."""

    name: str
    of: OfWhat
    subjects: Annotated[int, Between(1)]
    example: Annotated[object, Scalar()]
    on: str


@dataclass(frozen=True)
class TimeSpan:
    at: Count
    until: Count


@dataclass(frozen=True)
class RehearsedFiring:
    """One time at which the draft would have fired. `since`: from when on its condition held; `until`: when it was
    known false again, null where nobody knows. `again`: the same failure, after the cooldown. `would`: what would have
    been done at the level that it has. `would_act`: nothing but that level would have stopped it, at the beginning of a
    failure. `over_by_itself`: within `window_s`, with nothing done about it; null where nobody knows. `resolution_s`:
    how far apart its readings were."""

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


@dataclass(frozen=True)
class RehearsedTarget:
    """`firings` is null where nothing was known of it. `held` and `unknown`: when the condition was true, or nobody
    knows whether it was; the longest 200 of each."""

    target: str
    subject: str
    firings: Count | None
    unknown_s: Count
    held: tuple[TimeSpan, ...]
    unknown: tuple[TimeSpan, ...]


@dataclass(frozen=True)
class StopCount:
    by: str
    firings: Annotated[int, Between(1)]


@dataclass(frozen=True)
class SavedMinutes:
    """Of ten such ranges eight hold the truth."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Rehearsed:
    """What a draft would have done over stored readings. `raw_since`: from then on each reading is kept, before it
    means of some minutes; null where none is. Counts are null where nothing was known, `expected_saved_minutes` where
    nobody knows what the action does; `why` says what is missing. `failures`: firings without those that are `again`.
    `left_out`: firings that are counted and not listed, the oldest. `learned_from`: rules with the same first action.
    `not_kept`: readings that the condition names and that have no history."""

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


@dataclass(frozen=True)
class ScenarioRecord:
    name: str
    description: str
    inject: str


@dataclass(frozen=True)
class Expectation:
    """Something that a scenario expects, and what was seen."""

    check: str
    expected: Annotated[object, Anything()]
    actual: Annotated[object, Anything()]
    passed: bool


@dataclass(frozen=True)
class ChaosResult:
    name: str
    dry_run: bool
    settings: Literal["live", "default"]
    status: Literal["passed", "failed"]
    started_at: int
    duration_s: float
    expectations: tuple[Expectation, ...]
    notes: tuple[str, ...]
