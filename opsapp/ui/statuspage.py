"""The public status page, its feed and its badges as text, for the views and for `opsapp status-export`. Needs no
script, no cookie, no request."""

from __future__ import annotations

import pathlib
import re
from email.utils import formatdate
from typing import Any, NamedTuple

from jinja2 import Environment

from opsapp.monitoring.records import PublicIncident, StatusComponent, StatusDocument
from opsapp.statuspages.engine import STAGE_WORDS, PlannedTime, dates
from opsapp.statuspages.records import PublicPage

from . import statusshape as shape
from .files import address
from .markup import environment
from .sentences.words import span
from .words import machine, moment

HERE = pathlib.Path(__file__).parent
KINDS = {"mail": "Mail", "webhook": "Webhook"}
BADGE = {"up": "#1a7f37", "degraded": "#9a6700", "down": "#cf222e", "maintenance": "#0969da"}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FILES = ("face.css", "status.css", "status.js")


class PagePlace(NamedTuple):
    """Where a status page stands: in the service, or as a file beside others, without further pages."""

    live: bool
    home: str
    face: str
    style: str
    feed: str
    script: str


LIVE = PagePlace(True, "/status", address("face.css"), address("status.css"), "/status.rss", address("status.js"))
FILE = PagePlace(False, "index.html", "face.css", "status.css", "status.rss", "status.js")


def own_place(slug: str) -> PagePlace:
    home = f"/status/{slug}"
    return LIVE._replace(home=home, feed=f"{home}/feed.rss")


NOTHING_GIVEN = {"kind": "", "address": ""}


def page(about: PublicPage, document: StatusDocument, place: PagePlace = LIVE) -> str:
    """/status, HTML. `about`: how it looks, as /api/status/page says it."""
    zone, now = about.timezone, document.generated_at
    month = shape.month_of(now, zone)
    start, _ = shape.month_edges(month, zone)
    recent = [incident for day in document.history for incident in day.incidents if incident.started >= start]
    windows, under_way = shape.windows(document), shape.under_way(document.active_incidents)
    return _rendered(
        "status.jinja2",
        about,
        place,
        here=True,
        title=shape.headline(document),
        document=document,
        verdict=shape.verdict(document),
        open=under_way[: shape.MOST_OPEN],
        more_open=sum(len(line.members) for line in under_way[shape.MOST_OPEN :]),
        windows=windows,
        more_windows=len(document.maintenance) - len(windows),
        groups=shape.groups(about, document),
        last_day=document.monitors[0].days[-1].date if document.monitors else "",
        month=shape.month_words(month, about.language),
        before=shape.stepped(month, -1),
        days=shape.past(recent, (), zone, shape.MOST_PAST),
        many=len(document.monitors) > shape.MANY,
    )


class PastMonth(NamedTuple):
    """`total`: also of those that are not in the list. `earlier`: there is something before it."""

    month: str
    incidents: list[PublicIncident]
    total: int
    windows: list[PlannedTime]
    earlier: bool


def history(about: PublicPage, shown: PastMonth, now: float, place: PagePlace = LIVE) -> str:
    """/status/history?month=…; it leads back as far as there is something: a crawler comes to an end."""
    zone, language = about.timezone, about.language
    after = shape.stepped(shown.month, 1) if shown.month < shape.month_of(now, zone) else ""
    before = shape.stepped(shown.month, -1) if shown.earlier else ""
    return _rendered(
        "status_history.jinja2",
        about,
        place,
        title=shape.month_words(shown.month, language),
        days=shape.past(shown.incidents, shown.windows, zone),
        left_out=shown.total - len(shown.incidents),
        before=before,
        before_name=before and shape.month_words(before, language),
        after=after,
        after_name=after and shape.month_words(after, language),
    )


def incident_page(about: PublicPage, incident: PublicIncident, place: PagePlace = LIVE) -> str:
    """/status/incidents/{id}"""
    was = "" if incident.by_hand else f" {'is' if incident.resolved is None else 'was'} down"
    title = incident.monitor_name + was
    return _rendered("status_incident.jinja2", about, place, title=title, incident=incident)


