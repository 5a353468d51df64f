"""/api/moment: what was going on, and what was true then."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.healing.engine.moment import AskedTexts, moment
from opsapp.healing.moments import KINDS, Moment
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Api
from opsapp.web import api
from opsapp.web.fields import Query, choice, text


class MomentFacet(Facet):
    """/api/moment"""

    url = "/api/moment"


class MomentSpan(Query):
    kind = choice(*KINDS)
    id = text(1, 100)
    since = text(0, 40, name="from", default=None)
    until = text(0, 40, name="to", default=None)
    at = text(0, 40, default=None)
    runs = choice("own", "all", default="own")


add_facet(Api, "moment", MomentFacet)


@api.get(MomentFacet, query=MomentSpan, returns=Moment, errors=(404,), teams="filtered")
def show(context: MomentFacet, request: Request) -> Moment:
    """What was going on on the host, monitor, incident or case with this id: what was measured from `from` to `to`,
    what happened, and which rules' conditions held at `at`. Times are in UTC like 2026-01-31T22:00Z, or so long ago
    like -24h; left out, the last day, or from an hour before to an hour after. Of an incident `runs` are its own, or
    all that ran in that time."""
    query = request.valid_query
    asked = AskedTexts(query["from"], query["to"], query["at"], query["runs"] == "all")
    told: Moment = request.shown(moment(request.root, query["kind"], query["id"], asked, request.sight))
    return told
