"""The inbound webhook: the token in the path is the secret."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.automations import schemas
from opsapp.automations.engine import webhook_calls
from opsapp.automations.resources import Automation, WebhookAddress
from opsapp.lib.problems import NotFound
from opsapp.web import api
from opsapp.web.bodies import RAW

from . import bodies


def whose(context: WebhookAddress, request: Request) -> Automation:
    """The automation whose token it is."""
    automation = webhook_calls.automation_of(request.root, context.__name__)
    if automation is None:
        raise NotFound("There is no such webhook.")
    return automation


@api.act(
    WebhookAddress,
    role="public",
    body=RAW,
    takes=schemas.RUN_INPUTS,
    idempotent=whose,
    returns=schemas.RunStarted,
    errors=(429,),
    audit=False,
)
def call_webhook(context: WebhookAddress, request: Request) -> Any:
    """Runs the automation; a JSON body gives the inputs."""
    automation = whose(context, request)
    now = request.now
    webhook_calls.count(request.root, automation, now)
    inputs = bodies.webhook_inputs(request, automation)
    return webhook_calls.called(request.root, automation, inputs, request.client_ip, now)
