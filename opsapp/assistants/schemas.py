"""What the door takes. What the tools take: `inputs`."""

from __future__ import annotations

from opsapp.web.fields import Body, anything, choice, map_of, text


class McpMessage(Body):
    """One message of JSON-RPC; `logic.jsonrpc` reads it."""

    sample = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    jsonrpc = choice("2.0")
    id = anything(optional=True)
    method = text(optional=True)
    params = map_of(anything(), optional=True)
