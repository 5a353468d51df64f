"""History, SLA and health scores under /api/monitoring."""

from __future__ import annotations

from operator import attrgetter

from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.months import month_back
from opsapp.monitoring.engine import metrics, monthly, reports, statuspage
from opsapp.monitoring.engine.lateststatus import KeptText, latest_status
from opsapp.monitoring.logic.history import MetricPoint, ResponsePoint
from opsapp.monitoring.logic.report import ReportedLine, ReportTotal, row_of, rows_of
from opsapp.monitoring.queries import HistoryQuery, ReportQuery, SlaQuery
from opsapp.monitoring.records import AggregateScore, MonitorScore, SlaEntry, StatusDocument, UptimeFigures
from opsapp.monitoring.resources import Monitor, Monitoring
from opsapp.web import api, files
from opsapp.web.answers import Deferred
from opsapp.web.fields import AsOf, Paging
from opsapp.web.jsontext import dumps
from opsapp.web.listpages import counted, page_of, slice_of
from opsapp.wire.records import made, parts_of


@api.get(Monitor, "history", query=HistoryQuery, returns=[ResponsePoint], teams="see")
def history(context: Monitor, request: Request) -> list[ResponsePoint]:
    """Status and response times per bucket; one without checks is left out."""
    query = made(HistoryQuery, request.valid_query)
    return page_of(request, reports.history(request.node, request.root, context.series, query))


@api.get(Monitor, "metrics", query=HistoryQuery, returns=[MetricPoint], teams="see")
def metrics_history(context: Monitor, request: Request) -> list[MetricPoint]:
    """What a plugin measured, as means per bucket; one without a value is left out."""
    return page_of(request, metrics.history(request.root, context, made(HistoryQuery, request.valid_query)))


@api.get(Monitor, "uptime", query=Paging, returns=[UptimeFigures], teams="see")
def uptime(context: Monitor, request: Request) -> list[UptimeFigures]:
    """Uptime over a day, 7, 30 and 90 days, with how much of each is unknown."""
    return page_of(request, reports.uptimes(request.node, request.root, context.id))


@api.get(Monitoring, "sla", query=SlaQuery, returns=[SlaEntry], teams="filtered")
def sla(context: Monitoring, request: Request) -> list[SlaEntry]:
    """Uptime, downtime and incidents of each monitor over so many days. `sort`: by name, or the worst first; with "-"
    the other way round. What nobody knows comes last."""
    asked = made(SlaQuery, request.valid_query)
    wanted = (asked.days, slice_of(request), asked.sort, request.sight)
    rows, count = reports.sla_report(request.node, request.root, *wanted)
    return counted(request, rows, count)


@api.get(Monitoring, "report", query=ReportQuery, returns=[ReportedLine], teams="filtered")
def report(context: Monitoring, request: Request) -> list[ReportedLine]:
    """Uptime and error budget of a calendar month, or of the last days, by monitor, by tag or by group of the
    status page."""
    return page_of(request, _rows(request))


@api.get(Monitoring, "report-total", query=ReportQuery, returns=ReportTotal, teams="filtered")
def report_total(context: Monitoring, request: Request) -> ReportTotal:
    """The same of all its monitors together, and which time it is about."""
    query, asked = _asked(request)
    period = monthly.period_of(request.node, asked)
    total = row_of("All", monthly.measured(request.node, request.root, asked, period), period, query.target)
    start, end = period.start // 1000, period.end // 1000
    return ReportTotal(**vars(total), start=start, end=end, zone=asked.zone, target=query.target)


@api.get(Monitoring, "report.csv", query=ReportQuery, returns=files.CSV, teams="filtered")
def report_file(context: Monitoring, request: Request) -> Response:
    """The report as a file, whole."""
    _, asked = _asked(request)
    now = request.now
    span = f"{asked.days}-days" if asked.days else asked.month or month_back(now, asked.zone, 1)
    columns = [part.name for part in parts_of(ReportedLine)]
    return files.csv_file(f"uptime-{span}", columns, map(attrgetter(*columns), _rows(request)))


def _asked(request: Request) -> tuple[ReportQuery, monthly.ReportAsked]:
    query = made(ReportQuery, request.valid_query)
    zone = query.zone or request.node.config.timezone
    return query, monthly.ReportAsked(query.month, query.days, zone, query.tag, request.sight)


def _rows(request: Request) -> list[ReportedLine]:
    query, asked = _asked(request)
    period = monthly.period_of(request.node, asked)
    times = monthly.measured(request.node, request.root, asked, period)
    return rows_of(times, query.by, query.sort, period, query.target)


@api.get(Monitoring, "health-score", returns=AggregateScore, teams="filtered")
def health_score(context: Monitoring, request: Request) -> AggregateScore:
    """One score for all monitors, and each one's."""
    return reports.health_of_all(request.node, request.root, request.sight)


@api.get(Monitor, "health-score", returns=MonitorScore, teams="see")
def monitor_health_score(context: Monitor, request: Request) -> MonitorScore:
    """The score of one monitor, and what it is made of."""
    return reports.health(request.node, request.root, context.id)


@api.get(Monitoring, "status-page", role="public", query=AsOf, returns=StatusDocument)
def status_page(context: Monitoring, request: Request) -> StatusDocument | Deferred:
    """What the public status page says."""
    at, latest = request.valid_query["as_of"], latest_status(request.node)
    everything = request.caller is not None and request.sight is None
    if at is not None:
        return statuspage.status_document_at(request.node, request.root, at, everything=everything)
    return Deferred(lambda: kept_json(latest.text("json", dumps)))


def kept_json(text: KeptText) -> Response:
    response = Response(text.body, content_type="application/json", charset="utf-8")
    response.etag = text.mark
    return response
