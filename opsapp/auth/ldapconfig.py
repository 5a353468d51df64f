"""The section `auth.ldap` of the YAML file."""

from __future__ import annotations

from typing import Annotated

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.settings import Between, CheckedBy, Length, Most
from opsapp.wire.dataclass import frozen

from .logic.directory import DN, USERNAME, dn_problem, filter_problem, place_of

NAMES, WHOM = frozenset({USERNAME}), frozenset({USERNAME, DN})
POSIX = "(&(objectClass=posixGroup)(memberUid={username}))"
GROUPS = f"(|(&(objectClass=groupOfNames)(member={{dn}})){POSIX})"


def _uri_problem(uri: str) -> str | None:
    try:
        place_of(uri)
    except ValueError as problem:
        return str(problem)
    return None


def _user_filter_problem(template: str) -> str | None:
    return filter_problem(template, NAMES, NAMES)


def _group_filter_problem(template: str) -> str | None:
    return filter_problem(template, WHOM, WHOM)


DirectoryName = Annotated[str | None, Length(1, 1000), CheckedBy(dn_problem)]
GroupNames = Annotated[tuple[Annotated[str, Length(1, 1000), CheckedBy(dn_problem)], ...], Most(100)]
ATTRIBUTE = Length(1, 100, "[A-Za-z][A-Za-z0-9;-]*", "uid")


@frozen
class GroupMap:
    """The DNs of the groups that stand for a role."""

    admin: GroupNames = ()
    operator: GroupNames = ()
    viewer: GroupNames = ()


@frozen
class LdapSettings:
    """`auth.ldap`"""

    enabled: bool = False
    uri: Annotated[str | None, Length(1, 500), CheckedBy(_uri_problem)] = None
    start_tls: bool = False
    allow_plain: bool = False
    ca_file: Annotated[str, Length(0, 1000)] = ""
    timeout_s: Annotated[float, Between(0.5, 60)] = 5
    bind_dn: DirectoryName = None
    bind_password: Annotated[str | None, Length(1, 500)] = None
    base: DirectoryName = None
    user_filter: Annotated[str, Length(1, 1000), CheckedBy(_user_filter_problem)] = "(uid={username})"
    name_attribute: Annotated[str, ATTRIBUTE] = "uid"
    id_attribute: Annotated[str, ATTRIBUTE] = "entryUUID"
    member_of: Annotated[str | None, ATTRIBUTE] = "memberOf"
    group_base: DirectoryName = None
    group_filter: Annotated[str, Length(1, 1000), CheckedBy(_group_filter_problem)] = GROUPS
    nested_groups: bool = False
    role_map: GroupMap = GroupMap()
    check_s: Annotated[float, Between(60, 86_400)] = 3600

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        """Once enabled, all that a sign-in needs is there, and no password travels in the open unasked."""
        get = sound.get
        if not get("enabled"):
            return {}
        wrong = {name: "is required when ldap is enabled" for name in ("uri", "base") if not get(name)}
        if not any((get("role_map") or {}).values()):
            wrong |= {"role_map": "names no group, so nobody could sign in"}
        if bool(get("bind_dn")) != bool(get("bind_password")):
            wrong |= {"bind_password": "goes with bind_dn: give both, or none to search without a name"}
        if not get("member_of") and not get("group_base"):
            wrong |= {"member_of": "is left out, and so is group_base: nobody would be in a group"}
        return wrong | _protection(get("uri"), bool(get("start_tls")), bool(get("allow_plain")))


def _protection(uri: str | None, later: bool, plain: bool) -> dict[str, str]:
    tls = uri is not None and place_of(uri).tls
    if tls and later:
        return {"start_tls": "is for ldap://; ldaps:// is encrypted from the start"}
    if uri and not (tls or later or plain):
        return {"uri": "sends passwords in the open: use ldaps://, start_tls, or say allow_plain"}
    return {}
