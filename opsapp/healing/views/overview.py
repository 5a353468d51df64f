"""/api/overview: what is wrong, who has it, and what the machine does about it."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.healing.engine.overview import overview
from opsapp.healing.overview_answers import Overview
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Api
from opsapp.web import api


class OverviewFacet(Facet):
    """/api/overview"""

    url = "/api/overview"


add_facet(Api, "overview", OverviewFacet)


@api.get(OverviewFacet, returns=Overview, teams="filtered")
def show(context: OverviewFacet, request: Request) -> Overview:
    """What is wrong now with its root causes, the cases of healing that are open, and how many monitors stand how.
    For who is in a team of hosts and monitors that it sees, without what holds healing up."""
    told: Overview = request.shown(overview(request.root, request.now, request.sight))
    return told
