"""Answers about the ledger, cases, trust and suggestions, declared once (`wire.records`). Must not: know the store,
decide anything."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from opsapp.wire.dataclass import frozen
from opsapp.wire.harms import Harm
from opsapp.wire.kinds import AnyValues, Choice
from opsapp.wire.records import AT_TIMES, Between, Most

from .logic.chain import LedgerVerdict
from .logic.gates import STAGES, CaseGate
from .logic.graph import GraphMistake
from .logic.levels import Level
from .logic.stakes import Lowered
from .records import Count, Readings
from .stages.attempt import CaseCause, CauseNamed
from .stages.ledger import Effectiveness

Bit = Annotated[int, Between(0, 1)]


@frozen
class Status:
    status: str


@frozen
class Success:
    success: bool


# -- the ledger


@frozen
class LastCheck:
    checked_at: int | None
    verdict: LedgerVerdict | None


@frozen
class LedgerEntryShown:
    """`rollback_status` comes from the later entry that rolled it back; `has_case`: its case is still kept. `subject`:
    the host or monitor that it is about, `agent:ID` or `monitor:ID`, where that is known."""

    id: int
    case_id: str | None
    has_case: bool
    correlation_key: str
    rule_id: str
    condition: str
    target: str
    action_type: str
    action_params: str
    escalation_step: int
    action_success: Bit
    verified: Bit
    duration_s: float
    trust_level: str
    source: str
    created_at: int
    state: str
    outcome: str | None
    events: int
    reason: str
    risk: str | None
    approval_id: str | None
    snapshot_id: str | None
    rollback_status: str | None
    rolls_back: int | None
    metrics_before: Readings | None
    metrics_after: Readings | None
    worse: tuple[Harm, ...]
    cause: CauseNamed | None
    lowered: Lowered | None
    finished_at: int | None
    subject: str | None
    prev_hash: str | None
    hash: str | None


# -- cases


@frozen
class WaveCounts:
    """`harm`: not healed, or worse; `left`: nothing was done. The others are at work."""

    number: Annotated[int, Between(1)]
    hosts: Count
    well: Count
    harm: Count
    unknown: Count
    left: Count


@frozen
class CaseWave:
    """`number` 0: it waits. Of the present wave: `wave` of `waves`, its `hosts`, and those `waiting` for its verdict.
    `stopped`: why it goes no further. `compared_at`: when both sides are measured; null where it is no trial. `counts`:
    oldest first."""

    number: Count
    wave: Count
    waves: Count
    hosts: Count
    waiting: Count
    targets: Count
    stopped: str
    compared_at: int | None
    counts: tuple[WaveCounts, ...]


@frozen
class CaseAct:
    """A snapshot is the host's: only its kind is said."""

    host: str
    action: str
    params: AnyValues
    began_at: int
    acted_at: int | None
    armed: bool
    snapshot: str | None
    command_id: str | None


@frozen
class CaseShown:
    """`left_until`: nothing is done before; `arm`: what its coin says."""

    id: str
    target: str
    rule_id: str
    state: str
    outcome: str | None
    step: int
    events: dict[str, int]
    opened_at: int
    closed_at: int | None
    recovered_at: int | None
    why: tuple[str, ...]
    condition: str
    severity: str
    source: str
    agent_id: str | None
    subject: str | None
    monitor_id: str | None
    level: str
    lowered: Lowered | None
    stage: Annotated[str, Choice(*STAGES)]
    due: int | None
    left_until: int | None
    arm: Literal["treated", "control"] | None
    wave: CaseWave | None
    deadline: int | None
    gates: tuple[CaseGate, ...]
    act: CaseAct | None
    cause: CaseCause | None
    entries: tuple[LedgerEntryShown, ...]
    records: tuple[Effectiveness, ...]


# -- trust, suggestions


@frozen
class TrustEvidence:
    """`bad`, `needless`: the wealth of bets that it helps too seldom, or that more recover by themselves. At `alarm` it
    is believed."""

    triggers_7d: Count
    executions: Count
    verified: Count
    failed: Count
    sequential_bound: float
    bad: float
    needless: float
    alarm: float
    lift_low: float


@frozen
class TrustShown:
    rule_id: str
    current_level: Level
    ceiling: Level
    promoted_at: int | None
    demoted_at: int | None
    promotion_count: int
    demotion_count: int
    last_evaluated: int
    evidence: TrustEvidence
    needs: tuple[str, ...]


@frozen
class NewLevel:
    success: bool
    rule_id: str
    new_level: Level


@frozen
class SuggestionAbout:
    """A dependency, or the metric of a host that runs short."""

    leaves_out_null: ClassVar[bool] = True

    target: str | None = None
    depends_on: str | None = None
    support: float | None = None
    confidence: float | None = None
    lift: float | None = None
    parent_first: float | None = None
    sure: float | None = None
    agent_id: str | None = None
    metric: str | None = None


@frozen
class SuggestionRecord:
    id: int
    category: str
    severity: str
    message: str
    rule_id: str
    dismissed: Bit
    created_at: int
    about: Annotated[SuggestionAbout | None, AT_TIMES] = None


@frozen
class Validation:
    valid: bool
    errors: Annotated[tuple[GraphMistake, ...], Most(10_000)]


# -- what can be done


@frozen
class ActionHandler:
    tools: tuple[str, ...]
    steps: tuple[tuple[str, ...], ...]
    when: str | None


@frozen
class ActionRecord:
    name: str
    risk: Literal["low", "medium", "high"]
    where: Literal["host", "server"]
    reversible: bool
    implemented: bool
    timeout: int
    settle_s: float
    armed_s: float | None
    params: dict[str, AnyValues]
    target_param: str | None
    either: tuple[str, ...]
    snapshot: str | None
    handlers: tuple[ActionHandler, ...]
