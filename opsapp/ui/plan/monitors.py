"""Monitors: the list, one of them, and the form that adds, clones and changes one."""

from __future__ import annotations

from opsapp.monitoring.engine import STATUSES, MonitorSettings
from opsapp.ui import parts
from opsapp.ui.questions import Call
from opsapp.ui.shapes import monitor, monitorform, monitorlist, monitors, report
from opsapp.wire.monitortypes import TYPES

from . import moment
from .problems import about
from .shape import Act, Field, Page, PageBlock, Part, delete, inputs, told

ALL = "/api/monitoring/endpoints"
ONE = f"{ALL}/{{id}}"
FIELDS = inputs(MonitorSettings)
(TAGS,) = inputs(MonitorSettings, "tags")
(INTERVAL,) = inputs(MonitorSettings, "interval")
CREATE = Act("create", "Save", "POST /api/monitoring/endpoints", FIELDS, here=True, goes="/monitors/{id}")
TRY = Act("try", "Check now", "POST /api/monitoring/endpoints/check", FIELDS, here=True, tries=True)
HOSTS = told(parts.AGENTS, "/api/agents?limit=500", optional=True)
FORM = "monitor_form.jinja2"

LIST = Page(
    "/monitors",
    "Monitors",
    (
        Part(
            "All monitors",
            f"{ALL}?recent={monitorlist.CHECKS}",
            paged=True,
            filters=(
                Field("q", "Name"),
                Field("status", "State", "choice", STATUSES),
                Field("tag", "Tag"),
                Field("type", "Type", "choice", tuple(TYPES)),
                Field("sort", "Sort by", "choice", ("name", "response", "uptime"), unsaid="worst first"),
            ),
            name=parts.MONITORS,
            asks=monitors.list_query,
            acts=(
                Act("check", "Check now", f"POST {ONE}/check", many=True),
                Act("pause", "Pause", f"PUT {ONE}", body={"enabled": False}, many=True,
                    warns="They are not checked any more, and nobody is told when they go down."),
                Act("resume", "Resume", f"PUT {ONE}", body={"enabled": True}, many=True),
                Act("tags", "Set the tags", f"PUT {ONE}", (TAGS,), many=True,
                    warns="The tags that they have now are replaced."),
                Act("interval", "Set the interval", f"PUT {ONE}", (INTERVAL,), many=True),
                delete(ONE, many=True,
                    warns="Their results and their uptime are deleted with them. Open incidents end, past ones stay, "
                    "and so do rules and windows that name them. You can undo it for a minute."),
            ),
        ),
    ),
    menu="Monitors",
    template="monitors.jinja2",
    shape=monitors.shape,
    calls=(Call("Tags", f"GET {ALL}/tags"),),
    blocks=(PageBlock("rows", ("monitors",), monitors.shape),),
)  # fmt: skip

ONE_MONITOR = Page(
    "/monitors/{id}",
    "Monitor",
    (
        told(
            parts.MONITOR,
            ONE,
            acts=(
                Act("check", "Check now", f"POST {ONE}/check", when={"enabled": (True,)}),
                Act("pause", "Pause", f"PUT {ONE}", when={"enabled": (True,)}, body={"enabled": False}),
                delete(ONE, goes="/monitors"),
                Act("resume", "Resume", f"PUT {ONE}", when={"enabled": (False,)}, body={"enabled": True}),
            ),
        ),
        told(parts.BEATS, f"{ALL}?ids={{id}}&recent={monitorlist.CHECKS}"),
        moment.of("monitors"),
        told(parts.METRICS, f"{ONE}/metrics", asks=monitor.same_time),
        told(parts.UPTIME, f"{ONE}/uptime"),
        told(parts.DAYS, f"{ONE}/history?range_h=2160&resolution=86400"),
        told(parts.INCIDENTS, "/api/monitoring/incidents?monitor_id={monitor.id}&limit=50"),
        told(parts.DEPENDENCIES, "/api/healing/dependencies", optional=True),
        told(parts.HEALS, "/api/healing/ledger?target={monitor.name}&limit=5", optional=True),
        told(parts.RULES, "/api/healing/rules?limit=500", optional=True),
        told(parts.WINDOWS, "/api/maintenance", optional=True),
        about("target={monitor.name}"),
    ),
    template="monitor.jinja2",
    shape=monitor.shape,
    blocks=(
        PageBlock("now", ("monitor",), monitor.now),
        PageBlock("beats", ("beats",), monitor.beats),
        *moment.BLOCKS,
        PageBlock("plugin", ("monitor", "moment", "metrics"), monitor.plugin),
        PageBlock("past", ("monitor", "incidents"), monitor.past),
    ),
)

NEW = Page(
    "/monitors/new",
    "Add a monitor",
    (HOSTS,),
    forms=(CREATE, TRY),
    template=FORM,
    shape=monitorform.new,
    needs=CREATE.api,
)
STORED = told(parts.MONITOR, ONE)
CLONE = NEW._replace(
    path="/monitors/{id}/clone", title="Clone a monitor", parts=(STORED, HOSTS), shape=monitorform.clone
)
EDIT = Page(
    "/monitors/{id}/edit",
    "Edit a monitor",
    (STORED, HOSTS),
    forms=(Act("save", "Save", f"PUT {ONE}", FIELDS, here=True, goes="/monitors/{id}"), TRY),
    template=FORM,
    shape=monitorform.edit,
    needs=f"PUT {ONE}",
)

REPORT_FILTERS = tuple(Field(name, name) for name in report.FILTERS)
REPORT = Page(
    "/monitors/report",
    "Report",
    (
        Part("Uptime", report.API, paged=True, filters=REPORT_FILTERS, name=parts.REPORT, asks=report.with_zone),
        told(parts.TOTAL_LINE, report.TOTAL, filters=REPORT_FILTERS, asks=report.with_zone),
    ),
    template="report.jinja2",
    shape=report.shape,
    calls=(Call("CSV", f"GET {report.API}.csv"),),
)

MONITORS = (LIST, NEW, REPORT, ONE_MONITOR, CLONE, EDIT)
