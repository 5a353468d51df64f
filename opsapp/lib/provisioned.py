"""A person and a group as an identity provider describes them by SCIM."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple


class ProvisionedEmail(NamedTuple):
    value: str
    type: str | None = None
    primary: bool = False


class ProvisionedPerson(NamedTuple):
    """What the provider said last. `active`: whether the person may sign in."""

    user_name: str
    external_id: str | None = None
    display_name: str | None = None
    formatted: str | None = None
    given_name: str | None = None
    family_name: str | None = None
    emails: tuple[ProvisionedEmail, ...] = ()
    active: bool = True


class GroupName(NamedTuple):
    """What the provider calls a group: people by the name, programs by the external id."""

    name: str
    external_id: str | None = None

    def is_one_of(self, names: Collection[str]) -> bool:
        return self.name in names or self.external_id in names


def same_name(name: str) -> str:
    """Names of people and groups are compared without regard to case (RFC 7643, `caseExact`)."""
    return name.casefold()
