"""Live logs and live metrics of an agent, as server-sent events."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from pyramid.request import Request

from opsapp.agents import schemas
from opsapp.agents.engine import records
from opsapp.agents.engine.directory import CHANGED
from opsapp.agents.engine.memory import memory_of
from opsapp.agents.engine.sessions import sessions_of
from opsapp.agents.engine.streams import AgentStream, EndOfStream
from opsapp.agents.resources import StreamFacet
from opsapp.lib.problems import Invalid, Unavailable
from opsapp.runtime.node import Node
from opsapp.web import api, peers, sse
from opsapp.web.answers import Head
from opsapp.wire.commands import LogParams
from opsapp.wire.messages import Lines, LogLine
from opsapp.wire.records import plain
from opsapp.wire.reports import AgentMetrics, Passed

from . import held_elsewhere
from .journals import require_reader

RESUME_LINES = 10_000
PLACE = re.compile(r"[0-9]{1,20}:[0-9]{1,20}:[0-9]{1,20}")


def when_gone(node: Node, agent_id: str, end: Callable[[str], None]) -> Callable[[], None]:
    """Calls `end(why)`; the answer stops listening."""

    def on_event(event: Any) -> None:
        data = event.data
        if event.kind == CHANGED and data["agent_id"] == agent_id and data.get("deleted"):
            end("agent_deleted")
        elif event.kind == "agent" and data["agent_id"] == agent_id and data["status"] in ("offline", "dead"):
            end("agent_offline")

    return node.events.listen(on_event)


class LogSource:
    """What the reader takes is what the agent may send more."""

    def __init__(self, node: Node, agent_id: str, params: Passed, after: str | None):
        self._node, self._agent_id = node, agent_id
        self._params, self._after = params, after
        self._stream: AgentStream | None = None
        self._stop: Callable[[], None] | None = None

    def open(self) -> Head:
        since = self._resume() if self._after is not None else None
        stream = self._stream = sessions_of(self._node).open_stream(self._agent_id, "logs", self._params)
        self._since = since or -math.inf
        stream.opened()
        self._stop = when_gone(self._node, self._agent_id, stream.close)
        return Head(headers={"X-Accel-Buffering": "no", "Cache-Control": "no-store"})

    def _resume(self) -> float | None:
        """What came behind the last line that was seen: in a file by its place, in a journal by its time."""
        since = time_of(self._after) if self._params["source"] == "journald" else None
        self._params["lines"] = 0 if since is None else RESUME_LINES
        if self._params["source"] == "file" and PLACE.fullmatch(self._after or ""):
            self._params["after"] = self._after
        return since

    def __iter__(self) -> Iterator[bytes]:
        assert self._stream is not None
        yield b"retry: %d\n\n" % sse.RETRY_MS
        number = 0
        while True:
            try:
                item = self._stream.take(sse.COMMENT_EVERY_S)
            except EndOfStream as ended:
                yield sse.encode({"reason": ended.message.code, "message": ended.message.message}, event="end")
                return
            if item is None:
                yield sse.COMMENT
            elif isinstance(item, Lines):
                fresh = [line for line in item.lines if line.time is None or line.time > self._since]
                yield b"".join(event_of(fresh_line, number + n) for n, fresh_line in enumerate(fresh, 1))
                number += len(fresh)
                self._stream.used(sum(line.size for line in item.lines))

    def end(self, reason: str) -> None:
        """Whoever reads may read no more."""
        if self._stream is not None:
            self._stream.close(reason)

    def close(self) -> None:
        if self._stop is not None:
            self._stop()
        if self._stream is not None:
            self._stream.close()


def event_of(line: LogLine, number: int) -> bytes:
    at = line.time
    name = line.place or f"{'' if at is None else repr(at)}-{number}"
    return sse.encode({"time": None if at is None else int(at), "line": line.line}, event="log", id=name)


def time_of(event_id: str | None) -> float | None:
    """When the line with this id was written."""
    try:
        return float((event_id or "").rpartition("-")[0])
    except ValueError:
        return None


@api.get(StreamFacet, "logs", query=schemas.Logs, returns=sse.CONTENT_TYPE, teams="see")
def logs(context: StreamFacet, request: Request) -> Any:
    """Log lines as they are written: events `log`, then `end`."""
    query = request.valid_query
    if query["source"] == "file" and query["path"] is None:
        raise Invalid({"path": "is required"})
    require_reader(request, LogParams(query["source"], query["unit"], query["path"]))
    other_node = held_elsewhere(request, context.__parent__)
    if other_node:
        return peers.forward(request, other_node)
    role = "viewer" if request.caller.role == "viewer" else "operator"
    params = {"role": role, **{name: value for name, value in query.items() if value is not None}}
    after = sse.last_event_id(request.headers, request.GET)
    return sse.event_stream(LogSource(request.node, context.__parent__.id, params, after))


@api.get(StreamFacet, "metrics", returns=sse.CONTENT_TYPE, teams="see")
def metrics(context: StreamFacet, request: Request) -> Any:
    """A snapshot now and with every report, every 5 s while somebody reads: events `metrics`, then `end`."""
    agent = context.__parent__
    if records.status_of(request.node, agent) != "online":
        raise Unavailable("The agent is not online.", code="agent_offline", retry_after=10)
    other_node = held_elsewhere(request, agent)
    if other_node:
        return peers.forward(request, other_node)
    return sse.event_stream(metrics_feed(request.node, agent.id))


def metrics_feed(node: Node, agent_id: str) -> sse.Feed:
    endings: list[Callable[[], None]] = []

    def put(feed: sse.Feed, metrics: AgentMetrics, at: float) -> None:
        feed.put({"time": int(at), **plain(metrics, AgentMetrics)}, event="metrics", id=int(at * 1000))

    def opening(feed: sse.Feed) -> None:
        now, at = records.metrics_of(node, agent_id)
        if at is not None:
            put(feed, now, at)
        endings.append(memory_of(node).watch(agent_id, lambda report, at: put(feed, report, at)))
        endings.append(when_gone(node, agent_id, feed.end))
        if agent_id in sessions_of(node).live:
            stream = sessions_of(node).open_stream(agent_id, "metrics", {})
            stream.on_closed = lambda message: feed.end(f"agent_{message.code}")
            endings.append(stream.close)

    def closing(_feed: sse.Feed) -> None:
        while endings:
            endings.pop()()

    return sse.Feed(node, opening=opening, closing=closing)
