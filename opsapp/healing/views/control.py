"""Kill switch, health, dry run, the action table."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.view import view_config

from opsapp.healing import schemas
from opsapp.healing.engine import replay as replaying
from opsapp.healing.engine.dryrun import dry_run
from opsapp.healing.engine.health import health_of
from opsapp.healing.resources import Healing
from opsapp.tree.acl import Permission
from opsapp.web.answers import Deferred
from opsapp.web.fields import Paging
from opsapp.wire.actions import ACTIONS

from . import page


@view_config(
    context=Healing,
    name="health",
    request_method="GET",
    permission=Permission.view,
    returns=schemas.Health,
    renderer="json",
)
def health(context: Healing, request: Request) -> Any:
    """Whether the pipeline works, and if not, why."""
    return health_of(request.root)


@view_config(
    context=Healing,
    name="pause",
    request_method="POST",
    permission=Permission.administer,
    returns=schemas.Status,
    renderer="json",
)
def pause(context: Healing, request: Request) -> Any:
    """The kill switch: from now on nothing is healed."""
    return _switch(context, request, True)


@view_config(
    context=Healing,
    name="resume",
    request_method="POST",
    permission=Permission.administer,
    returns=schemas.Status,
    renderer="json",
)
def resume(context: Healing, request: Request) -> Any:
    """Healing goes on."""
    return _switch(context, request, False)


def _switch(context: Healing, request: Request, paused: bool) -> dict[str, Any]:
    if context.paused != paused:
        context.switch = {"paused": paused, "by": request.caller.name, "at": request.node.clock.now()}
        request.audit("healing.pause" if paused else "healing.resume", "healing")
    return {"status": "Paused" if paused else "Active"}


@view_config(
    context=Healing,
    name="dry-run",
    request_method="POST",
    permission=Permission.operate,
    body=schemas.DryRun,
    audit=False,
    returns=schemas.Simulated,
    renderer="json",
)
def simulate(context: Healing, request: Request) -> Any:
    """What the pipeline would do with an event; nothing is changed or done."""
    answer = dry_run(request.root, request.valid_body["event"])
    request.tm.doom()
    return answer


@view_config(
    context=Healing,
    name="replay",
    request_method="POST",
    permission=Permission.operate,
    body=schemas.Replay,
    audit=False,
    returns=schemas.Replayed,
    renderer="json",
)
def replay(context: Healing, request: Request) -> Any:
    """What recorded events would have led to under another policy."""
    node, body = request.node, request.valid_body
    change = replaying.change_of(request.root, body["rules"], body["dependencies"])
    return Deferred(lambda: (200, {}, replaying.replay(node, body["days"], change)))


@view_config(
    context=Healing,
    name="forecasts",
    request_method="GET",
    permission=Permission.view,
    query=Paging,
    returns=[schemas.ForecastRecord],
    renderer="json",
)
def forecasts(context: Healing, request: Request) -> Any:
    """When metrics are going to meet their thresholds."""
    return page(request, [dict(row) for row in context.forecasts])


@view_config(
    context=Healing,
    name="actions",
    request_method="GET",
    permission=Permission.view,
    query=Paging,
    returns=[schemas.ActionRecord],
    renderer="json",
)
def actions(context: Healing, request: Request) -> Any:
    """Every action with its risk, its parameters and its ways of being done."""
    return page(request, [action.describe() for action in ACTIONS.values()])
