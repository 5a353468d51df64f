"""/api/agents over the resources and the engine. One file per kind of thing; what all of them need is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyramid.request import Request

from opsapp.agents.engine import records
from opsapp.agents.resources import Agent
from opsapp.web.peers import is_forwarded


def page(request: Request, rows: Sequence[Any]) -> list[Any]:
    """The part of a list that the query asks for, and how many there are."""
    query = request.valid_query
    request.response.headers["X-Total-Count"] = str(len(rows))
    stop = None if query["limit"] is None else query["offset"] + query["limit"]
    return list(rows[query["offset"] : stop])


def held_elsewhere(request: Request, agent: Agent) -> str | None:
    """The other node that has to answer this, because the agent's session is there."""
    return None if is_forwarded(request) else records.held_by(request.node, agent)
