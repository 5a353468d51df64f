"""/api/healing/chaos."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.view import view_config

from opsapp.healing import schemas
from opsapp.healing.engine import chaos
from opsapp.healing.engine.chaos.faults import refuse_untagged
from opsapp.healing.resources import Chaos
from opsapp.lib.problems import NotFound
from opsapp.tree.acl import Permission
from opsapp.web.answers import Deferred
from opsapp.web.fields import Paging

from . import page


@view_config(
    context=Chaos,
    name="scenarios",
    request_method="GET",
    permission=Permission.view,
    query=Paging,
    returns=[schemas.ScenarioRecord],
    renderer="json",
)
def scenarios(context: Chaos, request: Request) -> Any:
    """The built-in scenarios."""
    return page(request, chaos.listed())


@view_config(
    context=Chaos,
    name="run",
    request_method="POST",
    permission=Permission.administer,
    body=schemas.ChaosRun,
    audit=False,
    returns=schemas.ChaosResult,
    renderer="json",
)
def run(context: Chaos, request: Request) -> Any:
    """A scenario: rehearsed, or done to hosts tagged `chaos`."""
    node, body = request.node, request.valid_body
    name, settings = body["scenario"], body["settings"]
    if name not in chaos.SCENARIOS:
        raise NotFound("There is no such scenario.")
    if body["dry_run"]:
        return Deferred(lambda: (200, {}, chaos.rehearse(node, name, settings)))
    refuse_untagged(request.root)
    request.audit("healing.chaos.run", name)
    return Deferred(lambda: (200, {}, chaos.provoke(node, name)))
