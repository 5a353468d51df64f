"""/api/healing/capabilities/{hostname}."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.healing import records
from opsapp.healing.engine.fleet import capabilities_of, refresh_capabilities
from opsapp.healing.resources import CapabilitiesOf
from opsapp.web import api


@api.get(CapabilitiesOf, returns=records.CapabilityRecord, errors=(409,))
def capabilities(context: CapabilitiesOf, request: Request) -> Any:
    """The tools that a host has, and which of them work."""
    return capabilities_of(request.root, context.__name__)


@api.act(CapabilitiesOf, "refresh", returns=records.Queued)
def refresh(context: CapabilitiesOf, request: Request) -> Any:
    """Has the agent try its tools again."""
    return refresh_capabilities(request.root, context.__name__, request.caller.name)
