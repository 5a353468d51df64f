"""/api/secrets: written by admins, read by runs alone."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.view import view_config

from opsapp.automations import schemas
from opsapp.automations.resources import Secret, Secrets
from opsapp.tree.acl import Permission
from opsapp.web.fields import Paging
from opsapp.web.paging import page_of


@view_config(
    context=Secrets,
    request_method="GET",
    permission=Permission.administer,
    query=Paging,
    returns=[schemas.SecretRecord],
    renderer="json",
)
def list_secrets(context: Secrets, request: Request) -> Any:
    """Their names; nobody is shown a value."""
    return page_of(request, sorted((each.plain() for each in context.values()), key=lambda each: each["name"]))


@view_config(
    context=Secrets,
    request_method="POST",
    permission=Permission.administer,
    confirmed=True,
    body=schemas.NewSecret,
    audit="secret.create",
    returns=schemas.SecretCreated,
    creates=True,
    renderer="json",
)
def create_secret(context: Secrets, request: Request) -> Any:
    """A new secret; its value is never shown again."""
    body, now = request.valid_body, request.node.clock.now()
    made = context.add(request.root, body["name"], body["value"], request.caller.name, now)
    request.audit("secret.create", made.__name__, after={"name": made.name})
    return {"id": made.__name__, "name": made.name, "status": "created"}


@view_config(
    context=Secret,
    request_method="GET",
    permission=Permission.administer,
    returns=schemas.SecretRecord,
    renderer="json",
)
def get_secret(context: Secret, request: Request) -> Any:
    """One secret, without its value."""
    return context.plain()


@view_config(
    context=Secret,
    request_method="PUT",
    permission=Permission.administer,
    confirmed=True,
    body=schemas.SecretValue,
    read_only=("id", "name", "created_at", "updated_at", "updated_by"),
    audit="secret.update",
    returns=schemas.Updated,
    renderer="json",
)
def update_secret(context: Secret, request: Request) -> Any:
    """Another value."""
    context.put(request.root, request.valid_body["value"], request.caller.name, request.node.clock.now())
    request.audit("secret.update", context.__name__, after={"name": context.name})
    return {"status": "updated"}


@view_config(
    context=Secret,
    request_method="DELETE",
    permission=Permission.administer,
    own_session=True,
    audit="secret.delete",
    returns=schemas.Deleted,
    renderer="json",
)
def delete_secret(context: Secret, request: Request) -> Any:
    """The secret is gone."""
    request.audit("secret.delete", context.__name__, before={"name": context.name})
    context.__parent__.remove(context)
    return {"status": "deleted"}