def monitor_page(about: PublicPage, monitor: StatusComponent, place: PagePlace = LIVE) -> str:
    line, incidents = shape.component(monitor), shape.past(monitor.incidents[:50], (), about.timezone)
    rows = shape.day_rows(monitor)
    return _rendered(
        "status_monitor.jinja2", about, place, title=line.name, monitor=line, rows=rows, incidents=incidents
    )


def note(about: PublicPage, kind: str, title: str, words: str, button: str = "", place: PagePlace = LIVE) -> str:
    said = {"kind": kind, "title": title, "words": words, "button": button}
    return _rendered("status_note.jinja2", about, place, **said, again=False)


def locked(slug: str, next_place: str, wrong: str) -> str:
    """The question for the password. Who has not said it does not learn even the page's name."""
    return _rendered(
        "status_locked.jinja2", PublicPage(), own_place(slug), title="Password", next=next_place, wrong=wrong, shut=True
    )


def asked_again(about: PublicPage, given: dict[str, str], wrong: str, place: PagePlace = LIVE) -> str:
    kind, title, words = "warn", "That did not work", wrong
    if not wrong:
        kind, title = "off", "Subscriptions"
        words = "Be told when something begins, changes or is over." if about.offered else "This page offers none."
    return _rendered(
        "status_note.jinja2",
        about,
        place,
        kind=kind,
        title=title,
        words=words,
        button="",
        again=True,
        given=given,
        wrong=wrong,
    )


def _rendered(template: str, about: PublicPage, place: PagePlace = LIVE, **values: Any) -> str:
    known = {"page": about, "place": place, "here": False, "shut": False, "given": NOTHING_GIVEN, "wrong": ""}
    return templates.get_template(template).render(known | values)


def file_text(name: str) -> str:
    return (HERE / "static" / name).read_text()


def theme(about: PublicPage) -> str:
    """/status/theme.css: the accent colours, which were checked for contrast when they were set."""
    light, dark = about.accent_light, about.accent_dark
    rules = [f":root {{ --press: {light}; --press-hover: {light}; --press-ink: #ffffff; }}"] if light else []
    if dark:
        own = f"--press: {dark}; --press-hover: {dark}; --press-ink: #131412;"
        rules.append(f"@media (prefers-color-scheme: dark) {{ :root {{ {own} }} }}")
    elif light:
        rules[0] = f"@media (prefers-color-scheme: light) {{ {rules[0]} }}"
    return "\n".join(rules) + "\n"


def feed(document: StatusDocument, base_url: str, home: str = LIVE.home) -> str:
    """/status.rss: incidents and their updates, and maintenance."""
    return _xml(templates.get_template("status.rss.jinja2").render(document=document, url=base_url + home))


def badge(monitor: StatusComponent) -> str:
    """/status/badge/{id}.svg."""
    name, status = monitor.name, shape.WORDS[shape.state_of(monitor)].lower()
    left, right = 12 + 7 * len(name), 12 + 7 * len(status)
    colour = BADGE.get(monitor.status, "#57606a")
    values = {"name": name, "status": status, "left": left, "right": right, "colour": colour}
    return _xml(templates.get_template("badge.jinja2").render(values))


def _xml(text: str) -> str:
    """XML cannot even escape some characters: one would make the whole feed unreadable."""
    return _NO_XML.sub("\ufffd", text)


def _make_templates() -> Environment:
    made = environment()
    made.filters.update(
        headline=shape.headline,
        look=shape.look,
        moment=moment,
        machine=machine,
        span=span,
        exact=lambda seconds, about: dates.exact(seconds, about.timezone, about.language),
        clock=lambda seconds, about: dates.clock(seconds, about.timezone, about.language),
        day=lambda seconds, about: dates.day_name(seconds, about.timezone, about.language),
    )
    made.filters["mail_date"] = lambda seconds: formatdate(seconds, usegmt=True)
    made.globals.update(WORDS=shape.WORDS, NOTICES=shape.NOTICE_LOOKS, STAGE=STAGE_WORDS, KINDS=KINDS)
    return made


templates = _make_templates()
