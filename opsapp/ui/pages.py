"""How a page is made: templates, what every page knows, pages that say what went wrong. Deferred answers make pages
too: nothing here needs a request that is still alive, but where it takes one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, Template, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth.cookies import form_key, masked_token
from opsapp.auth.demanded import must_set_up
from opsapp.auth.resources import Wishes, find_enabled, wishes_of
from opsapp.lib import durations
from opsapp.lib.cronwords import WEEKDAYS
from opsapp.lib.ids import new_token
from opsapp.lib.problems import NotFound, Problem
from opsapp.tracing.interfaces import is_traced
from opsapp.web.answers import Elsewhere
from opsapp.web.asked import Asked
from opsapp.web.deletions import undo_of
from opsapp.web.errors import ROLE_TOO_LOW
from opsapp.web.forms import first_look

from . import builder, files, formvalues, sentences, words
from .counts import Counts, ReaderPresence, counts_of
from .guidebook import PLACE
from .help import help_for, upwards
from .markup import environment
from .menu import Menu, menu_for
from .reader import Reader, known_zone, query_with, with_query
from .shapes.monitors import percent_words
from .shapes.pluginmetrics import written

ONCE = "once"  # the field with which a form names itself: it comes a second time, unchanged, from a reload or by Back
PART = "X-Part"  # the header that asks for blocks of a page
SAYS_HERE = "POST /api/healing/here"
COUNTS = "counts"  # the block of every page that has its figures at the top
ZONE = "opsapp_zone"  # the cookie in which a browser says where its clock is
_LOCAL = re.compile(r"/(?![/\\])[!-~]*")


class PageReader(NamedTuple):
    username: str
    role: str


NOBODY: Any = None


class Frame(NamedTuple):
    """`me` and `csrf` are absent for who is not signed in."""

    me: PageReader | None = None
    csrf: str | None = None
    once: str | None = None
    menu: Menu | tuple[()] = ()
    path: str | None = None
    here: str | None = None
    help: str = PLACE
    counts: Counts | None = None
    presence: ReaderPresence | None = None
    theme: str = "system"
    stream_after: str | None = None
    deleted: object = None
    reader: Reader = NOBODY


def render(template: str, values: Mapping[str, object], status: int = 200, parts: Sequence[str] = ()) -> Response:
    """A page, or some blocks of it. `ui` holds the macros of parts.jinja2 with this page's values, for a block that is
    shown alone too."""
    known: dict[str, object] = {
        **Frame()._asdict(),
        "acts": {},
        "bulk": {},
        "withheld": (),
        "unread": (),
        "options": {},
        "known_names": {},
        "saved_filters": (),
        "live_main": "",
        **values,
    }
    known["ui"] = templates.get_template("parts.jinja2").make_module(known)
    page = templates.get_template(template)
    if len(parts) > 1:
        response = Response(json.dumps({name: _block(page, name, known) for name in parts}), status)
        response.content_type = "application/json"
    else:
        text = _block(page, parts[0], known) if parts else page.render(known)
        body = text.encode("utf-8", "replace")  # half a character in what a program said is no reason for no page
        response = Response(body, status, content_type="text/html", charset="utf-8")
    response.cache_control = "no-store"
    response.vary = (PART,)
    return response


def parts_asked(request: Request) -> list[str]:
    """The parts that the live module asks for: one comes as it is, several in an object by their names."""
    return list(dict.fromkeys(request.headers.get(PART, "").split()))


def _block(page: Template, name: str, values: dict[str, object]) -> str:
    name = name.replace("-", "_")
    block = page.blocks.get(name) or templates.get_template("base.jinja2").blocks.get(name)
    if block is None:
        raise NotFound("This page has no such part.")
    return "".join(block(page.new_context(values)))


def frame_part(request: Request) -> Response | None:
    """The figures at the top, if they are all that is asked for: nothing else of the page is made."""
    if parts_asked(request) != [COUNTS] or not request.caller or must_set_up(request):
        return None
    values = {"counts": counts_of(request), "stream_after": _stream_after(request)}
    return render("base.jinja2", values, parts=[COUNTS])


def _stream_after(request: Request) -> str | None:
    return request.node.events.last_before(request.now - OVERLAP_S)


def page(request: Request, template: str, **values: Any) -> Response:
    return render(template, frame_of(request)._asdict() | values, parts=parts_asked(request))


EVERY_PAGE = frozenset((*Frame._fields, "bulk", "options", "known_names"))
OVERLAP_S = 2.0  # what happened while a page was made comes again when its stream begins


def frame_of(request: Request) -> Frame:
    """Who has to set up a second factor first sees nothing around the page."""
    caller, secret = request.caller, getattr(request, "cookie_secret", None)
    framed = caller and not must_set_up(request)
    wishes = wishes_of(find_enabled(request.root, caller.name)) if caller else Wishes()
    pages = builder.known_for(request)
    counts = counts_of(request) if framed else None
    return Frame(
        me=PageReader(caller.name, caller.role) if framed else None,
        csrf=masked_token(secret, form_key(request.node)) if secret else None,
        once=first_look(request, ONCE) or new_token(),  # the page's forms; one that is drawn again keeps its name
        menu=menu_for(pages, caller.role, request.path_info) if framed else Menu(),
        path=request.path_info,
        here=with_query(request.path_info, query_with(request.GET)),
        help=help_for(request.path_info),
        counts=counts,
        presence=counts.presence(caller.name) if counts and pages.may(caller.role, SAYS_HERE) else None,
        theme=wishes.theme,
        stream_after=_stream_after(request),
        deleted=undo_of(request, request.GET.get("undo", "")) if caller else None,
        reader=reader_of(request, wishes) if caller else NOBODY,
    )


def reader_of(request: Request, wishes: Wishes) -> Reader:
    known, role = builder.known_for(request), request.caller.role
    query = {name: request.GET[name][:500] for name in request.GET}
    service_zone = request.node.config.timezone
    zone = known_zone(wishes.timezone or request.cookies.get(ZONE) or service_zone)
    now = request.now
    may = partial(known.may, role)
    limits = {"limited": known.limited, "service_zone": service_zone, "traced": is_traced(request.node)}
    return Reader(now, zone, request.caller.name, role, query, may, **limits)


def local_path(text: str | None) -> str:
    return text if text and len(text) <= 2000 and _LOCAL.fullmatch(text) else "/"


def see_other(place: str, *cookies: str) -> Response:
    response = Elsewhere(status=303, location=place)
    response.headerlist += [("Set-Cookie", cookie) for cookie in cookies]
    return response


class PlaceAbove(NamedTuple):
    path: str
    title: str


def place_above(known: builder.Known, asked: Asked, status: int) -> PlaceAbove | None:
    """Leads who was refused, or found nothing, to the next page upwards that every role may see."""
    from_here = asked.method == "POST" and status == 403
    for path in upwards(asked.path):
        found_page = builder.find(known, path) if from_here or path != asked.path.rstrip("/") else None
        if found_page is not None and builder.is_for_all(known, found_page[0]):
            return PlaceAbove(quote(path), found_page[0].title)
    return None


def error_page(known_pages: builder.Known, asked: Asked, status: int, problem: Problem) -> Response:
    """Outside /api: the page for signing in, or one that says what the problem is."""
    if status == 401 and asked.method in ("GET", "HEAD"):
        wanted = asked.path + (f"?{asked.query}" if asked.query and "token" not in asked.query else "")
        return see_other("/login?next=" + quote(wanted, safe="/"))
    titles = {401: "Sign in first", 403: "Not allowed", 404: "Not found", 503: "Not now"}
    me = PageReader(asked.username, asked.role or "") if asked.username else None
    leads_on = me and (status == 404 or problem.code == ROLE_TOO_LOW)
    menu = menu_for(known_pages, asked.role, asked.path) if asked.role else Menu()
    known = {
        **Frame(me=me, menu=menu, path=asked.path, help=help_for(asked.path))._asdict(),
        "title": titles.get(status, "That did not work"),
        "problem": problem,
        "asked": asked,
        "fields": getattr(problem, "fields", None),
        "above": place_above(known_pages, asked, status) if leads_on else None,
        "leads_back": me and asked.method == "POST" and not leads_on,
    }
    return render("problem.jinja2", known, status)


def plain(value: Any) -> str:
    if value is None or value in ([], (), {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {plain(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(plain(item) for item in value)
    return str(value)


def _for_reader(shown: Callable[[float, Reader], Markup]) -> Callable[[Context, float], Markup]:

    @pass_context
    def shown_to_reader(context: Context, seconds: float) -> Markup:
        return shown(seconds, context["reader"])

    return shown_to_reader


def _make_templates() -> Environment:
    made = environment()
    made.globals.update(static=files.address, weekdays=WEEKDAYS)
    made.filters.update(
        machine=words.machine,
        uptime=percent_words,
        plain=plain,
        span=words.rough_span,
        repeats=words.repeats,
        ago=_for_reader(words.ago),
        since=_for_reader(words.since),
        clock=_for_reader(words.clock),
        clock_in=words.clock_in,
        brief=_for_reader(words.brief),
        hour=_for_reader(words.hour),
        kind_of=words.kind_of,
        spoken=words.spoken,
        lasted=sentences.span,
        sentence=sentences.sentence_of,
        initials=words.initials,
        dig=builder.dig,
        filled=builder.filled,
        holds=builder.holds,
        names=builder.names_of,
        asking=query_with,
        below=with_query,
        months=words.months,
        metric=written,
        on_pages=words.on_pages,
        in_words=durations.in_words,
        offset=words.offset,
        to_fill_in=formvalues.to_fill_in,
        begins_with=formvalues.begins_with,
        called=formvalues.called,
        for_row=builder.for_row,
        choices=builder.choices_of,
    )
    return made


templates = _make_templates()
