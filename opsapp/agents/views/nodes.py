"""What one node asks another: to take what was heard there, and to have an agent measure or look of its own."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.agents.engine.relay import PATH, relay_of
from opsapp.agents.engine.sessions import MEASURE, PROBE, measured_here, probed_here
from opsapp.tree.root import Root
from opsapp.web import api
from opsapp.web.answers import later
from opsapp.web.bodies import RAW
from opsapp.web.jsontext import loads
from opsapp.wire.probes import Outcome
from opsapp.wire.records import plain
from opsapp.wire.reports import Measurement


@api.act(Root, PATH[1:], role="node", body=RAW)
def heard(context: Root, request: Request) -> Any:
    """Reports and output that another node heard; for memory alone."""
    request.node.post(relay_of(request.node).take, loads(request.body))
    return {"status": "ok"}


@api.act(Root, MEASURE[1:], role="node", body=RAW)
def measure(context: Root, request: Request) -> Any:
    """A fresh report of an agent whose session is here, or null."""
    node, asked = request.node, loads(request.body)
    return later(lambda: {"report": _plain(measured_here(node, **asked))})


@api.act(Root, PROBE[1:], role="node", body=RAW)
def probe(context: Root, request: Request) -> Any:
    """What an agent whose session is here sees of a target, or null."""
    node, asked = request.node, loads(request.body)
    return later(lambda: {"outcome": _told(probed_here(node, **asked))})


def _plain(report: Measurement | None) -> dict[str, object] | None:
    return None if report is None else plain(report)


def _told(seen: Outcome | None) -> dict[str, object] | None:
    """What is unknown is left out: a node of the version before may have asked, and does not know every name."""
    told = {} if seen is None else vars(seen)
    return {name: value for name, value in told.items() if name == "ok" or value is not None} or None
