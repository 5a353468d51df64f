"""Reading the audit record."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.view import view_config

from opsapp.tree.acl import Permission

from . import resources, schemas


@view_config(
    context=resources.Audit,
    request_method="GET",
    permission=Permission.administer,
    query=schemas.AuditQuery,
    returns=[schemas.AuditEntry],
    renderer="json",
)
def entries(context: resources.Audit, request: Request) -> list[dict[str, Any]]:
    """Newest first."""
    page, total = resources.read(request.root, request.valid_query)
    request.response.headers["X-Total-Count"] = str(total)
    return page
