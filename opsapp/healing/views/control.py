"""Kill switch, health, what would be (dry run, replay, a draft over the past), the action table."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import answers, health_answers, schemas, whatif
from opsapp.healing.engine import dryrun, holds, rehearsals
from opsapp.healing.engine import replay as replaying
from opsapp.healing.engine.health import health_of
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.resources import Healing
from opsapp.web import api
from opsapp.web.answers import Deferred
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.wire.actions import ACTIONS
from opsapp.wire.records import made


@api.get(Healing, "health", returns=health_answers.Health)
def health(context: Healing, request: Request) -> Any:
    """Whether the pipeline works, and if not, why."""
    return health_of(request.root)


@api.act(Healing, "pause", role="admin", body=schemas.PauseSpan, returns=answers.Status)
def pause(context: Healing, request: Request) -> Any:
    """The kill switch: from now on nothing is healed. With `for` or `until` it ends by itself, and people are told."""
    if holds.pause(request.root, made(holds.HoldAsked, request.valid_body), request.caller.name):
        request.audit("healing.pause", "healing", after=request.valid_body)
    return {"status": "Paused"}


@api.act(Healing, "resume", role="admin", returns=answers.Status)
def resume(context: Healing, request: Request) -> Any:
    """Healing goes on."""
    if holds.resume(request.root, request.caller.name):
        request.audit("healing.resume", "healing")
    return {"status": "Active"}


@api.act(Healing, "dry-run", body=schemas.DryRun, returns=whatif.Simulated, audit=False)
def simulate(context: Healing, request: Request) -> Any:
    """What the pipeline would do with an event; nothing is changed or done."""
    asked = made(whatif.DryRunAsked, request.valid_body)
    answer = dryrun.dry_run(request.root, asked.event, asked.rule)
    request.tm.doom()
    return answer


@api.act(Healing, "evaluate", body=schemas.ConditionNow, returns=whatif.Compared, audit=False)
def evaluate(context: Healing, request: Request) -> Any:
    """What a condition says of every host and monitor now; nothing is changed or done."""
    asked = made(whatif.ComparisonAsked, request.valid_body)
    return dryrun.compare(request.root, asked.condition, asked.targets)


@api.get(Healing, "readings", query=Paging, returns=[whatif.ReadingRecord])
def readings(context: Healing, request: Request) -> Any:
    """The names that conditions can read now, and one value of each."""
    return page_of(request, dryrun.names(request.root))


@api.act(Healing, "replay", body=schemas.Replay, returns=whatif.Replayed, audit=False)
def replay(context: Healing, request: Request) -> Any:
    """What recorded events would have led to under another policy."""
    node, asked = request.node, made(whatif.ReplayAsked, request.valid_body)
    change = replaying.change_of(request.root, asked.rules, asked.dependencies)
    return Deferred(lambda: (200, {}, replaying.replay(node, asked.days, change)))


@api.act(Healing, "whatif", body=schemas.RuleOverPast, returns=whatif.Rehearsed, audit=False)
def rehearse(context: Healing, request: Request) -> Any:
    """What a draft rule would have done over stored readings; nothing is changed or done."""
    node, asked = request.node, made(whatif.PastAsked, request.valid_body)
    span = rehearsals.span_of(asked, node.clock.now())
    policy = rehearsals.policy_of(request.root, asked.rule, span)
    return Deferred(lambda: (200, {}, rehearsals.rehearse(node, policy, span)))


@api.get(Healing, "forecasts", query=schemas.ForecastQuery, returns=[ForecastRecord])
def forecasts(context: Healing, request: Request) -> Any:
    """When metrics are going to meet their thresholds."""
    agent_id = request.valid_query["agent_id"]
    rows = context.foresight.rows() if agent_id is None else context.foresight.of(agent_id)
    return page_of(request, [*rows])


@api.get(Healing, "actions", query=Paging, returns=[answers.ActionRecord])
def actions(context: Healing, request: Request) -> Any:
    """Every action with its risk, its parameters and its ways of being done."""
    return page_of(request, [made(answers.ActionRecord, action.describe()) for action in ACTIONS.values()])
