"""/scim/v2/Groups: groups of a provider. What one means here is said by `auth.scim.role_map` and by the teams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth import engine
from opsapp.auth.resources import ProvisionedGroup, ProvisionedGroups, provisioned_users_of
from opsapp.scim.logic import memberships
from opsapp.scim.logic.filters import WantedValue, wanted_in
from opsapp.scim.logic.given import ScimRefused
from opsapp.scim.logic.memberships import GroupChange
from opsapp.scim.logic.operations import operations_in
from opsapp.scim.logic.shown import MOST_MEMBERS, ResourceMeta, ResourceReference, ScimGroup, moment
from opsapp.web import api
from opsapp.web.bodies import RAW

from .answers import CONTENT_TYPE, body_of, chosen_in, group_place, listed, nothing, page_of, resource, user_place

MEMBER = ("members", "members.value")
KNOWN = frozenset({"id", "displayname", "externalid", *MEMBER})


@api.get(ProvisionedGroups, role="provider", returns=CONTENT_TYPE)
def scim_groups(context: ProvisionedGroups, request: Request) -> Response:
    """A page of them, or those that a filter names. A page with very many members is shorter than was asked."""
    page, ids = page_of(request), _found(context, request)
    rows = tuple(_within(request, context.some(page.of(ids))))
    return listed(request, len(ids), page.start, rows)


def _within(request: Request, groups: Iterable[ProvisionedGroup]) -> Iterator[ScimGroup]:
    members = 0
    for group in groups:
        row = shown(request, group)
        members += len(row.members or ())
        if members > MOST_MEMBERS and members > len(row.members or ()):
            return
        yield row


def _found(context: ProvisionedGroups, request: Request) -> list[str]:
    text = request.GET.get("filter", "")
    if not text:
        return list(context.keys())
    parts = sorted(wanted_in(text, KNOWN), key=lambda wanted: wanted.attribute in MEMBER)
    ids = list(context.keys())
    for wanted in parts:
        ids = _with(context, wanted, ids)
    return ids


def _with(context: ProvisionedGroups, wanted: WantedValue, among: Iterable[str]) -> list[str]:
    if wanted.attribute in MEMBER:
        return [group.__name__ for group in context.some(among) if wanted.value in group.members]
    if wanted.attribute == "displayname":
        known = {context.named(wanted.value)}
    elif wanted.attribute == "externalid":
        known = {*context.with_external_id(wanted.value)}
    else:
        known = {wanted.value}
    return [group_id for group_id in among if group_id in known]


@api.create(
    ProvisionedGroups, role="provider", body=RAW, returns=CONTENT_TYPE, audit="scim.group.create", errors=(409,)
)
def create_scim_group(context: ProvisionedGroups, request: Request) -> Response:
    """A new group."""
    wanted = memberships.group_in(body_of(request))
    _require(request, wanted.joining)
    group = engine.provision_group(request.root, wanted.name, wanted.joining, request.actor)
    request.audited = True
    return resource(request, shown(request, group), 201)


@api.get(ProvisionedGroup, role="provider", returns=CONTENT_TYPE)
def scim_group(context: ProvisionedGroup, request: Request) -> Response:
    """One group."""
    return resource(request, shown(request, context))


@api.replace(ProvisionedGroup, role="provider", body=RAW, returns=CONTENT_TYPE, audit="scim.group.update")
def replace_scim_group(context: ProvisionedGroup, request: Request) -> Response:
    """Who is not named is not in it any more."""
    wanted = memberships.group_in(body_of(request))
    _carry_out(request, context, wanted.without(set(context.members) - wanted.joining))
    return resource(request, shown(request, context))


@api.patch(ProvisionedGroup, role="provider", body=RAW, returns=CONTENT_TYPE, audit="scim.group.update")
def patch_scim_group(context: ProvisionedGroup, request: Request) -> Response:
    """All operations, or none."""
    _carry_out(request, context, memberships.patched(context.name, context.members, operations_in(body_of(request))))
    return nothing()


def _carry_out(request: Request, group: ProvisionedGroup, wanted: GroupChange) -> None:
    _require(request, wanted.joining)
    engine.change_group(request.root, group, wanted.name, request.actor)
    engine.change_members(request.root, group, wanted.joining, wanted.leaving, request.actor)
    request.audited = True


def _require(request: Request, member_ids: Iterable[str]) -> None:
    known = provisioned_users_of(request.root)
    unknown = sorted(member_id for member_id in member_ids if member_id not in known)
    if unknown:
        raise ScimRefused("invalidValue", "There is no such user: " + ", ".join(unknown[:10]))


@api.delete(ProvisionedGroup, role="provider", audit="scim.group.delete")
def delete_scim_group(context: ProvisionedGroup, request: Request) -> Response:
    """Its members are in it no more; they stay users."""
    engine.end_group(request.root, context, request.actor)
    request.audited = True
    return nothing()


def shown(request: Request, group: ProvisionedGroup) -> ScimGroup:
    members = None
    if chosen_in(request).has("members"):
        above = user_place(request, "")
        members = tuple(ResourceReference(member_id, above + member_id) for member_id in group.members)
    place = group_place(request, group.__name__)
    meta = ResourceMeta("Group", place, moment(group.created_at), moment(group.changed_at))
    return ScimGroup(group.__name__, group.name.name, group.name.external_id, members, meta)
