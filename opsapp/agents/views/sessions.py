"""The door of an agent's session."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.agents.engine.policies import shown_key
from opsapp.agents.engine.session import LineClosed
from opsapp.agents.engine.sessions import sessions_of
from opsapp.agents.resources import Agent
from opsapp.web import api
from opsapp.web.answers import Upgrade
from opsapp.web.websocket import Closed
from opsapp.wire.frames import AGENT_SILENCE_S, CLOSE_STOPPED, MAX_TEXT_FRAME, PING_S


class SocketLine:
    """A WebSocket as a session sees it."""

    def __init__(self, socket: Any):
        self._socket = socket
        self.receive = socket.receive
        self.close = socket.close

    def fell_silent(self) -> bool:
        return bool(self._socket.fell_silent)

    def said_goodbye(self) -> bool:
        return bool(self._socket.close_code == CLOSE_STOPPED)

    def send(self, message: str | bytes) -> None:
        try:
            self._socket.send(message)
        except Closed as closed:
            raise LineClosed from closed


@api.get(Agent, "session", role="agent")
def session(context: Agent, request: Request) -> Any:
    """A WebSocket for the agent itself: docs/wire.md says what is spoken."""
    sessions, agent_id, key = sessions_of(request.node), context.id, shown_key(request.headers["X-Agent-Key"])
    ip = request.client_ip or ""
    return Upgrade(
        lambda socket: sessions.serve(agent_id, key, SocketLine(socket), ip),
        max_message=MAX_TEXT_FRAME,
        ping_every=PING_S,
        idle_after=AGENT_SILENCE_S,
    )
