"""/scim/v2: the way to users and groups, and what a provider asks before it begins."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth.resources import provisioned_groups_of, provisioned_users_of
from opsapp.lib.problems import NotFound
from opsapp.scim.logic import discovery
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root, root_above
from opsapp.web import api

from .answers import CONTENT_TYPE, said

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
    return said(request, discovery.PROVIDER_CONFIG)


@api.get(ScimV2, "ResourceTypes", role="provider", returns=CONTENT_TYPE, subpath_ok=True)
def resource_types(context: ScimV2, request: Request) -> Response:
    """Users and groups; or one of the two."""
    if request.subpath:
        return said(request, _one(discovery.TYPES, request.subpath))
    return said(request, discovery.ScimTypeList(len(discovery.TYPES), tuple(discovery.TYPES.values())))


@api.get(ScimV2, "Schemas", role="provider", returns=CONTENT_TYPE, subpath_ok=True)
def schemas(context: ScimV2, request: Request) -> Response:
    """The attributes of users and groups; or of one of the two."""
    if request.subpath:
        return said(request, _one(discovery.SCHEMAS, request.subpath))
    return said(request, discovery.ScimSchemaList(len(discovery.SCHEMAS), tuple(discovery.SCHEMAS.values())))


def _one(known: Any, path: tuple[str, ...]) -> Any:
    if len(path) > 1 or path[0] not in known:
        raise NotFound("There is nothing here.")
    return known[path[0]]
