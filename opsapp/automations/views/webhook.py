"""The inbound webhook: the token in the path is the secret."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from opsapp.automations import schemas
from opsapp.automations.engine import webhook_calls
from opsapp.automations.resources import Automation, WebhookAddress
from opsapp.lib.problems import NotFound
from opsapp.web.derivers import RAW

from . import asked


def whose(context: WebhookAddress, request: Request) -> Automation:
    """The automation whose token it is."""
    automation = webhook_calls.automation_of(request.root, context.__name__)
    if automation is None:
        raise NotFound("There is nothing here.")
    return automation


@view_config(
    context=WebhookAddress,
    request_method="POST",
    permission=NO_PERMISSION_REQUIRED,
    body=RAW,
    idempotent=whose,
    audit=False,
    returns=schemas.RunStarted,
    renderer="json",
)
def call_webhook(context: WebhookAddress, request: Request) -> Any:
    """Runs the automation; a JSON body gives the inputs."""
    automation = whose(context, request)
    now = request.node.clock.now()
    webhook_calls.count(request.root, automation, now)
    inputs = asked.webhook_inputs(request, automation)
    return webhook_calls.called(request.root, automation, inputs, request.client_ip, now)
