"""What a provider may ask before it begins: what is supported, which resources there are, and their attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

from opsapp.wire.dataclass import frozen
from opsapp.wire.records import Most, SaidAs

from .shown import BASE, GROUP, LIST, USER, ResourceMeta, Texts

MOST_RESULTS = 200
CONFIG = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"
RESOURCE_TYPE = "urn:ietf:params:scim:schemas:core:2.0:ResourceType"
SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema"


@frozen
class Supported:
    supported: bool


@frozen
class SupportedFilter:
    most: Annotated[int, SaidAs("maxResults")]
    supported: bool = True


@frozen
class SupportedBulk:
    operations: Annotated[int, SaidAs("maxOperations")] = 0
    size: Annotated[int, SaidAs("maxPayloadSize")] = 0
    supported: bool = False


@frozen
class SupportedScheme:
    type: str
    name: str
    description: str


@frozen
class ServiceProviderConfig:
    patch: Supported
    bulk: SupportedBulk
    filter: SupportedFilter
    change_password: Annotated[Supported, SaidAs("changePassword")]
    sort: Supported
    etag: Supported
    schemes: Annotated[tuple[SupportedScheme, ...], Most(10), SaidAs("authenticationSchemes")]
    meta: ResourceMeta
    schemas: Texts = (CONFIG,)


@frozen
class ScimResourceType:
    id: str
    name: str
    endpoint: str
    schema: str
    meta: ResourceMeta
    schemas: Texts = (RESOURCE_TYPE,)


@frozen
class AttributeTraits:
    """What an attribute and a part of one have in common (RFC 7643, 7)."""

    leaves_out_null: ClassVar[bool] = True

    name: str
    type: str = "string"
    multi: Annotated[bool, SaidAs("multiValued")] = False
    required: bool = False
    case: Annotated[bool, SaidAs("caseExact")] = False
    mutability: str = "readWrite"
    returned: str = "default"
    uniqueness: str = "none"


@frozen
class ScimSubAttribute(AttributeTraits):
    refers_to: Annotated[tuple[str, ...] | None, Most(2), SaidAs("referenceTypes")] = None


@frozen
class ScimAttribute(AttributeTraits):
    parts: Annotated[tuple[ScimSubAttribute, ...] | None, Most(20), SaidAs("subAttributes")] = None


@frozen
class ScimSchema:
    id: str
    name: str
    attributes: Annotated[tuple[ScimAttribute, ...], Most(50)]
    meta: ResourceMeta
    schemas: Texts = (SCHEMA,)


@frozen
class ScimTypeList:
    total: Annotated[int, SaidAs("totalResults")]
    resources: Annotated[tuple[ScimResourceType, ...], Most(10), SaidAs("Resources")]
    schemas: Texts = (LIST,)


@frozen
class ScimSchemaList:
    total: Annotated[int, SaidAs("totalResults")]
    resources: Annotated[tuple[ScimSchema, ...], Most(10), SaidAs("Resources")]
    schemas: Texts = (LIST,)


PROVIDER_CONFIG = ServiceProviderConfig(
    Supported(True),
    SupportedBulk(),
    SupportedFilter(MOST_RESULTS),
    Supported(False),
    Supported(False),
    Supported(False),
    (SupportedScheme("oauthbearertoken", "Bearer token", "A token that an admin of this service makes."),),
    ResourceMeta("ServiceProviderConfig", f"{BASE}/ServiceProviderConfig"),
)
TYPES = {
    name: ScimResourceType(
        name, name, f"/{name}s", schema, ResourceMeta("ResourceType", f"{BASE}/ResourceTypes/{name}")
    )
    for name, schema in (("User", USER), ("Group", GROUP))
}
_ID = ScimAttribute("id", case=True, mutability="readOnly", returned="always", uniqueness="server")
_EXTERNAL_ID = ScimAttribute("externalId", case=True)


def _reference(to: str, *more: ScimSubAttribute) -> tuple[ScimSubAttribute, ...]:
    place = ScimSubAttribute("$ref", "reference", mutability="readOnly", refers_to=(to,))
    return (ScimSubAttribute("value", case=True), place, *more)


_USER = (
    _ID,
    _EXTERNAL_ID,
    ScimAttribute("userName", required=True, uniqueness="server"),
    ScimAttribute("displayName"),
    ScimAttribute(
        "name", "complex", parts=tuple(ScimSubAttribute(name) for name in ("formatted", "givenName", "familyName"))
    ),
    ScimAttribute(
        "emails",
        "complex",
        multi=True,
        parts=(ScimSubAttribute("value"), ScimSubAttribute("type"), ScimSubAttribute("primary", "boolean")),
    ),
    ScimAttribute("active", "boolean"),
    ScimAttribute(
        "groups",
        "complex",
        multi=True,
        mutability="readOnly",
        parts=tuple(replace(part, mutability="readOnly") for part in _reference("Group", ScimSubAttribute("display"))),
    ),
)
_GROUP = (
    _ID,
    _EXTERNAL_ID,
    ScimAttribute("displayName", required=True, uniqueness="server"),
    ScimAttribute("members", "complex", multi=True, parts=_reference("User")),
)
SCHEMAS = {
    schema: ScimSchema(schema, name, attributes, ResourceMeta("Schema", f"{BASE}/Schemas/{schema}"))
    for schema, name, attributes in ((USER, "User", _USER), (GROUP, "Group", _GROUP))
}
