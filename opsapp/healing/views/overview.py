"""/api/overview: what is wrong, who has it, and what the machine does about it."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.healing import overview_answers as answers
from opsapp.healing.engine.overview import overview
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Api
from opsapp.web import api


class OverviewFacet(Facet):
    """/api/overview"""

    url = "/api/overview"


add_facet(Api, "overview", OverviewFacet)


@api.get(OverviewFacet, returns=answers.Overview)
def show(context: OverviewFacet, request: Request) -> JsonObject:
    """What is wrong now with its root causes, the cases of healing that are open, and how many monitors stand how."""
    return request.shown(overview(request.root, request.node.clock.now()))
