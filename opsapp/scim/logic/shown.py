"""What is answered: users, groups, lists and errors, as RFC 7643 and 7644 write them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Annotated, ClassVar, Literal

from opsapp.lib.provisioned import ProvisionedPerson
from opsapp.wire.dataclass import frozen
from opsapp.wire.records import Most, SaidAs

BASE = "/scim/v2"
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
LIST = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"
MOST_MEMBERS = 10_000  # in one answer

Texts = Annotated[tuple[str, ...], Most(10)]
Text = str | None


@frozen
class ResourceMeta:
    leaves_out_null: ClassVar[bool] = True

    resource_type: Annotated[
        Literal["User", "Group", "ResourceType", "Schema", "ServiceProviderConfig"], SaidAs("resourceType")
    ]
    location: str
    created: Text = None
    last_modified: Annotated[Text, SaidAs("lastModified")] = None


@frozen
class ResourceName:
    leaves_out_null: ClassVar[bool] = True

    formatted: Text
    given_name: Annotated[Text, SaidAs("givenName")]
    family_name: Annotated[Text, SaidAs("familyName")]


@frozen
class ResourceEmail:
    leaves_out_null: ClassVar[bool] = True

    value: str
    type: Text
    primary: bool


@frozen
class ResourceReference:
    """`display` is said of groups only: members may be thousands."""

    leaves_out_null: ClassVar[bool] = True

    value: str
    place: Annotated[str, SaidAs("$ref")]
    display: Text = None


@frozen
class ScimUser:
    leaves_out_null: ClassVar[bool] = True

    id: str
    user_name: Annotated[str, SaidAs("userName")]
    external_id: Annotated[Text, SaidAs("externalId")]
    display_name: Annotated[Text, SaidAs("displayName")]
    name: ResourceName | None
    emails: Annotated[tuple[ResourceEmail, ...], Most(10)]
    active: bool
    groups: Annotated[tuple[ResourceReference, ...], Most(10_000)]
    meta: ResourceMeta
    schemas: Texts = (USER,)


@frozen
class ScimGroup:
    leaves_out_null: ClassVar[bool] = True

    id: str
    display_name: Annotated[str, SaidAs("displayName")]
    external_id: Annotated[Text, SaidAs("externalId")]
    members: Annotated[tuple[ResourceReference, ...] | None, Most(1_000_000)]
    meta: ResourceMeta
    schemas: Texts = (GROUP,)


@frozen
class ScimError:
    leaves_out_null: ClassVar[bool] = True

    status: str
    detail: str
    scim_type: Annotated[Text, SaidAs("scimType")] = None
    schemas: Texts = (ERROR,)


def moment(at: int) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def name_of(person: ProvisionedPerson) -> ResourceName | None:
    name = ResourceName(person.formatted, person.given_name, person.family_name)
    return None if name == ResourceName(None, None, None) else name


def emails_of(person: ProvisionedPerson) -> tuple[ResourceEmail, ...]:
    return tuple(ResourceEmail(*email) for email in person.emails)
