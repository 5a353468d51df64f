"""/scim/v2: the way to users and groups, and what a provider asks before it begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth.resources import ProvisionedGroups, ProvisionedUsers, provisioned_groups_of, provisioned_users_of
from opsapp.lib.problems import Forbidden, NotFound, NotOffered
from opsapp.scim.logic import discovery
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root, root_above
from opsapp.web import api
from opsapp.web.bodies import RAW

from .answers import CONTENT_TYPE, location_of, said

PLACES = {"Users": provisioned_users_of, "Groups": provisioned_groups_of}


class Scim(Facet):
    """/scim"""


class ScimV2(Facet):
    """/scim/v2"""

    def __getitem__(self, name: str) -> Any:
        return PLACES[name](root_above(self))


add_facet(Root, "scim", Scim)
add_facet(Scim, "v2", ScimV2)


@api.get(ScimV2, "ServiceProviderConfig", role="provider", returns=CONTENT_TYPE)
def service_provider_config(context: ScimV2, request: Request) -> Response:
    """What is supported."""
    return _described(request, discovery.PROVIDER_CONFIG)


@api.get(ScimV2, "ResourceTypes", role="provider", returns=CONTENT_TYPE, subpath_ok=True)
def resource_types(context: ScimV2, request: Request) -> Response:
    """Users and groups; or one of the two."""
    return _some(request, discovery.TYPES.values(), discovery.ScimTypeList)


@api.get(ScimV2, "Schemas", role="provider", returns=CONTENT_TYPE, subpath_ok=True)
def schemas(context: ScimV2, request: Request) -> Response:
    """The attributes of users and groups; or of one of the two."""
    return _some(request, discovery.SCHEMAS.values(), discovery.ScimSchemaList)


def _some(request: Request, rows: Iterable[Any], listing: Callable[..., object]) -> Response:
    if not request.subpath:
        placed = tuple(_placed(request, row) for row in rows)
        return _described(request, listing(len(placed), placed))
    for row in rows:
        if request.subpath == (row.id,):
            return _described(request, row)
    raise NotFound("There is nothing here.")


def _described(request: Request, value: Any) -> Response:
    """Nobody takes a description for the answer to a filter (RFC 7644, 4)."""
    if "filter" in request.GET:
        raise Forbidden("What describes this service is not filtered.")
    return said(request, _placed(request, value) if hasattr(value, "meta") else value)


def _placed(request: Request, row: Any) -> Any:
    return replace(row, meta=replace(row.meta, location=location_of(request, row.meta.location)))


def not_offered(context: Any, request: Request) -> Response:
    """RFC 7644 wants 501 for what it has and a service has not."""
    raise NotOffered("This is not supported: /ServiceProviderConfig says what is.")


for _place in (ScimV2, ProvisionedUsers, ProvisionedGroups):
    api.act(_place, ".search", role="provider", body=RAW, audit=False)(not_offered)
for _method in (api.act, api.replace, api.patch):
    _method(ScimV2, "Me", role="provider", body=RAW, audit=False)(not_offered)
api.act(ScimV2, "Bulk", role="provider", body=RAW, audit=False)(not_offered)
api.delete(ScimV2, "Me", role="provider", audit=False)(not_offered)
for _name in ("Me", ""):
    api.get(ScimV2, _name, role="provider")(not_offered)
