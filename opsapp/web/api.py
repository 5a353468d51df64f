"""How views say where they are, who may use them, and what they take and give.

    @api.get(Things, query=Paging, returns=[schemas.ThingRecord])
    @api.create(Things, body=schemas.NewThing, returns=schemas.ThingCreated, audit="thing.create")
    @api.update(Thing, body=schemas.NewThing, read_only=schemas.ThingRecord, returns=schemas.Updated)
    @api.act(Thing, "pause", role="admin", returns=schemas.Paused)

Viewers may read and operators may change things, unless `role` says otherwise. The second argument is the last part of
the path. The other options are those of `web.derivers` and of the rooms (`audit`, `confirmed`, `own_session`,
`idempotent`); Pyramid refuses one that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.security import NO_PERMISSION_REQUIRED
from pyramid.view import view_config

from opsapp.tree.acl import Permission

from .bodies import RAW
from .declared import adapted, answer_of, body_of, query_of

PERMISSIONS: dict[str, Any] = {
    "public": NO_PERMISSION_REQUIRED,
    "viewer": Permission.view,
    "operator": Permission.operate,
    "admin": Permission.administer,
    "agent": Permission.report,
    "node": Permission.relay,  # another node of the cluster
    "provider": Permission.provision,  # an identity provider, at /scim
}
Decorator = Callable[[Any], Any]


def get(context: type, name: str = "", *, role: str = "viewer", **options: Any) -> Decorator:
    """GET: reads."""
    return _view("GET", context, name, role, options)


def act(context: type, name: str = "", *, role: str = "operator", **options: Any) -> Decorator:
    """POST: does something to, or by, what is there."""
    return _view("POST", context, name, role, options)


def create(context: type, name: str = "", *, role: str = "operator", **options: Any) -> Decorator:
    return _view("POST", context, name, role, {"creates": True, **options})


def update(context: type, name: str = "", *, role: str = "operator", **options: Any) -> Decorator:
    """PUT: changes what is given; what is left out keeps its value."""
    return _view("PUT", context, name, role, {"partial": True, **options})


def replace(context: type, name: str = "", *, role: str = "operator", **options: Any) -> Decorator:
    return _view("PUT", context, name, role, options)


def patch(context: type, name: str = "", *, role: str = "operator", **options: Any) -> Decorator:
    """PATCH: for protocols of others that want it; the API itself has none."""
    return _view("PATCH", context, name, role, options)


def delete(context: type, name: str = "", *, role: str = "operator", **options: Any) -> Decorator:
    return _view("DELETE", context, name, role, options)


def submit(context: type, name: str = "", *, role: str = "viewer", **options: Any) -> Decorator:
    """POST: a form of a page, which the view reads itself. What it changes through the API is audited there."""
    return _view("POST", context, name, role, {"body": RAW, "audit": False, **options})


def _view(method: str, context: type, name: str, role: str, options: dict[str, Any]) -> Decorator:
    schemas = {"query": query_of, "body": body_of, "takes": body_of, "returns": answer_of, "read_only": answer_of}
    options |= {name: adapted(options[name], adapt) for name, adapt in schemas.items() if name in options}
    return view_config(
        request_method=method, context=context, name=name, permission=PERMISSIONS[role], renderer="json", **options
    )
