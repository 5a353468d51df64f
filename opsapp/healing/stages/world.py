"""The world as a stage reads it, built by the engine in one short transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple

from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.brake import Load
from opsapp.healing.logic.effectiveness import NOTHING, OutcomeTally
from opsapp.healing.logic.graph import Graph
from opsapp.healing.logic.stakes import BudgetLeft, RuleBudget
from opsapp.healing.logic.windows import ActiveWindow
from opsapp.healing.records import RuleRecord, RuleStep
from opsapp.wire.actions import ACTIONS, Action, Handler
from opsapp.wire.dataclass import dataclass

from .case import About, Metrics
from .trust import Trust


class Host(NamedTuple):
    """`usable` None: nobody knows its tools."""

    agent_id: str
    hostname: str
    label: str = ""
    online: bool = True
    usable: frozenset[str] | None = None
    ambiguous: bool = False  # another agent reports the same hostname
    native: bool = True  # an agent's own code is there too

    def handler(self, action: Action) -> Handler | None:
        """The first way that this host has."""
        usable = self.usable or frozenset()
        ways = action.handlers if self.native else [way for way in action.handlers if _is_plain(action, way)]
        return next((way for way in ways if usable.issuperset(way.tools)), None)


def _is_plain(action: Action, way: Handler) -> bool:
    """Arguments only: no agent's code, question or timer."""
    return not (action.armed_s or way.when or any(step[0].startswith(("@", "-")) for step in way.steps))


SERVER = "server"


class Reading(NamedTuple):
    """`measured_at`: of the oldest reading that it needed."""

    verdict: bool | None
    metrics: Metrics
    measured_at: float | None


@dataclass
class World:
    now: float
    rules: Mapping[str, RuleRecord]
    trust: Mapping[str, Trust]
    settings: HealingSettings = field(default_factory=HealingSettings)
    graph: Graph = field(default_factory=Graph)
    failing: Collection[str] = frozenset()
    holding: Mapping[str, frozenset[str]] = field(default_factory=dict)  # target -> the rules whose condition holds
    windows: Sequence[ActiveWindow] = ()
    hosts: Mapping[str, Host] = field(default_factory=dict)
    server: Host = field(default_factory=lambda: Host(SERVER, SERVER, usable=frozenset(), native=False))
    paused: bool = False
    pause_ends: str = ""  # by whom and until when, where the pause ends by itself
    # (budget, subject, what the target and its host are called): what each monitor has left; none: it plays no part
    budget: Callable[[RuleBudget, str | None, frozenset[str]], Sequence[BudgetLeft]] = lambda *_: ()
    actions: Mapping[str, Action] = field(default_factory=lambda: ACTIONS)
    history: Callable[[str, str, str], tuple[OutcomeTally, OutcomeTally]] = lambda *_: (NOTHING, NOTHING)
    load: Callable[[str, str], Load] = lambda *_: Load()
    reading: Callable[[About], Reading] = lambda *_: Reading(None, {}, None)
    well_since: Callable[[str], float | None] = lambda *_: None  # when a target that had failed was well again
    acted_at: Callable[[str], float | None] = lambda *_: None  # when a heal has done something about a target last
    doubtful: Callable[[str], bool] = lambda *_: False  # whether a check of it failed that is being repeated
    # (a target that others hang on, the time of their alert, the subject that raised it): whether what measures the
    # target has not done so since; and whether it has, and everything that it knows of the target is well.
    unmeasured: Callable[[str, float, str | None], bool] = lambda *_: False
    well: Callable[[str, float, str | None], bool] = lambda *_: False
    coin: Callable[[str], float | None] = lambda _: 1.0  # of a case: between 0 and 1; None where all could foresee it
    # (rule, target, when the case began): what the coin of the same outage has said, where it was tossed already
    arm_of_outage: Callable[[str, str, float], str | None] = lambda *_: None
    learned_wait: Callable[[str], float] = lambda _: 0.0  # how long acting for this rule is best put off
    heal_takes: Callable[..., float] = lambda *_: 0.0  # how long a rule's heals have usually taken, from the act on
    overdue: Collection[tuple[str, str]] = frozenset()  # (rule, target) of problems whose date has passed
    edited: Collection[str] = ()  # rules whose trust somebody has changed in the store: `trust` has them at `notify`
    known: Callable[[About], bool] = lambda *_: True  # whether what a case is about is there still

    def enabled(self, rule_id: str) -> RuleRecord | None:
        rule = self.rules.get(rule_id)
        return rule if rule is not None and rule.enabled else None

    def steps(self, rule_id: str) -> tuple[RuleStep, ...]:
        rule = self.rules.get(rule_id)
        return rule.steps if rule else ()

    def find_hosts(self, name: str) -> list[Host]:
        """Finds hosts by id, hostname or label; an id is never ambiguous."""
        if name in self.hosts:
            return [self.hosts[name]]
        by_hostname = [host for host in self.hosts.values() if host.hostname == name]
        return by_hostname or [host for host in self.hosts.values() if host.label == name]
