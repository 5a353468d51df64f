"""Pages of the overview, of incidents with their war room, and of approvals."""

from __future__ import annotations

from opsapp.monitoring.engine import NoticeSettings
from opsapp.ui import parts
from opsapp.ui.questions import Call
from opsapp.ui.shapes import approvals, incidents, overview

from . import moment
from .records import ACT_NOW, DISMISS
from .shape import Act, Field, Page, PageBlock, Part, delete, inputs, told

COMMENT = (Field("comment", "Comment", "area"),)
UNDECIDED = {"status": ("pending",)}
INCIDENTS_API = "/api/monitoring/incidents"
NOTICES_API = "/api/monitoring/notices"
NOTICE = inputs(NoticeSettings)
ON_PAGES = "With commas: public is the page of all, * is every page. None: visitors do not see it"
TAKE = Act(
    "take", "I take it", "POST /api/monitoring/incidents/{incident_id}/acknowledge", when={"acknowledged_by": (None,)}
)
HAND_OVER = Act(
    "assign",
    "Hand over",
    f"POST {INCIDENTS_API}/{{id}}/assign",
    (Field("username", "Assign to", "name", of="user", by="username", required=True), Field("note", "Note")),
)
APPROVE = Act("approve", "Approve", "POST /api/approvals/{request_id}/approve", COMMENT, when=UNDECIDED)
REJECT = Act("reject", "Reject", "POST /api/approvals/{request_id}/reject", COMMENT, when=UNDECIDED)
DECIDE = (APPROVE._replace(fields=(), many=True), REJECT._replace(fields=(), many=True))
REQUESTS = told(parts.APPROVALS, "/api/approvals?limit=100", acts=DECIDE)._replace(key="request_id")


HERE = Act(
    "here",
    "I am here",
    "POST /api/healing/here",
    (
        Field(
            "for",
            "For how long",
            "span",
            required=True,
            preset="2 h",
            hint="Until then, what has a medium risk is asked",
        ),
    ),
    done="Until then, actions of medium risk need an approval.",
)
LEAVE = Act("leave", "I am away", "DELETE /api/healing/here", done="Healing acts by itself again.")
OVERVIEW = (
    Page(
        "/",
        "Overview",
        (
            told(parts.OVERVIEW, "/api/overview", acts=(TAKE, ACT_NOW, HERE, LEAVE)),
            REQUESTS,
            told(parts.SUGGESTIONS, "/api/healing/suggestions?limit=3", acts=(DISMISS,)),
            told(parts.PROBLEMS, "/api/healing/problems?limit=50", optional=True),
            told(parts.DELIVERIES, "/api/notifications/deliveries?status=failed&limit=20", optional=True),
            told(parts.FORECASTS, "/api/healing/forecasts?agent_id={overview.next.agent_id}"),
            told(parts.MONITORS, "/api/monitoring/endpoints?limit=13&sort=worst&recent=30"),
            told(parts.LEDGER, "/api/healing/ledger?limit=30"),
            told(parts.INCIDENTS, "/api/monitoring/incidents?limit=15"),
            told(parts.RUNS, "/api/automations/runs?limit=15"),
            told(parts.DECIDED, "/api/approvals?status=decided&order=newest&limit=10"),
            told(parts.WINDOWS, "/api/maintenance?active=true&limit=10"),
            told(parts.AUDIT, "/api/audit?limit=40", optional=True),
        ),
        menu="Overview",
        template="overview.jinja2",
        shape=overview.shape,
        blocks=(
            PageBlock("standing", ("overview", "approvals"), overview.standing),
            PageBlock("wrong", ("overview",), overview.wrong),
            PageBlock(
                "side", ("overview", "approvals", "suggestions", "problems", "deliveries", "forecasts"), overview.side
            ),
            PageBlock("monitors", ("monitors",), overview.monitors),
            PageBlock(
                "feed", ("overview", "ledger", "incidents", "runs", "decided", "windows", "audit"), overview.feed
            ),
        ),
    ),
)

