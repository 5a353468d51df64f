"""/api/stream: the outbox as server-sent events."""

from __future__ import annotations

import threading
from collections.abc import Callable

from opsapp.runtime.events import Event
from opsapp.runtime.node import Node
from opsapp.tree.rights import Sight

from .shown import public_json
from .sight import told
from .sse import Feed


def feed(node: Node, after: str | None, *, whole: bool, pulse: int | None = None, sight: Sight | None = None) -> Feed:
    """What came after the event `after`, as far as it is remembered, and everything from now on; `whole`: also what
    viewers may not see. `sight`: what the reader's teams see alone."""
    stop: list[Callable[[], None]] = []

    def hand_on(feed: Feed, event: Event) -> None:
        if event.kind.startswith("_"):
            return
        text = event.text if sight is None else told(node.registry, node, sight, event)
        if text is not None:
            feed.put(text if whole else public_json(text), event=event.kind, id=event.id)

    def opening(feed: Feed) -> None:
        for event in node.events.since(after):
            hand_on(feed, event)
        stop.append(node.events.listen(lambda event: hand_on(feed, event)))

    def closing(_feed: Feed) -> None:
        while stop:
            stop.pop()()

    return Feed(node, opening=opening, closing=closing, poll=lambda: _poll(node), pulse=pulse)


def _poll(node: Node) -> None:
    """Without a hub (waitress, WebTest) the streams' threads read the outbox in turn."""
    with _POLLING:
        if not node.hub.running:
            node.events.step()


_POLLING = threading.Lock()
