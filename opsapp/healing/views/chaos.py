"""/api/healing/chaos."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import schemas, whatif
from opsapp.healing.engine import chaos
from opsapp.healing.engine.chaos.faults import refuse_untagged
from opsapp.healing.resources import Chaos
from opsapp.lib.problems import NotFound
from opsapp.web import api
from opsapp.web.answers import later
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.wire.records import plain


@api.get(Chaos, "scenarios", query=Paging, returns=[whatif.ScenarioRecord])
def scenarios(context: Chaos, request: Request) -> Any:
    """The built-in scenarios."""
    return page_of(request, chaos.listed())


@api.act(Chaos, "run", role="admin", body=schemas.ChaosRun, returns=whatif.ChaosResult, errors=(404,), audit=False)
def run(context: Chaos, request: Request) -> Any:
    """A scenario: rehearsed, or done to hosts tagged `chaos`."""
    node, body = request.node, request.valid_body
    name, settings = body["scenario"], body["settings"]
    if name not in chaos.SCENARIOS:
        raise NotFound("There is no such scenario.")
    if body["dry_run"]:
        return later(lambda: plain(chaos.rehearse(node, name, settings)))
    refuse_untagged(request.root)
    request.audit("healing.chaos.run", name)
    return later(lambda: plain(chaos.provoke(node, name)))
