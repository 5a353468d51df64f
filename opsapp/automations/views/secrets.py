"""/api/secrets: written by admins, read by runs alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyramid.request import Request
from pyramid.view import view_config

from opsapp.automations import schemas
from opsapp.automations.resources import Secret, Secrets, automations_of
from opsapp.tree.acl import Permission
from opsapp.web.fields import Paging
from opsapp.web.paging import page_of


def unknown_automations(request: Request, ids: Iterable[str], field: str = "allowed_for") -> dict[str, str]:
    unknown = sorted(each for each in ids if each not in automations_of(request.root))
    return {field: "there is no automation " + ", ".join(unknown)} if unknown else {}


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
    also=lambda secrets, request, sound: unknown_automations(request, sound.get("allowed_for", ())),
    audit="secret.create",
    returns=schemas.SecretCreated,
    creates=True,
    renderer="json",
)
def create_secret(context: Secrets, request: Request) -> Any:
    """A new secret; its value is never shown again."""
    body, now = request.valid_body, request.node.clock.now()
    made = context.add(request.root, body["name"], body["value"], request.caller.name, now)
    for automation_id in body["allowed_for"]:
        made.allow(automation_id)
    request.audit("secret.create", made.__name__, after={"name": made.name, "allowed_for": list(made.allowed_for)})
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
    read_only=("id", "name", "allowed_for", "lapsed", "created_at", "updated_at", "updated_by"),
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


@view_config(
    context=Secret,
    name="allow",
    request_method="POST",
    permission=Permission.administer,
    own_session=True,
    body=schemas.SecretUse,
    also=lambda secret, request, sound: unknown_automations(
        request, [sound["automation_id"]] if "automation_id" in sound else [], "automation_id"
    ),
    audit="secret.allow",
    returns=schemas.SecretUses,
    renderer="json",
)
def allow_secret(context: Secret, request: Request) -> Any:
    """This automation may use the secret; also once more after somebody who is no admin has edited it."""
    automation_id = request.valid_body["automation_id"]
    context.allow(automation_id)
    request.audit("secret.allow", context.__name__, after={"name": context.name, "automation_id": automation_id})
    return {"allowed_for": list(context.allowed_for), "lapsed": list(context.lapsed)}


@view_config(
    context=Secret,
    name="allow",
    request_method="DELETE",
    permission=Permission.administer,
    own_session=True,
    body=schemas.SecretUse,
    audit="secret.disallow",
    returns=schemas.SecretUses,
    renderer="json",
)
def disallow_secret(context: Secret, request: Request) -> Any:
    """This automation may use the secret no longer: its next run fails."""
    automation_id = request.valid_body["automation_id"]
    context.take_back(automation_id)
    request.audit("secret.disallow", context.__name__, before={"name": context.name, "automation_id": automation_id})
    return {"allowed_for": list(context.allowed_for), "lapsed": list(context.lapsed)}
