"""Kill switch, health, what would be (dry run, replay, a draft over the past), the action table, what hosts can do, and
what healing is worth."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.agents.engine import seen_agents
from opsapp.healing import answers, health_answers, lift_answers, records, schemas, whatif
from opsapp.healing.engine import holds, rehearsals
from opsapp.healing.engine import lift as worth
from opsapp.healing.engine import rehearse as dryrun
from opsapp.healing.engine import replay as replaying
from opsapp.healing.engine.fleet import capabilities_of, refresh_capabilities
from opsapp.healing.engine.health import health_of
from opsapp.healing.engine.reach import counts_theirs
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.resources import CapabilitiesOf, Healing
from opsapp.web import api
from opsapp.web.answers import later
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.web.sight import hidden
from opsapp.wire.actions import ACTIONS
from opsapp.wire.records import made


@api.get(Healing, "health", returns=health_answers.Health)
def health(context: Healing, request: Request) -> Any:
    """Whether the pipeline works, and if not, why."""
    return health_of(request.root)


@api.act(Healing, "pause", role="admin", body=health_answers.PauseSpan, returns=answers.Status)
def pause(context: Healing, request: Request) -> Any:
    """The kill switch: from now on nothing is healed. With `for` or `until` it ends by itself, and people are told."""
    if holds.pause(request.root, made(health_answers.PauseSpan, request.valid_body), request.caller.name):
        request.audit("healing.pause", "healing", after=request.valid_body)
    return {"status": "Paused"}


@api.act(Healing, "resume", role="admin", returns=answers.Status)
def resume(context: Healing, request: Request) -> Any:
    """Healing goes on."""
    if holds.resume(request.root, request.caller.name):
        request.audit("healing.resume", "healing")
    return {"status": "Active"}


@api.act(Healing, "dry-run", body=whatif.DryRunAsked, returns=whatif.Simulated, audit=False)
def simulate(context: Healing, request: Request) -> Any:
    """What the pipeline would do with an event; nothing is changed or done."""
    asked = made(whatif.DryRunAsked, request.valid_body)
    answer = dryrun.dry_run(request.root, asked.event, asked.rule)
    request.tm.doom()
    return answer


@api.act(Healing, "evaluate", body=whatif.ComparisonAsked, returns=whatif.Compared, audit=False)
def evaluate(context: Healing, request: Request) -> Any:
    """What a condition says of every host and monitor now; nothing is changed or done."""
    asked = made(whatif.ComparisonAsked, request.valid_body)
    return dryrun.compare(request.root, asked.condition, asked.targets)


@api.get(Healing, "readings", query=Paging, returns=[whatif.ReadingRecord])
def readings(context: Healing, request: Request) -> Any:
    """The names that conditions can read now, and one value of each."""
    return page_of(request, dryrun.names(request.root))


@api.act(Healing, "replay", body=whatif.ReplayAsked, returns=whatif.Replayed, audit=False)
def replay(context: Healing, request: Request) -> Any:
    """What recorded events would have led to under another policy."""
    node, asked = request.node, made(whatif.ReplayAsked, request.valid_body)
    change = replaying.change_of(request.root, asked.rules, asked.dependencies)
    return later(lambda: replaying.replay(node, asked.days, change))


@api.act(Healing, "whatif", body=whatif.PastAsked, returns=whatif.Rehearsed, audit=False)
def rehearse(context: Healing, request: Request) -> Any:
    """What a draft rule would have done over stored readings; nothing is changed or done."""
    node, asked = request.node, made(whatif.PastAsked, request.valid_body)
    span = rehearsals.span_of(asked, node.clock.now())
    policy = rehearsals.policy_of(request.root, asked.rule, span)
    return later(lambda: rehearsals.rehearse(node, policy, span))


@api.get(Healing, "forecasts", query=schemas.ForecastQuery, returns=[ForecastRecord], teams="filtered")
def forecasts(context: Healing, request: Request) -> Any:
    """When metrics are going to meet their thresholds; for who is in a team those of hosts that it sees."""
    agent_id, sight = request.valid_query["agent_id"], request.sight
    seen = None if sight is None else seen_agents(request.root, sight)
    return page_of(request, context.foresight.about(agent_id, seen))


@api.get(Healing, "actions", query=Paging, returns=[answers.ActionRecord], teams="own")
def actions(context: Healing, request: Request) -> Any:
    """Every action with its risk, its parameters and its ways of being done."""
    return page_of(request, [made(answers.ActionRecord, action.describe()) for action in ACTIONS.values()])


@api.get(Healing, "lift", query=schemas.OfRule, returns=lift_answers.LiftAnswer, errors=(404,), teams="filtered")
def lift(context: Healing, request: Request) -> Any:
    """How many more cases of a rule recover with the heal than by themselves. For who is in a team: of a rule that
    names only hosts and monitors that it sees."""
    return worth.lift(request.root, _rule_asked(request))


@api.get(Healing, "wait", query=schemas.OfRule, returns=lift_answers.WaitAnswer, errors=(404,), teams="filtered")
def wait(context: Healing, request: Request) -> Any:
    """How long to wait before acting costs the least expected downtime, and what it saves. For who is in a team as
    lift, by the rule's own cases alone."""
    return worth.wait(request.root, _rule_asked(request), request.now, borrows=request.sight is None)


def _rule_asked(request: Request) -> str:
    rule_id: str = request.valid_query["rule_id"]
    if not counts_theirs(request.root, request.sight)(rule_id):
        raise hidden()
    return rule_id


@api.get(CapabilitiesOf, returns=records.CapabilityRecord, errors=(409,))
def capabilities(context: CapabilitiesOf, request: Request) -> Any:
    """The tools that a host has, and which of them work."""
    return capabilities_of(request.root, context.__name__)


@api.act(CapabilitiesOf, "refresh", returns=records.Queued)
def refresh(context: CapabilitiesOf, request: Request) -> Any:
    """Has the agent try its tools again."""
    return refresh_capabilities(request.root, context.__name__, request.caller.name)
