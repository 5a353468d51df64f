"""The public status page, its feed and its badges as text, from the status document alone.

Used by the views and by `opsapp status-export`, so both show the same. Needs no script, no cookie, no request.
"""

from __future__ import annotations

import pathlib
import re
from datetime import datetime, timezone
from email.utils import formatdate

from jinja2 import Environment, PackageLoader, StrictUndefined

from opsapp.monitoring.engine import is_known, shown_uptime

HERE = pathlib.Path(__file__).parent
OVERALL = {
    "operational": "All systems operational",
    "degraded": "Degraded performance",
    "partial_outage": "Partial outage",
    "major_outage": "Major outage",
    "maintenance": "Under maintenance",
}
STATUS = {
    "up": "Operational",
    "degraded": "Degraded",
    "down": "Down",
    "maintenance": "Maintenance",
    "paused": "Not monitored",
    "pending": "Not checked yet",
    "unknown": "Unknown",
}
STAGE = {
    "investigating": "Investigating",
    "identified": "Identified",
    "monitoring": "Monitoring",
    "resolved": "Resolved",
}
BADGE = {"up": "#1a7f37", "degraded": "#9a6700", "down": "#cf222e", "maintenance": "#0969da"}
SHOWN = 30  # incidents of the past on the page
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
GOOD, FAIR = 99.9, 99.0  # a day's bar: at least this, less, and below


def page(document: dict) -> str:
    """/status, HTML."""
    return _templates.get_template("status.jinja2").render(document=document)


def headline(document: dict) -> str:
    """`degraded` is also the word for what is not known."""
    statuses = {monitor["status"] for monitor in document["monitors"]}
    if not is_known(statuses):
        return "No information at the moment"
    if document["overall"] == "degraded" and "degraded" not in statuses:
        return "Some systems cannot be seen at the moment"
    return OVERALL[document["overall"]]


def stylesheet() -> str:
    return (HERE / "static" / "status.css").read_text()


def feed(document: dict, base_url: str) -> str:
    """/status.rss: incidents and their updates, and maintenance."""
    return _xml(_templates.get_template("status.rss.jinja2").render(document=document, url=f"{base_url}/status"))


def badge(monitor: dict) -> str:
    """/status/badge/{id}.svg."""
    name, status = monitor["name"], STATUS[monitor["status"]].lower()
    left, right = 12 + 7 * len(name), 12 + 7 * len(status)
    colour = BADGE.get(monitor["status"], "#57606a")
    values = {"name": name, "status": status, "left": left, "right": right, "colour": colour}
    return _xml(_templates.get_template("badge.jinja2").render(values))


def _xml(text: str) -> str:
    """Without the characters that XML cannot even escape: one in a name would make the whole feed unreadable."""
    return _NO_XML.sub("\ufffd", text)


def bar(day: dict) -> str:
    """How a day's bar looks: one letter, since a page has more than a thousand of them."""
    uptime = day["uptime"]
    if uptime is None:
        return "n"
    return "u" if uptime >= GOOD else "w" if uptime >= FAIR else "d"


def bar_title(day: dict) -> str:
    known = "no data" if day["uptime"] is None else f"{shown_uptime(day['uptime'])} %"
    count = day["incidents"]
    return f"{day['date']}: {known}" + (f", {count} incident{'s' if count != 1 else ''}" if count else "")


def summary(monitor: dict) -> str:
    """The bars in words, for those who do not see them."""
    days = monitor["days"]
    lacking = sum(day["uptime"] is None for day in days)
    short = sum(day["uptime"] is not None and day["uptime"] < 100 for day in days)
    return f"Last {len(days)} days: {short} with downtime, {lacking} without data"


def recent(document: dict) -> list[dict]:
    """As much of the history as a small page holds."""
    left, days = SHOWN, []
    for day in document["history"]:
        days.append({**day, "incidents": day["incidents"][:left]})
        left -= len(days[-1]["incidents"])
        if not left:
            break
    return days


def older(document: dict) -> int:
    return max(0, sum(len(day["incidents"]) for day in document["history"]) - SHOWN)


def moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def machine(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def length(minutes: float | None) -> str:
    """A duration for people."""
    if minutes is None:
        return "ongoing"
    whole = max(1, round(minutes))
    days, rest = divmod(whole, 1440)
    hours, rest = divmod(rest, 60)
    parts = [f"{days} d" if days else "", f"{hours} h" if hours else "", f"{rest} min" if rest and not days else ""]
    return " ".join(part for part in parts if part)


def _make_templates() -> Environment:
    made = Environment(
        loader=PackageLoader("opsapp.ui", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(
        headline=headline,
        shown=shown_uptime,
        recent=recent,
        older=older,
        bar=bar,
        bar_title=bar_title,
        summary=summary,
        moment=moment,
        machine=machine,
        length=length,
    )
    made.filters["mail_date"] = lambda seconds: formatdate(seconds, usegmt=True)
    made.globals.update(STATUS=STATUS, STAGE=STAGE)
    return made


_templates = _make_templates()
