"""What one node asks another: to take what was heard there, and to have an agent measure or look of its own."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.agents.engine.relay import PATH, relay_of
from opsapp.agents.engine.sessions import MEASURE, PROBE, measured_here, probed_here
from opsapp.tree.root import Root
from opsapp.web import api
from opsapp.web.answers import Deferred
from opsapp.web.bodies import RAW
from opsapp.web.jsontext import loads


@api.act(Root, PATH[1:], role="node", body=RAW)
def heard(context: Root, request: Request) -> Any:
    """Reports and output that another node heard; for memory alone."""
    request.node.post(relay_of(request.node).take, loads(request.body))
    return {"status": "ok"}


@api.act(Root, MEASURE[1:], role="node", body=RAW)
def measure(context: Root, request: Request) -> Any:
    """A fresh report of an agent whose session is here, or null."""
    node, asked = request.node, loads(request.body)
    return Deferred(
        lambda: (200, {}, {"report": measured_here(node, asked["agent_id"], asked["timeout"], asked["token"])})
    )


@api.act(Root, PROBE[1:], role="node", body=RAW)
def probe(context: Root, request: Request) -> Any:
    """What an agent whose session is here sees of a target, or null."""
    node, asked = request.node, loads(request.body)
    return Deferred(lambda: (200, {}, {"outcome": probed_here(node, asked["agent_id"], asked["target"])}))
