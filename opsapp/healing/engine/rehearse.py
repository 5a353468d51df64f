"""What would be: the live stages over a world and events that somebody thinks of. There is no second simulator: dry
run, replay and a draft rule over the past are views of it. Must not: write, or reach a host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from opsapp.healing.logic.graph import Graph
from opsapp.healing.logic.levels import lowest
from opsapp.healing.logic.rules import names_of, part_of
from opsapp.healing.records import RuleRecord, RuleSettings
from opsapp.healing.resources.rules import definition_of
from opsapp.healing.stages import correlation, planning
from opsapp.healing.stages.case import About, CaseRecord, PlanningCase, RuleEvent, opened
from opsapp.healing.stages.correlation import Correlated
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.trust import Trust, redefine
from opsapp.healing.stages.world import World
from opsapp.tree.root import Root
from opsapp.wire.conditions import parse
from opsapp.wire.dataclass import dataclass

from .inventory import Member

WOULD = {"suppressed": "suppress", "observed": "observe", "absorbed": "absorb"}
NOBODYS = "0"  # the id of a case that nobody keeps


class PolicyChange(NamedTuple):
    """A change beside what holds now: rules by id with their trust, and the whole graph."""

    rules: Mapping[str, RuleRecord] = {}
    graph: Graph | None = None
    trust: Mapping[str, Trust] = {}

    def over(self, world: World) -> World:
        rules, trust = {**world.rules, **self.rules}, {**world.trust, **self.trust}
        return replace(world, rules=rules, trust=trust, graph=world.graph if self.graph is None else self.graph)


class Scene(NamedTuple):
    """The world as an event arrives, and when its case was held; `cases` are those of its target."""

    arrives: World
    held: World
    cases: Sequence[CaseRecord] = ()


@dataclass(frozen=True)
class RehearsedEvent:
    """The stages are asked when their answer is needed. Its case may have been held before."""

    event: RuleEvent
    case: CaseRecord
    scene: Scene

    @cached_property
    def received(self) -> Correlated:
        return correlation.receive(self.event, self.scene.arrives, self.scene.cases)

    @cached_property
    def correlated(self) -> Correlated:
        return correlation.correlate(self.case, self.scene.held)

    @cached_property
    def plan(self) -> Plan:
        return planning.plan(self.case.becomes(PlanningCase), self.scene.held)

    @property
    def stop(self) -> Correlated | None:
        """What ends it before it is planned."""
        if self.received.kind != "open":
            return self.received
        return None if self.correlated.kind == "plan" else self.correlated

    @property
    def would(self) -> str:
        return self.after_hold if self.received.kind == "open" else self.on_arrival

    @property
    def on_arrival(self) -> str:
        return "absorb" if self.received.kind == "absorb" else WOULD.get(str(self.received.outcome), "nothing")

    @property
    def after_hold(self) -> str:
        correlated = self.correlated
        return self.plan.would if correlated.kind == "plan" else WOULD.get(str(correlated.outcome), "nothing")


def rehearse(event: RuleEvent, scene: Scene) -> RehearsedEvent:
    return RehearsedEvent(event, replace(opened(event), id=NOBODYS), scene)


def drafted(root: Root, rule_id: str, draft: RuleSettings, world: World) -> PolicyChange:
    """Return the change that the draft makes, with the trust that the rule would have once it is saved."""
    ceiling, definition = draft.trust_ceiling, definition_of(root, draft)
    trust = world.trust.get(rule_id)
    if trust is None:
        trust = Trust(rule_id, lowest(draft.initial_level, ceiling), ceiling, definition, world.now)
    else:
        trust = redefine(trust, definition, ceiling, world.now)
    return PolicyChange({rule_id: RuleRecord(**{**vars(draft), "id": rule_id})}, None, {rule_id: trust})


def event_about(said: About, rule_id: str, inventory: Iterable[Member], at: float) -> RuleEvent:
    host, name = names_of(said.target)[-1], part_of(said.target)
    member = next((member for member in inventory if host in (member.name, *member.names)), None)
    about = said._replace(condition=str(parse(said.condition).bind(name)) if name else said.condition)
    if member is not None:
        about = about._replace(agent_id=member.agent_id, subject=member.subject, names=member.names)
    return RuleEvent(rule_id, about, at)
