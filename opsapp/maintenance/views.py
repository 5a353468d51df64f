"""/api/maintenance and /api/healing/maintenance."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.lib.queries import SpanQuery
from opsapp.tree.damage import NAMELESS
from opsapp.web import api
from opsapp.web.deletions import undoable
from opsapp.web.fields import Paging
from opsapp.web.listpages import in_order, page_of
from opsapp.wire.records import changed, extended, made

from . import schemas
from .engine import healing_windows, reach, windows
from .records import CalendarEntry, HealingWindowRecord, PreviewOfWindow, WindowCoverage, WindowDone, WindowRecord
from .resources import HealingWindow, HealingWindows, Window, Windows, zone_of

DAY_S = 86400


def answer(request: Request, window: Window, status: str) -> WindowDone:
    return extended(WindowDone, seen_of(request, window), status=status)


def unknown(context: Any, request: Request, sound: Any) -> dict[str, str]:
    """What is wrong with the scope that is given, but for what it covered already."""
    before = context.record.scope if isinstance(context, Window) else ()
    if request.sight is not None and ("scope" in sound or not before):
        return reach.wrong_scope(request.root, request.sight, sound.get("scope", ()), before)
    return windows.unknown_in(request.root, sound.get("scope", ()), before)


def seen_of(request: Request, window: Window) -> WindowRecord:
    """As it stands, with what is seen of its scope."""
    row = window.shown(request.now, zone_of(request.root))
    return next(iter(reach.narrowed([row], request.root, request.sight)))


@api.get(Windows, query=schemas.WindowQuery, returns=[WindowRecord], teams="filtered")
def listing(context: Windows, request: Request) -> Any:
    """All windows, oldest first; `active` true or false chooses, and `state`: of the planned, the next one is first, of
    the past the one that ended last. Who is in a team gets those that cover something that it sees, and of their scope
    this alone."""
    query = made(schemas.WindowQuery, request.valid_query)
    now, zone = request.now, zone_of(request.root)
    windows, damaged = context.parted_family(Window)
    rows = reach.narrowed([window.shown(now, zone) for window in windows], request.root, request.sight)
    rows += [
        WindowRecord(lost.name or NAMELESS, "", "", enabled=False, id=lost.id, unreadable=lost.reason)
        for lost in damaged
        if lost.id and request.sight is None
    ]
    chosen = filter(query.takes, rows)
    return page_of(request, in_order([*chosen], {"planned": "next_start", "past": "-end"}.get(query.state or "")))


@api.create(Windows, body=WindowRecord, also=unknown, returns=WindowDone, audit="window.create", teams="filtered")
def create(context: Windows, request: Request) -> Any:
    """A new maintenance window. Who is in a team names what it covers: what the team may act on."""
    window = windows.create(request.root, made(WindowRecord, request.valid_body), request.caller.name)
    request.audit("window.create", window.__name__, after=window.fields)
    return answer(request, window, "created")


@api.get(Windows, "calendar", query=SpanQuery, returns=[CalendarEntry], teams="filtered")
def calendar(context: Windows, request: Request) -> Any:
    """Every time that a window is on between `since` and `until` (left out: the 31 days from now), by start. At most
    62 days; of one window the first 100 times."""
    span = made(SpanQuery, request.valid_query).span(request.now, 31 * DAY_S, 62 * DAY_S)
    entries = windows.calendar(request.root, *span)
    return page_of(request, reach.narrowed(entries, request.root, request.sight))


@api.act(Windows, "preview", body=WindowRecord, also=unknown, returns=PreviewOfWindow, audit=False, teams="filtered")
def preview(context: Windows, request: Request) -> Any:
    """When such a window would be on next, the first five times, and what it would cover. Nothing is stored."""
    record = made(WindowRecord, request.valid_body)
    return PreviewOfWindow(windows.preview(request.root, record), windows.coverage(request.root, record.scope or None))


@api.get(Windows, "coverage", query=schemas.CoverageQuery, returns=WindowCoverage, teams="filtered")
def coverage(context: Windows, request: Request) -> Any:
    """How many monitors and hosts a window with this `scope` covers (ids or names; left out: everything), and how many
    of them are down now. Who is in a team gets figures of what it sees."""
    seen = None if request.sight is None else reach.reached(request.root, request.sight).seen
    return windows.coverage(request.root, made(schemas.CoverageQuery, request.valid_query).scope, seen)


@api.get(Window, returns=WindowRecord, teams="see")
def show(context: Window, request: Request) -> Any:
    """One window."""
    return seen_of(request, context)


@api.update(
    Window,
    body=WindowRecord,
    also=unknown,
    read_only=WindowDone,
    returns=WindowDone,
    audit="window.update",
    teams="act",
)
def update(context: Window, request: Request) -> Any:
    """Changes what is given, and leaves the rest."""
    before = context.fields
    windows.change(request.root, context, changed(context.record, request.valid_body))
    request.audit("window.update", context.__name__, before=before, after=context.fields)
    return answer(request, context, "updated")


@api.delete(Window, returns=schemas.WindowEnded, audit="window.delete", undoes=True, teams="act")
def delete(context: Window, request: Request) -> Any:
    """The window is gone."""
    request.audit("window.delete", context.__name__, before=context.fields)
    windows.delete(request.root, context)
    undoable(request, "window", context.record.name, context.__name__, context)
    return schemas.WindowEnded("deleted")


@api.act(Window, "activate", returns=WindowDone, audit="window.activate", teams="act")
def activate(context: Window, request: Request) -> Any:
    """On at once, for the window's own length."""
    windows.activate(request.root, context)
    request.audit("window.activate", context.__name__)
    return answer(request, context, "activated")


@api.act(Window, "deactivate", returns=WindowDone, audit="window.deactivate", teams="act")
def deactivate(context: Window, request: Request) -> Any:
    """Over at once. A recurring window comes again at its next time."""
    windows.deactivate(request.root, context)
    request.audit("window.deactivate", context.__name__)
    return answer(request, context, "deactivated")


@api.get(HealingWindows, query=Paging, returns=[HealingWindowRecord])
def healing_listing(context: HealingWindows, request: Request) -> Any:
    """Those that are on."""
    now = request.now
    return page_of(request, [window.shown(now) for window in healing_windows(request.root, now)])


@api.create(HealingWindows, body=HealingWindowRecord, returns=HealingWindowRecord, audit="healing.window.open")
def open_window(context: HealingWindows, request: Request) -> Any:
    """A healing window, from now on for so long."""
    window = windows.open_healing(request.root, request.valid_body, request.caller.name)
    request.audit("healing.window.open", window.__name__, after=request.valid_body)
    return window.shown(request.now)


@api.get(HealingWindow, returns=HealingWindowRecord)
def healing_window(context: HealingWindow, request: Request) -> Any:
    """One healing window."""
    return context.shown(request.now)


@api.delete(HealingWindow, returns=schemas.WindowEnded, audit="healing.window.end")
def end_window(context: HealingWindow, request: Request) -> Any:
    """Ends the window early."""
    windows.end_healing(request.root, context)
    request.audit("healing.window.end", context.__name__)
    return schemas.WindowEnded("ended")
