"""Views of holds: hands off a host, and who is here."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.agents.resources import Agent
from opsapp.healing import answers
from opsapp.healing.engine import holds
from opsapp.healing.health_answers import HoldSpan
from opsapp.healing.resources import Healing
from opsapp.maintenance.records import HealingWindowRecord
from opsapp.maintenance.resources import HealingWindow
from opsapp.web import api
from opsapp.wire.records import made, plain


def _shown(window: HealingWindow, request: Request) -> Any:
    return plain(window.shown(request.now))


@api.act(Agent, "hands-off", body=HoldSpan, returns=HealingWindowRecord)
def hands_off(context: Agent, request: Request) -> Any:
    """Until the end that is told, rules act one level lower on this host, and people are told."""
    window = holds.hands_off(request.root, context, made(HoldSpan, request.valid_body), request.caller.name)
    request.audit("agent.hands_off", context.id, after=request.valid_body)
    return _shown(window, request)


@api.delete(Agent, "hands-off", returns=answers.Status)
def hands_on(context: Agent, request: Request) -> Any:
    """Hands off this host is over, whoever said it."""
    holds.hands_on(request.root, context, request.caller.name)
    request.audit("agent.hands_off.end", context.id)
    return {"status": "ended"}


@api.act(Healing, "here", body=HoldSpan, returns=HealingWindowRecord)
def come(context: Healing, request: Request) -> Any:
    """I am here: until then, what has a medium risk is asked about and not done by itself."""
    window = holds.come(request.root, made(HoldSpan, request.valid_body), request.caller.name)
    request.audit("healing.here", "healing", after=request.valid_body)
    return _shown(window, request)


@api.delete(Healing, "here", returns=answers.Status)
def leave(context: Healing, request: Request) -> Any:
    """I am here no longer."""
    holds.leave(request.root, request.caller.name)
    request.audit("healing.here.end", "healing")
    return {"status": "ended"}
