"""/: monitors, incidents and heals as they stand; with script, also as they are committed (/api/stream)."""

from __future__ import annotations

from pyramid.request import Request
from pyramid.response import Response

from opsapp.monitoring.engine import incident_rows, list_monitors
from opsapp.monitoring.resources import incidents_of
from opsapp.tree.root import Root
from opsapp.ui.pages import page
from opsapp.web import api

EVERY = {"q": "", "tag": None, "status": None, "limit": 200, "offset": 0}
NEWEST = 20


@api.get(Root)
def overview(context: Root, request: Request) -> Response:
    now = request.node.clock.now()
    monitors, monitor_count = list_monitors(request.node, request.root, EVERY, secrets=False)
    incidents = incidents_of(request.root)
    incident_ids, incident_count = incidents.page("all", None, NEWEST, 0)
    heal_count, heals = request.root["api"]["healing"]["ledger"].page(None, None, NEWEST, 0)
    return page(
        request,
        "overview.jinja2",
        title="Overview",
        monitors=monitors,
        monitor_count=monitor_count,
        incidents=request.shown(incident_rows(incidents, incident_ids, now)),
        incident_count=incident_count,
        heals=request.shown(heals),
        heal_count=heal_count,
    )