PUBLIC = Field("public", "Who reads it", "flag")
AUTOMATION = Field("automation_id", "Automation", "name", of="automation", required=True)
STAGE = Field("stage", "Where we are", "choice", ("investigating", "identified", "monitoring", "resolved"), True)
INCIDENTS = (
    Page(
        "/incidents",
        "Incidents",
        (
            told(parts.OPEN, f"{INCIDENTS_API}?status=open&limit=1000"),
            Part(
                "Incidents",
                INCIDENTS_API,
                name=parts.INCIDENTS,
                steady=True,
                asks=incidents.asked_of_past,
                acts=(
                    TAKE._replace(api=f"POST {INCIDENTS_API}/{{id}}/acknowledge", when={}, many=True),
                    HAND_OVER._replace(many=True),
                ),
                filters=(
                    Field("q", "Name"),
                    Field("status", "State", "choice", ("open", "resolved"), unsaid="any"),
                    Field("severity", "Severity", "choice", ("critical", "error", "warning", "info"), unsaid="any"),
                    Field("kind", "Reported by", "choice", ("monitor", "event", "by_hand"), unsaid="any"),
                    Field("tag", "Tag", "name", of="tag", by="name", unsaid="any"),
                    Field("owner", "Assignee"),
                    Field("monitor_id", "Monitor", "name", of="monitor", unsaid="any"),
                ),
            ),
            told(
                parts.NOTICES,
                f"{NOTICES_API}?status=open&limit=50",
                acts=(
                    Act("end", "End it", f"POST {NOTICES_API}/{{id}}/end", done="Visitors do not see it any more."),
                    delete(
                        f"{NOTICES_API}/{{id}}", warns="It goes from the page and from the list of those that are over."
                    ),
                ),
            ),
        ),
        forms=(
            Act("notice", "Post a notice", f"POST {NOTICES_API}", NOTICE, done="Visitors see it now."),
            Act(
                "create",
                "Open an incident",
                f"POST {INCIDENTS_API}",
                (
                    Field("name", "Title", required=True, hint="Nothing here measures it"),
                    Field("target", "Where"),
                    Field("description", "Description", "area"),
                    Field("severity", "Severity", "choice", ("critical", "warning", "info"), required=True),
                    Field("pages", "On these status pages", "list", hint=ON_PAGES),
                ),
                done="The incident is open, and people are told.",
            ),
        ),
        menu="Incidents",
        template="incidents.jinja2",
        calls=(Call("CSV", f"GET {INCIDENTS_API}/file"),),
        shape=incidents.overview,
        blocks=tuple(PageBlock(name, ("open", "incidents"), incidents.listing) for name in ("heading", "incidents")),
    ),
    Page(
        "/incidents/{id}",
        "War room",
        (
            told(
                parts.ROOM,
                f"{INCIDENTS_API}/{{id}}/war-room",
                acts=(
                    TAKE._replace(api=f"POST {INCIDENTS_API}/{{id}}/acknowledge"),
                    HAND_OVER._replace(when={"status": ("open",)}),
                    Act(
                        "resolve",
                        "Resolve",
                        f"POST {INCIDENTS_API}/{{id}}/resolve",
                        (Field("note", "Note", "area"),),
                        done="The incident is over.",
                        when={"status": ("open",), "by_hand": (True,)},
                    ),
                    Act(
                        "run",
                        "Run an automation",
                        f"POST {INCIDENTS_API}/{{id}}/runs",
                        (AUTOMATION,),
                        done="It is requested; the timeline shows it once it runs.",
                    ),
                    Act(
                        "update",
                        "Publish",
                        f"POST {INCIDENTS_API}/{{id}}/updates",
                        (
                            STAGE,
                            Field("message", "Text", "area", required=True),
                            Field("public", "Who reads it", "flag"),
                        ),
                    ),
                ),
            ),
            told(parts.OVERVIEW, "/api/overview"),
            REQUESTS,
            moment.of("incidents"),
        ),
        template="war_room.jinja2",
        shape=incidents.room,
        blocks=(
            PageBlock("top", ("room", "overview"), incidents.top),
            *moment.BLOCKS,
            PageBlock("timeline", ("room", "overview", "approvals"), incidents.timeline),
        ),
    ),
    Page(
        "/incidents/{id}/post-mortem.md",
        "Post-mortem",
        (told("file", f"{INCIDENTS_API}/{{id}}/post-mortem"),),
        file=("name", "markdown"),
    ),
)

APPROVALS = (
    Page(
        "/approvals",
        "Approvals",
        (
            REQUESTS,
            told(parts.OVERVIEW, "/api/overview"),
            Part("Decided", "/api/approvals?status=decided&order=newest", name=parts.DECIDED, paged=True),
        ),
        menu="Approvals",
        template="approvals.jinja2",
        shape=approvals.listing,
        blocks=(PageBlock("approvals", ("overview", "approvals", "decided"), approvals.listing),),
    ),
    Page(
        "/approvals/{request_id}",
        "Request",
        (
            told(parts.REQUEST, "/api/approvals/{request_id}", acts=(APPROVE, REJECT)),
            told(parts.OVERVIEW, "/api/overview"),
            told(parts.CASE, "/api/healing/cases/{request.case_id}", acts=(ACT_NOW,)),
        ),
        template="approval.jinja2",
        shape=approvals.one,
    ),
)
