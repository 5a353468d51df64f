"""/api/mcp: one message of JSON-RPC in, one answer out, without sessions and streams (GET is 405)."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.assistants.resources import Desk
from opsapp.web import api
from opsapp.web.bodies import RAW
from opsapp.web.fields import Body, anything, choice, map_of, text

from . import door


class McpMessage(Body):
    """One message of JSON-RPC; `logic.jsonrpc` reads it."""

    sample = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    jsonrpc = choice("2.0")
    id = anything(optional=True)
    method = text(optional=True)
    params = map_of(anything(), optional=True)


@api.act(
    Desk,
    role="viewer",
    body=RAW,
    takes=McpMessage,
    assistants=True,
    audit=False,
    returns="application/json",
    accepts=True,
    errors=(400, 415, 429),
)
def message(context: Desk, request: Request) -> Any:
    """One message of the Model Context Protocol (streamable HTTP). A notification is answered with 202 and no body."""
    return door.answer(request)
