"""What a limited person (in a team, ADR 148) may see: asked of every context and view. `request.sight` is None for
others. Rooms say which tags a class of things has (`config.add_reach`), views how they keep within them:

    teams="see"       (act, change, approve) the thing that it is about has to be reached by this right
    teams="filtered"  it answers only what `request.sight` sees
    teams="own"       it is about the caller's own account, or about nothing that carries tags

A view that says nothing is refused to limited people. What is not seen answers as what does not exist. Must not: know a
feature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from pyramid.config import Configurator
from pyramid.events import ContextFound
from pyramid.request import Request
from pyramid.security import NO_PERMISSION_REQUIRED

from opsapp.lib.problems import Forbidden, NotFound
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node
from opsapp.tree.rights import RIGHTS, Right, Sight, Tags

from .answers import Answer
from .identity import Identity
from .jsontext import dumps, loads

OPEN = ("own", "filtered", *RIGHTS)
STREAM_S = 300.0  # a stream of a limited person is opened anew as often, and judged again
EVENT_STREAM = "text/event-stream"

View = Callable[[Any, Request], Any]
SightReader = Callable[[Any, Identity], Sight | None]
Reach = Callable[[Any], Tags]
EventReach = Callable[[Node, Event], Tags]
Narrowing = Callable[[Event], Event]


def sight(request: Request) -> Sight | None:
    """`request.sight`: what the caller's teams let them see; None for whoever is not limited."""
    reader: SightReader | None = request.registry.opsapp_sight_reader
    return None if request.caller is None or reader is None else reader(request.root, request.caller)


def may(request: Request, place: Any, right: Right) -> bool:
    limits: Sight = request.sight
    tags = tags_of(request.registry, place)
    return tags is not None and limits.may(right, tags)


def tags_of(registry: Any, place: Any) -> Tags | None:
    """The tags of the nearest thing above that has any, itself included; None where nothing there carries tags."""
    reaches: dict[type, Reach] = registry.opsapp_reaches
    for node in lineage(place):
        reach = reaches.get(type(node))
        if reach is not None:
            return reach(node)
    return None


def require_present(request: Request, at: object) -> None:
    """The past had other tags: it is not shown to who sees by tags."""
    if at is not None and request.sight is not None:
        raise Forbidden("You are in a team, and the past cannot be narrowed to what it may see.", code="not_for_teams")


def lineage(node: Any) -> Iterator[Any]:
    while node is not None:
        yield node
        node = node.__parent__


def on_context(event: ContextFound) -> None:
    """What carries tags and is not seen is not there, whatever is asked of it."""
    request = event.request
    if getattr(request, "caller", None) is None or request.sight is None:
        return
    tags = tags_of(request.registry, request.context)
    if tags is not None and not request.sight.sees(tags):
        raise hidden()


def hidden() -> NotFound:
    return NotFound("There is nothing here.")


def is_named(context: Any) -> bool:
    """Whether it is a thing with an id, and so something whose existence tells something."""
    return any("{" in str(getattr(type(node), "url", "")) for node in lineage(context))


def refused(request: Request, context: Any) -> Forbidden | NotFound:
    """For a limited person a named thing that is not open does not exist."""
    if is_named(context) and tags_of(request.registry, context) is None:
        return hidden()
    return Forbidden(
        "You are in a team, and this cannot be narrowed to what your team may see. Ask an admin.", code="not_for_teams"
    )


def teams_deriver(view: View, info: Any) -> View:
    wanted = info.options.get("teams")
    if wanted is not None and wanted not in OPEN:
        raise TypeError(f"teams={wanted!r} is none of {', '.join(OPEN)}")
    if info.exception_only or info.options.get("permission") == NO_PERMISSION_REQUIRED:
        return view

    def wrapped(context: Any, request: Request) -> Any:
        if request.caller is None or request.sight is None:
            return view(context, request)
        if wanted is None:
            raise refused(request, context)
        if wanted in RIGHTS and not may(request, context, wanted):
            raise Forbidden(f"Your team may not {wanted} here.", code="team_right_missing")
        answer = view(context, request)
        if isinstance(answer, Answer) and answer.content_type == EVENT_STREAM:
            request.caller = _for_a_while(request)
        return answer

    return wrapped


teams_deriver.options = ("teams",)  # type: ignore[attr-defined]


def _for_a_while(request: Request) -> Identity:
    """Tags change while a stream lasts: it ends, and who opens it again is judged again."""
    caller: Identity = request.caller
    until = request.now + STREAM_S
    return caller._replace(expires_at=min(math.inf if caller.expires_at is None else caller.expires_at, until))


def told(registry: Any, node: Node, sight: Sight, event: Event) -> str | None:
    """An event as JSON, as a limited person may have it; None where it is not theirs."""
    if not passes(registry, node, sight, event):
        return None
    narrow: Narrowing | None = registry.opsapp_event_narrowings.get(event.kind)
    return event.text if narrow is None else _narrowed(narrow, event.text)


@lru_cache(maxsize=256)
def _narrowed(narrow: Narrowing, text: str) -> str:
    """An event goes to many streams, and is narrowed once."""
    return dumps(narrow(Event("", "", loads(text), 0.0)).data)


def passes(registry: Any, node: Node, sight: Sight, event: Event) -> bool:
    """Whether an event may be told to a limited person; kinds without a reach never are."""
    reach: EventReach | None = registry.opsapp_event_reaches.get(event.kind)
    return reach is not None and sight.sees(reach(node, event))


def add_reach(config: Configurator, kind: type, reach: Reach) -> None:
    """Directive: `reach(thing)` answers the tags of a thing of this class and of what hangs below it; of one that is
    about several things, the tags of each."""
    config.registry.opsapp_reaches[kind] = reach


def add_event_reach(config: Configurator, kind: str, reach: EventReach, narrow: Narrowing | None = None) -> None:
    """Directive: `reach(node, event)` answers the tags of what an event tells of; from memory alone. `narrow`: it
    without what may name others."""
    config.registry.opsapp_event_reaches[kind] = reach
    if narrow is not None:
        config.registry.opsapp_event_narrowings[kind] = narrow


def set_sight_reader(config: Configurator, reader: SightReader) -> None:
    """Directive: `reader(root, caller)` answers what a caller's teams let them see, or None."""
    config.registry.opsapp_sight_reader = reader


def includeme(config: Configurator) -> None:
    config.registry.opsapp_reaches = {}
    config.registry.opsapp_event_reaches = {}
    config.registry.opsapp_event_narrowings = {}
    config.registry.opsapp_sight_reader = None
    config.add_directive("add_reach", add_reach)
    config.add_directive("add_event_reach", add_event_reach)
    config.add_directive("set_sight_reader", set_sight_reader)
    config.add_request_method(sight, "sight", reify=True)
    config.add_subscriber(on_context, ContextFound)
    config.add_view_deriver(teams_deriver, "teams", under="subpath", over="secured_view")
