"""/scim/v2/Users: those that a provider made, and no other users."""

from __future__ import annotations

from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth import engine
from opsapp.auth.resources import ProvisionedUser, ProvisionedUsers, provisioned_groups_of, users_of
from opsapp.scim.logic import people
from opsapp.scim.logic.filters import WantedValue, wanted_in
from opsapp.scim.logic.operations import operations_in
from opsapp.scim.logic.shown import ResourceMeta, ResourceReference, ScimUser, emails_of, moment, name_of
from opsapp.web import api
from opsapp.web.bodies import RAW

from .answers import CONTENT_TYPE, body_of, chosen_in, group_place, listed, nothing, page_of, resource, user_place

KNOWN = frozenset({"id", "username", "externalid"})


@api.get(ProvisionedUsers, role="provider", returns=CONTENT_TYPE)
def scim_users(context: ProvisionedUsers, request: Request) -> Response:
    """A page of them, or those that a filter names."""
    page, ids = page_of(request), _found(context, request)
    rows = tuple(shown(request, entry) for entry in context.some(page.of(ids)))
    return listed(request, len(ids), page.start, rows)


def _found(context: ProvisionedUsers, request: Request) -> list[str]:
    text = request.GET.get("filter", "")
    if not text:
        return list(context.keys())
    return sorted(set.intersection(*(set(_with(context, wanted)) for wanted in wanted_in(text, KNOWN))))


def _with(context: ProvisionedUsers, wanted: WantedValue) -> list[str]:
    if wanted.attribute == "username":
        known = context.named(wanted.value)
        return [] if known is None else [known]
    if wanted.attribute == "externalid":
        return context.with_external_id(wanted.value)
    return [wanted.value] if wanted.value in context else []


@api.create(ProvisionedUsers, role="provider", body=RAW, returns=CONTENT_TYPE, audit="scim.user.create", errors=(409,))
def create_scim_user(context: ProvisionedUsers, request: Request) -> Response:
    """A new user, who has no password here."""
    entry = engine.provision_user(request.root, people.person_in(body_of(request)), request.actor)
    request.audited = True
    return resource(request, shown(request, entry), 201)


@api.get(ProvisionedUser, role="provider", returns=CONTENT_TYPE)
def scim_user(context: ProvisionedUser, request: Request) -> Response:
    """One user."""
    return resource(request, shown(request, context))


@api.replace(ProvisionedUser, role="provider", body=RAW, returns=CONTENT_TYPE, audit="scim.user.update")
def replace_scim_user(context: ProvisionedUser, request: Request) -> Response:
    """What is left out is nothing."""
    engine.change_provisioned(request.root, context, people.person_in(body_of(request)), request.actor)
    return resource(request, shown(request, context))


@api.patch(ProvisionedUser, role="provider", body=RAW, returns=CONTENT_TYPE, audit="scim.user.update")
def patch_scim_user(context: ProvisionedUser, request: Request) -> Response:
    """All operations, or none."""
    person = people.patched(context.person, operations_in(body_of(request)))
    engine.change_provisioned(request.root, context, person, request.actor)
    return resource(request, shown(request, context))


@api.delete(ProvisionedUser, role="provider", audit="scim.user.delete")
def delete_scim_user(context: ProvisionedUser, request: Request) -> Response:
    """The user is deleted, with sessions and keys."""
    engine.end_provisioned(request.root, context, request.actor)
    request.audited = True
    return nothing()


def shown(request: Request, entry: ProvisionedUser) -> ScimUser:
    person = entry.person
    return ScimUser(
        entry.__name__,
        person.user_name,
        person.external_id,
        person.display_name,
        name_of(person),
        emails_of(person),
        person.active and not _is_kept_out(request, entry),
        _groups(request, entry) if chosen_in(request).has("groups") else (),
        ResourceMeta("User", user_place(request, entry.__name__), moment(entry.created_at), moment(entry.changed_at)),
    )


def _is_kept_out(request: Request, entry: ProvisionedUser) -> bool:
    """By an admin, not by the provider or the directory."""
    user = users_of(request.root).find(entry.username)
    return user is None or (user.disabled and not user.withdrawn and not user.lost_role)


def _groups(request: Request, entry: ProvisionedUser) -> tuple[ResourceReference, ...]:
    groups, above = provisioned_groups_of(request.root).some(entry.groups), group_place(request, "")
    return tuple(ResourceReference(group.__name__, above + group.__name__, group.name.name) for group in groups)
