"""/api/agents over the resources and the engine. What all views need is here."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.agents.engine import records
from opsapp.agents.resources import Agent
from opsapp.web.peers import is_forwarded


def held_elsewhere(request: Request, agent: Agent) -> str | None:
    """The other node that has to answer this, because the agent's session is there."""
    return None if is_forwarded(request) else records.held_by(request.node, agent)
