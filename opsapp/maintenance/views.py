"""/api/maintenance and /api/healing/maintenance."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.damage import Damage
from opsapp.web import api
from opsapp.web.fields import Paging
from opsapp.web.paging import page_of

from . import schemas
from .engine import healing_windows, windows
from .resources import HealingWindow, HealingWindows, Window, Windows, zone_of

DAY_S = 86400
UNREAD: JsonObject = {
    "start": "",
    "end": "",
    "recurring": None,
    "scope": [],
    "autonomy_override": "disabled",
    "enabled": False,
    "active": False,
    "next_start": None,
    "next_end": None,
    "created_by": "",
    "created_at": 0,
    "source": "api",
}


def plain(request: Request, window: Window, **more: Any) -> JsonObject:
    return {**window.plain(request.node.clock.now(), zone_of(request.root)), **more}


@api.get(Windows, query=schemas.WindowQuery, returns=[schemas.WindowRecord])
def listing(context: Windows, request: Request) -> Any:
    """All windows, oldest first; `active` true or false chooses."""
    wanted = request.valid_query["active"]
    damaged: list[Damage] = []
    rows = [plain(request, window) for window in context.of_family(Window, damaged)]
    rows += [damage.row(**UNREAD) for damage in damaged if damage.id]
    return page_of(request, [row for row in rows if wanted is None or row["active"] == wanted])


@api.create(
    Windows,
    body=schemas.NewWindow,
    also=lambda context, request, sound: windows.unknown_in(request.root, sound),
    returns=schemas.WindowDone,
    audit="window.create",
)
def create(context: Windows, request: Request) -> Any:
    """A new maintenance window."""
    window = windows.create(request.root, request.valid_body, request.caller.name)
    request.audit("window.create", window.__name__, after=window.fields)
    return plain(request, window, status="created")


@api.get(Windows, "calendar", query=schemas.CalendarQuery, returns=[schemas.CalendarEntry])
def calendar(context: Windows, request: Request) -> Any:
    """Every time that a window is on between `since` and `until` (left out: the 31 days from now), by start. At most
    62 days; of one window the first 100 times."""
    query, now = request.valid_query, request.node.clock.now()
    since = now if query["since"] is None else query["since"]
    until = since + 31 * DAY_S if query["until"] is None else query["until"]
    return page_of(request, windows.calendar(request.root, since, min(until, since + 62 * DAY_S)))


@api.act(
    Windows,
    "preview",
    body=schemas.NewWindow,
    also=lambda context, request, sound: windows.unknown_in(request.root, sound),
    returns=schemas.PreviewOfWindow,
    audit=False,
)
def preview(context: Windows, request: Request) -> Any:
    """When such a window would be on next, the first five times. Nothing is stored."""
    return {"occurrences": windows.preview(request.root, request.valid_body)}


@api.get(Window, returns=schemas.WindowRecord)
def show(context: Window, request: Request) -> Any:
    """One window."""
    return plain(request, context)


@api.update(
    Window,
    body=schemas.NewWindow,
    also=lambda window, request, sound: windows.unknown_in(request.root, sound, window.fields["scope"]),
    read_only=schemas.WindowDone,
    returns=schemas.WindowDone,
    audit="window.update",
)
def update(context: Window, request: Request) -> Any:
    """Changes what is given, and leaves the rest."""
    before = context.fields
    windows.change(request.root, context, request.valid_body)
    request.audit("window.update", context.__name__, before=before, after=context.fields)
    return plain(request, context, status="updated")


@api.delete(Window, returns=schemas.WindowEnded, audit="window.delete")
def delete(context: Window, request: Request) -> Any:
    """The window is gone."""
    request.audit("window.delete", context.__name__, before=context.fields)
    windows.delete(request.root, context)
    return {"status": "deleted"}


@api.act(Window, "activate", returns=schemas.WindowDone, audit="window.activate")
def activate(context: Window, request: Request) -> Any:
    """On at once, for the window's own length."""
    windows.activate(request.root, context)
    request.audit("window.activate", context.__name__)
    return plain(request, context, status="activated")


@api.act(Window, "deactivate", returns=schemas.WindowDone, audit="window.deactivate")
def deactivate(context: Window, request: Request) -> Any:
    """Over at once. A recurring window comes again at its next time."""
    windows.deactivate(request.root, context)
    request.audit("window.deactivate", context.__name__)
    return plain(request, context, status="deactivated")


@api.get(HealingWindows, query=Paging, returns=[schemas.HealingWindowRecord])
def healing_listing(context: HealingWindows, request: Request) -> Any:
    """Those that are on."""
    now = request.node.clock.now()
    return page_of(request, [window.plain(now) for window in healing_windows(request.root, now)])


@api.create(
    HealingWindows, body=schemas.NewHealingWindow, returns=schemas.HealingWindowRecord, audit="healing.window.open"
)
def open_window(context: HealingWindows, request: Request) -> Any:
    """A healing window, from now on for so long."""
    window = windows.open_healing(request.root, request.valid_body, request.caller.name)
    request.audit("healing.window.open", window.__name__, after=request.valid_body)
    return window.plain(request.node.clock.now())


@api.get(HealingWindow, returns=schemas.HealingWindowRecord)
def healing_window(context: HealingWindow, request: Request) -> Any:
    """One healing window."""
    return context.plain(request.node.clock.now())


@api.delete(HealingWindow, returns=schemas.WindowEnded, audit="healing.window.end")
def end_window(context: HealingWindow, request: Request) -> Any:
    """Ends the window early."""
    windows.end_healing(request.root, context)
    request.audit("healing.window.end", context.__name__)
    return {"status": "ended"}
