"""Rules, dependencies and problems, each declared once. Must not: know what is stored (`resources`), decide anything
(`stages`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar, Literal, NamedTuple

from opsapp.lib.durations import DurationKind, seconds
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.visible import name_kind
from opsapp.wire.actions import ACTIONS
from opsapp.wire.conditions import MAX_LENGTH, ConditionError, parse
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Anything, AnyValues, CheckedBy, Choice, DeclaredField, MapOf, Scalar, Text
from opsapp.wire.records import AT_TIMES, Between, IfSaid, Most, SaidAs, Sealed, Since, Told, plain

from .logic.graph import MOST_TARGETS, Dependency, GraphNode
from .logic.levels import LEVELS, SEVERITIES, Level
from .logic.problems import STATES as PROBLEM_STATES
from .logic.soundness import incomplete, wrong_params
from .logic.stakes import RuleBudget
from .logic.waves import WAVES, WaveSizes

LONGEST_S = 30 * 86400
RUNS = {action.name: action.runs for action in ACTIONS.values() if action.runs}  # whose parameter names an automation
PARAMS = MapOf(DeclaredField("", Anything()), 50)
Count = Annotated[int, Between(0)]
Readings = Annotated[Mapping[str, object], MapOf(DeclaredField("", Scalar()))]
ActionName = Annotated[str, Choice(*sorted(ACTIONS))]
RuleId = Annotated[str, Text(1, 64, "[a-z0-9_-]{1,64}", "nginx-down")]


def condition_problem(text: str) -> str | None:
    try:
        parse(text)
    except ConditionError as problem:
        return str(problem)
    return None


ConditionText = Annotated[str, Text(1, MAX_LENGTH), CheckedBy(condition_problem)]


class RuleStep(NamedTuple):
    """One rung of the escalation chain."""

    position: int
    action: str
    params: JsonObject


@frozen
class RuleAction:
    """`target`: the host that it is done on, where that is not the event's."""

    type: ActionName
    target: Annotated[str | None, Text(1, 255)] = None
    params: Annotated[JsonObject | None, PARAMS, IfSaid()] = None

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        return wrong_params(sound["type"], sound.get("params") or {}) if "type" in sound else {}


@frozen
class ChainStep:
    action: ActionName
    params: Annotated[JsonObject, PARAMS] = field(default_factory=dict)

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        return wrong_params(sound["action"], sound.get("params") or {}) if "action" in sound else {}


Names = Annotated[tuple[Annotated[str, Text(1, 255)], ...], Most(1000, unique=True)]


@frozen
class RuleTargets:
    """Names or `tag:NAME`."""

    agents: Names = ()
    monitors: Names = ()


@frozen
class RuleHoldout:
    share: Annotated[float, Between(0, 0.5)]


@frozen
class RuleSettings:
    """What people say of a rule."""

    sample: ClassVar[JsonObject] = {"condition": "cpu_percent > 90"}

    condition: ConditionText
    severity: Annotated[str, Choice(*SEVERITIES)] = "warning"
    action: RuleAction | None = None
    escalation_chain: Annotated[tuple[ChainStep, ...], Most(20)] = ()
    targets: RuleTargets | None = None
    hold: Annotated[float | str, DurationKind(LONGEST_S), SaidAs("for")] = 0
    settle_s: Annotated[float | None, Between(0, 3600)] = None
    verify_timeout_s: Annotated[float | None, Between(1, 3600)] = None
    cooldown_s: Annotated[float, Between(0, LONGEST_S)] = 300
    wait: Literal["learned"] | None = None
    holdout: RuleHoldout | None = None
    waves: Annotated[WaveSizes | str | None, WAVES] = None
    budget: RuleBudget | None = None
    trust_ceiling: Level = "execute"
    initial_level: Annotated[str, Choice(*LEVELS[:3])] = "observation"
    enabled: bool = True
    description: Annotated[str, Text(0, 1000)] = ""

    @property
    def hold_s(self) -> float:
        return seconds(self.hold)

    @property
    def acts_on(self) -> str | None:
        """The host that is named for it."""
        return self.action.target if self.action else None

    @property
    def steps(self) -> tuple[RuleStep, ...]:
        """A rule without a chain has its single action."""
        if self.escalation_chain:
            return tuple(RuleStep(at, step.action, dict(step.params)) for at, step in enumerate(self.escalation_chain))
        return (RuleStep(0, self.action.type, dict(self.action.params or {})),) if self.action else ()

    @property
    def automations(self) -> list[str]:
        """Ids of those that it runs."""
        done = [(RUNS.get(step.action), step.params) for step in self.steps]
        return sorted({params[name] for name, params in done if name in params})

    def definition(self, automations: Mapping[str, str] | None = None) -> str:
        """A hash of what it does: evidence under another definition says nothing. `automations`: id -> digest."""
        told = self.stored()
        parts = [told[name] for name in ("condition", "action", "escalation_chain", "targets")]
        if automations:
            parts.append(dict(automations))
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def stored(self) -> JsonObject:
        """The rule's settings as the store keeps them."""
        return plain(self, RuleSettings)


