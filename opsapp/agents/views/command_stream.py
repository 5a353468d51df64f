"""What a running command writes, as server-sent events: `output` as it comes, then `end`.

Output from before the reader came is not kept: the record has all of it once the command is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.request import Request

from opsapp.agents.engine import commands
from opsapp.agents.engine.outputs import outputs_of
from opsapp.agents.resources import Command
from opsapp.runtime.node import Node
from opsapp.web import api, sse
from opsapp.wire.commands import LogParams
from opsapp.wire.records import made

from .journals import require_reader


@api.get(Command, "stream", role="operator", returns=sse.CONTENT_TYPE, teams="see")
def stream(context: Command, request: Request) -> Any:
    """Its output from now on: events `output`, then `end`. One with a secret in it shows none."""
    if context.type == "logs":
        require_reader(request, made(LogParams, context.params))
    return sse.event_stream(output_feed(request.node, context, concealed=context.sealed is not None))


def output_feed(node: Node, command: Command, *, concealed: bool) -> sse.Feed:
    agent_id, command_id = command.__parent__.__parent__.id, command.__name__
    endings: list[Callable[[], None]] = []

    def opening(feed: sse.Feed) -> None:
        def on_event(event: Any) -> None:
            if ends(event, agent_id, command_id):
                feed.end("over")

        def on_output(seq: int, text: str) -> None:
            feed.put({"text": text}, event="output", id=seq)

        endings.append(node.events.listen(on_event))
        if not concealed:
            endings.append(outputs_of(node).watch(command_id, on_output))
        record = node.transact(commands.command_of, agent_id, command_id)
        if record is None or record.finished_at is not None:
            feed.end("over")

    def closing(_feed: sse.Feed) -> None:
        while endings:
            endings.pop()()

    return sse.Feed(node, opening=opening, closing=closing)


def ends(event: Any, agent_id: str, command_id: str) -> bool:
    data = event.data
    if event.kind == commands.EVENT:
        return command_id in data["ended"]
    return event.kind == "agent" and data["agent_id"] == agent_id and data["status"] == "deleted"
