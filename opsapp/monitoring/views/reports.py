"""History, SLA and health scores under /api/monitoring."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from opsapp.monitoring import schemas
from opsapp.monitoring.engine import publishing, reports
from opsapp.monitoring.resources import Monitor, Monitoring
from opsapp.tree.acl import Permission
from opsapp.web.fields import AsOf
from opsapp.web.paging import page_of, slice_of


@view_config(
    context=Monitor,
    name="history",
    request_method="GET",
    permission=Permission.view,
    query=schemas.HistoryRange,
    returns=[schemas.HistoryPoint],
    renderer="json",
)
def history(context: Monitor, request: Request) -> list[dict[str, Any]]:
    """Status and response times per bucket; one without checks is left out."""
    query = request.valid_query
    found = reports.history(request.node, request.root, context.series, query["range_h"], query["resolution"])
    return page_of(request, found)


@view_config(
    context=Monitoring,
    name="sla",
    request_method="GET",
    permission=Permission.view,
    query=schemas.SlaWindow,
    returns=[schemas.SlaEntry],
    renderer="json",
)
def sla(context: Monitoring, request: Request) -> list[dict[str, Any]]:
    """Uptime, downtime and incidents of each monitor over so many days."""
    rows, count = reports.sla_report(request.node, request.root, request.valid_query["days"], slice_of(request))
    request.response.headers["X-Total-Count"] = str(count)
    return rows


@view_config(
    context=Monitoring,
    name="health-score",
    request_method="GET",
    permission=Permission.view,
    returns=schemas.AggregateScore,
    renderer="json",
)
def health_score(context: Monitoring, request: Request) -> dict[str, Any]:
    """One score for all monitors, and each one's."""
    return reports.health_of_all(request.node, request.root)


@view_config(
    context=Monitor,
    name="health-score",
    request_method="GET",
    permission=Permission.view,
    returns=schemas.MonitorScore,
    renderer="json",
)
def monitor_health_score(context: Monitor, request: Request) -> dict[str, Any]:
    """The score of one monitor, and what it is made of."""
    return reports.health(request.node, request.root, context.id)


@view_config(
    context=Monitoring,
    name="status-page",
    request_method="GET",
    permission=NO_PERMISSION_REQUIRED,
    query=AsOf,
    returns=schemas.StatusDocument,
    renderer="json",
)
def status_page(context: Monitoring, request: Request) -> dict[str, Any]:
    """What the public status page says."""
    at = request.valid_query["as_of"]
    if at is not None:
        return publishing.status_document_at(request.node, request.root, at, everything=request.caller is not None)
    return publishing.status_document(request.node, request.root)
