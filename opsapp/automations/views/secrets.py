"""/api/secrets: written by admins, read by runs alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyramid.request import Request

from opsapp.automations.records import NewSecret, SecretDone, SecretRecord, SecretUse, SecretUses, SecretValue
from opsapp.automations.resources import Secret, Secrets, automations_of
from opsapp.web import api
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.web.schemas import Deleted
from opsapp.wire.records import extended, made


def unknown_automations(request: Request, ids: Iterable[str], field: str = "allowed_for") -> dict[str, str]:
    unknown = sorted(automation_id for automation_id in ids if automation_id not in automations_of(request.root))
    return {field: "there is no automation " + ", ".join(unknown)} if unknown else {}


def done(secret: Secret, status: str) -> SecretDone:
    return extended(SecretDone, secret.record, status=status)


@api.get(Secrets, role="admin", query=Paging, returns=[SecretRecord])
def list_secrets(context: Secrets, request: Request) -> Any:
    """Their names; nobody is shown a value."""
    records = (secret.record for secret in context.values())
    return page_of(request, sorted(records, key=lambda record: record.name))


@api.create(
    Secrets,
    role="admin",
    confirmed=True,
    body=NewSecret,
    also=lambda secrets, request, sound: unknown_automations(request, sound.get("allowed_for", ())),
    returns=SecretDone,
    audit="secret.create",
)
def create_secret(context: Secrets, request: Request) -> Any:
    """A new secret; its value is never shown again."""
    wanted, now = made(NewSecret, request.valid_body), request.now
    secret = context.add(request.root, wanted.name, wanted.value, request.caller.name, now)
    for automation_id in wanted.allowed_for:
        secret.allow(automation_id)
    after = {"name": secret.name, "allowed_for": list(secret.allowed_for)}
    request.audit("secret.create", secret.__name__, after=after)
    return done(secret, "created")


@api.get(Secret, role="admin", returns=SecretRecord)
def get_secret(context: Secret, request: Request) -> Any:
    """One secret, without its value."""
    return context.record


@api.update(
    Secret,
    role="admin",
    confirmed=True,
    body=SecretValue,
    read_only=SecretRecord,
    returns=SecretDone,
    audit="secret.update",
)
def update_secret(context: Secret, request: Request) -> Any:
    """Another value; without one it keeps the value that it has."""
    if "value" in request.valid_body:
        context.put(request.root, request.valid_body["value"], request.caller.name, request.now)
    request.audit("secret.update", context.__name__, after={"name": context.name})
    return done(context, "updated")


@api.delete(Secret, role="admin", own_session=True, returns=Deleted, audit="secret.delete")
def delete_secret(context: Secret, request: Request) -> Deleted:
    """The secret is gone."""
    request.audit("secret.delete", context.__name__, before={"name": context.name})
    context.__parent__.remove(context)
    return Deleted()


@api.act(
    Secret,
    "allow",
    role="admin",
    own_session=True,
    body=SecretUse,
    also=lambda secret, request, sound: unknown_automations(
        request, [sound["automation_id"]] if "automation_id" in sound else [], "automation_id"
    ),
    returns=SecretUses,
    audit="secret.allow",
)
def allow_secret(context: Secret, request: Request) -> Any:
    """This automation may use the secret; also once more after somebody who is no admin has edited it."""
    automation_id = request.valid_body["automation_id"]
    context.allow(automation_id)
    request.audit("secret.allow", context.__name__, after={"name": context.name, "automation_id": automation_id})
    return context.uses


@api.delete(
    Secret, "allow", role="admin", own_session=True, body=SecretUse, returns=SecretUses, audit="secret.disallow"
)
def disallow_secret(context: Secret, request: Request) -> Any:
    """This automation may use the secret no longer: its next run fails."""
    automation_id = request.valid_body["automation_id"]
    context.take_back(automation_id)
    request.audit("secret.disallow", context.__name__, before={"name": context.name, "automation_id": automation_id})
    return context.uses