@frozen
class NewRule(RuleSettings):
    """It may have no id yet."""

    component: ClassVar[str] = "Rule"
    sample = {**RuleSettings.sample, "action": {"type": "restart_service", "params": {"service": "nginx"}}}
    across = staticmethod(incomplete)

    id: RuleId | None = None


@frozen(kw_only=True)
class DeclaredRule(RuleSettings):
    """Where its id is how it is known: YAML, document, replay."""

    sample = NewRule.sample
    across = staticmethod(incomplete)

    id: RuleId


@frozen
class RuleRecord(RuleSettings):
    sample = {**RuleSettings.sample, "waves": {"first": 1, "growth": [0.1, 0.5, 1]}}

    id: Told[str] = ""
    source: Told[Literal["default", "yaml", "api"]] = "api"
    created_at: Told[Since] = 0
    updated_at: Told[Since] = 0
    unreadable: Annotated[str, AT_TIMES] = ""


@frozen
class RuleDone(RuleRecord):
    status: Told[Literal["created", "updated"]] = "created"


# -- dependencies


@frozen
class DependencyList:
    dependencies: Annotated[tuple[Dependency, ...], Most(MOST_TARGETS)]


@frozen
class OneDependency:
    component: ClassVar[str] = "DependencyEdge"

    target: Annotated[str, Text(1, 1000)]
    depends_on: Annotated[str, Text(1, 1000)]


@frozen(kw_only=True)
class DependencyNode(GraphNode):
    """`suppressed_by`: what else has failed, as whose failure this counts."""

    status: Annotated[Told[str], Choice("failed", "ok", "unknown")]
    suppressed_by: Told[str | None]
    why: Told[str | None]


@frozen
class DependencyEdge:
    child: Annotated[Told[str], SaidAs("from")]
    parent: Annotated[Told[str], SaidAs("to")]


@frozen
class DependencyEvidence(DependencyEdge):
    """What heals of the parent have shown."""

    confidence: Annotated[Told[float | None], Between(0, 1)] = None
    came_back: Annotated[Told[int], Between(0)] = 0
    stayed: Annotated[Told[int], Between(0)] = 0
    learned: Told[bool] = False


@frozen(kw_only=True)
class DependencyGraph:
    """`dependencies`: declared by the API, as PUT takes them."""

    dependencies: Told[tuple[Dependency, ...]]
    nodes: Told[tuple[DependencyNode, ...]]
    edges: Told[tuple[DependencyEdge, ...]]
    evidence: Told[tuple[DependencyEvidence, ...]]
    root_causes: Told[tuple[str, ...]]


@frozen(kw_only=True)
class DependenciesUpdated(DependencyGraph):
    status: Told[Literal["updated"]] = "updated"


# -- problems, hosts, rollbacks


@frozen(kw_only=True)
class ProblemRecord:
    """`heals` within `window_s` up to now, or to its close. `due_day`: by the service's clock. `last_at`: the last
    find; `quiet_until`: when it closes by itself."""

    id: str
    rule_id: str
    target: str
    heals: Count = 0
    window_s: float = 0
    opened_at: int = 0
    due: int | None = None
    due_day: str | None = None
    overdue: bool = False
    owner: str | None = None
    state: Annotated[str, Choice(*PROBLEM_STATES)] = "open"
    note: str = ""
    last_at: int | None = None
    quiet_until: int | None = None
    closed_at: int | None = None
    unreadable: Annotated[str, AT_TIMES] = ""


@frozen
class RolledBack:
    ledger_id: int
    rolls_back: int
    outcome: str
    rollback_status: str
    reason: str


@frozen
class CapabilityRecord:
    hostname: str
    manifest: AnyValues
    probed_at: int | None
    degraded_capabilities: tuple[str, ...]


@frozen
class Queued:
    command_id: str
    status: Literal["queued"] = "queued"


@frozen
class InletLabels:
    """Which label names the host, and which the monitor."""

    sample: ClassVar[dict[str, str]] = {"host": "instance", "monitor": "monitor"}
    host: Annotated[str, Text(1, 200)] = "instance"
    monitor: Annotated[str, Text(1, 200)] = "monitor"


@frozen
class InletAsCode:
    """`token`: of its address; left out, the service makes it."""

    name: Annotated[str, name_kind(100)]
    mapping: InletLabels = field(default_factory=InletLabels)
    token: Annotated[str | None, Text(32, 128, r"[A-Za-z0-9_-]*", "32 letters and digits or more"), Sealed()] = None
