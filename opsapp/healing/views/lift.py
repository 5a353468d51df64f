"""/api/healing/lift and /api/healing/wait: what healing is worth, and how long to wait before it."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import lift_answers, schemas
from opsapp.healing.engine import lift as worth
from opsapp.healing.resources import Healing
from opsapp.web import api


@api.get(Healing, "lift", query=schemas.OfRule, returns=lift_answers.LiftAnswer, errors=(404,))
def lift(context: Healing, request: Request) -> Any:
    """How many more cases of a rule recover with the heal than by themselves."""
    return worth.lift(request.root, request.valid_query["rule_id"])


@api.get(Healing, "wait", query=schemas.OfRule, returns=lift_answers.WaitAnswer, errors=(404,))
def wait(context: Healing, request: Request) -> Any:
    """How long to wait before acting costs the least expected downtime, and what it saves."""
    return worth.wait(request.root, request.valid_query["rule_id"], request.node.clock.now())
