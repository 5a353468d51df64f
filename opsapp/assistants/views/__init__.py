"""/api/mcp: one message of JSON-RPC in, one answer out. There are neither sessions nor streams (GET is 405)."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.assistants.resources import Desk
from opsapp.assistants.schemas import McpMessage
from opsapp.web import api
from opsapp.web.bodies import RAW

from . import door


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
