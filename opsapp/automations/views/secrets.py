"""/api/secrets: written by admins, read by runs alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyramid.request import Request

from opsapp.automations import schemas
from opsapp.automations.resources import Secret, Secrets, automations_of
from opsapp.runtime.projection import readable
from opsapp.web import api
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.web.schemas import Deleted


def unknown_automations(request: Request, ids: Iterable[str], field: str = "allowed_for") -> dict[str, str]:
    unknown = sorted(automation_id for automation_id in ids if automation_id not in automations_of(request.root))
    return {field: "there is no automation " + ", ".join(unknown)} if unknown else {}


@api.get(Secrets, role="admin", query=Paging, returns=[schemas.SecretRecord])
def list_secrets(context: Secrets, request: Request) -> Any:
    """Their names; nobody is shown a value."""
    shown = (secret.plain() for _, secret in readable(context, "secret"))
    return page_of(request, sorted(shown, key=lambda record: record["name"]))


@api.create(
    Secrets,
    role="admin",
    confirmed=True,
    body=schemas.NewSecret,
    also=lambda secrets, request, sound: unknown_automations(request, sound.get("allowed_for", ())),
    returns=schemas.SecretCreated,
    audit="secret.create",
)
def create_secret(context: Secrets, request: Request) -> Any:
    """A new secret; its value is never shown again."""
    body, now = request.valid_body, request.node.clock.now()
    made = context.add(request.root, body["name"], body["value"], request.caller.name, now)
    for automation_id in body["allowed_for"]:
        made.allow(automation_id)
    request.audit("secret.create", made.__name__, after={"name": made.name, "allowed_for": list(made.allowed_for)})
    return {**made.plain(), "status": "created"}


@api.get(Secret, role="admin", returns=schemas.SecretRecord)
def get_secret(context: Secret, request: Request) -> Any:
    """One secret, without its value."""
    return context.plain()


@api.update(
    Secret,
    role="admin",
    confirmed=True,
    body=schemas.SecretValue,
    read_only=schemas.SecretRecord,
    returns=schemas.SecretUpdated,
    audit="secret.update",
)
def update_secret(context: Secret, request: Request) -> Any:
    """Another value; without one it keeps the value that it has."""
    if "value" in request.valid_body:
        context.put(request.root, request.valid_body["value"], request.caller.name, request.node.clock.now())
    request.audit("secret.update", context.__name__, after={"name": context.name})
    return {**context.plain(), "status": "updated"}


@api.delete(Secret, role="admin", own_session=True, returns=Deleted, audit="secret.delete")
def delete_secret(context: Secret, request: Request) -> Any:
    """The secret is gone."""
    request.audit("secret.delete", context.__name__, before={"name": context.name})
    context.__parent__.remove(context)
    return {"status": "deleted"}


@api.act(
    Secret,
    "allow",
    role="admin",
    own_session=True,
    body=schemas.SecretUse,
    also=lambda secret, request, sound: unknown_automations(
        request, [sound["automation_id"]] if "automation_id" in sound else [], "automation_id"
    ),
    returns=schemas.SecretUses,
    audit="secret.allow",
)
def allow_secret(context: Secret, request: Request) -> Any:
    """This automation may use the secret; also once more after somebody who is no admin has edited it."""
    automation_id = request.valid_body["automation_id"]
    context.allow(automation_id)
    request.audit("secret.allow", context.__name__, after={"name": context.name, "automation_id": automation_id})
    return {"allowed_for": list(context.allowed_for), "lapsed": list(context.lapsed)}


@api.delete(
    Secret,
    "allow",
    role="admin",
    own_session=True,
    body=schemas.SecretUse,
    returns=schemas.SecretUses,
    audit="secret.disallow",
)
def disallow_secret(context: Secret, request: Request) -> Any:
    """This automation may use the secret no longer: its next run fails."""
    automation_id = request.valid_body["automation_id"]
    context.take_back(automation_id)
    request.audit("secret.disallow", context.__name__, before={"name": context.name, "automation_id": automation_id})
    return {"allowed_for": list(context.allowed_for), "lapsed": list(context.lapsed)}
