"""/api/healing/capabilities/{hostname}."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.view import view_config

from opsapp.healing import schemas
from opsapp.healing.engine.capabilities import capabilities_of, refresh_capabilities
from opsapp.healing.resources import CapabilitiesOf
from opsapp.tree.acl import Permission


@view_config(
    context=CapabilitiesOf,
    request_method="GET",
    permission=Permission.view,
    returns=schemas.CapabilityRecord,
    renderer="json",
)
def capabilities(context: CapabilitiesOf, request: Request) -> Any:
    """The tools that a host has, and which of them work."""
    return capabilities_of(request.root, context.__name__)


@view_config(
    context=CapabilitiesOf,
    name="refresh",
    request_method="POST",
    permission=Permission.operate,
    returns=schemas.Queued,
    renderer="json",
)
def refresh(context: CapabilitiesOf, request: Request) -> Any:
    """Has the agent try its tools again."""
    return refresh_capabilities(request.root, context.__name__, request.caller.name)
