"""Permissions and the one access list of the tree: a constant, never persisted."""

from __future__ import annotations

from enum import Enum

from pyramid.authorization import Allow, Authenticated

__all__ = ["ROLES", "ROLE_ACL", "Allow", "Authenticated", "Permission", "role_for", "roles_from", "roles_up_to"]


class Permission(str, Enum):
    """A view that names none gets one that nobody has."""

    view = "view"
    operate = "operate"
    administer = "administer"
    report = "report"
    relay = "relay"
    provision = "provision"
    nobody = "nobody"


ROLES = ("viewer", "operator", "admin")


def roles_up_to(role: str) -> tuple[str, ...]:
    return ROLES[: ROLES.index(role) + 1]


def roles_from(role: str) -> tuple[str, ...]:
    return ROLES[ROLES.index(role) :]


ROLE_ACL = (
    (Allow, "role:viewer", (Permission.view,)),
    (Allow, "role:operator", (Permission.operate,)),
    (Allow, "role:admin", (Permission.administer,)),
    (Allow, "node:cluster", (Permission.relay,)),
    (Allow, "kind:scim", (Permission.provision,)),
)


def role_for(permission: object) -> str | None:
    """The lowest role that has this permission; None where none has."""
    holders = (principal.partition(":") for _, principal, granted in ROLE_ACL if permission in granted)
    return next((name for kind, _, name in holders if kind == "role"), None)
