"""What an identity provider tells by SCIM, in one transaction: people become users, their groups give roles and teams.

What is told twice changes nothing the second time. Nobody is taken over by a name: a user who is here already is
another person, unless a verified claim or the directory says who it is. Must not: know the protocol (opsapp.scim).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from opsapp.audit.engine import Actor, note
from opsapp.auth import resources
from opsapp.auth.config import OidcSettings
from opsapp.auth.logic.claims import role_by_groups, username_for
from opsapp.auth.logic.groups import named_key
from opsapp.auth.logic.names import username_problem
from opsapp.auth.records import Source
from opsapp.auth.resources import federation, provisioned, teams
from opsapp.auth.resources.places import provisioned_groups_of, provisioned_users_of, users_of
from opsapp.auth.resources.provisioned import ProvisionedGroup, ProvisionedUser
from opsapp.auth.resources.users import AccountChange, User
from opsapp.auth.scimconfig import ScimSettings
from opsapp.lib.problems import Conflict
from opsapp.lib.provisioned import GroupName, ProvisionedPerson, same_name
from opsapp.runtime.node import node_of, now_of
from opsapp.tree.root import Root

from . import accountchanges

NOT_YET = "viewer"  # the role of who has none before the first sign-in says it
UNIQUE = "uniqueness"


def settings_of(root: Root) -> ScimSettings:
    return node_of(root).config[ScimSettings]


def provision_user(root: Root, person: ProvisionedPerson, actor: Actor) -> ProvisionedUser:
    if provisioned_users_of(root).named(person.user_name) is not None:
        raise Conflict("There is a user of this userName already.", code="user_exists", scim_type=UNIQUE)
    username = _adopted(root, person, actor) or _made(root, person, actor)
    entry = provisioned.add_user(root, username, person, now_of(root))
    settle(root, entry, actor)
    return entry


def _adopted(root: Root, person: ProvisionedPerson, actor: Actor) -> str | None:
    """The user who is this person. One of the same name who is somebody else: a Conflict."""
    user, username = _known(root, person), person.user_name.lower()
    if user is None and username in users_of(root):
        message = "There is a user of this name already, who is not known to be this person."
        raise Conflict(message, code="user_exists", scim_type=UNIQUE)
    if user is None:
        return None
    if not _may_adopt(root, user):
        message = "This user is an admin, and no admin is taken over by a provider. Lower the role first."
        raise Conflict(message, code="admin_not_adopted", scim_type=UNIQUE)
    note(root, actor, "user.adopt", user.__name__)
    return str(user.__name__)


def _may_adopt(root: Root, user: User) -> bool:
    return user.role != "admin" and provisioned.entry_of(root, user.__name__) is None


def _known(root: Root, person: ProvisionedPerson) -> User | None:
    """Who has signed in as what the provider calls this person: by the claim of the settings, or the name there."""
    settings = settings_of(root)
    by_id = settings.sign_in_by == "external_id"
    value = person.external_id if by_id else same_name(person.user_name)
    if value is not None:
        issuer = node_of(root).config[OidcSettings].issuer
        if by_id and settings.oidc_claim == "sub" and issuer is not None:
            user: User | None = federation.find_subject(root, federation.subject_of(issuer, value))
        else:
            user = federation.find_claimed(root, claim_digest(settings, value))
        if user is not None:
            return user
    user = users_of(root).find(person.user_name.lower())
    return user if user is not None and user.source == "ldap" else None


def claim_digest(settings: ScimSettings, value: str) -> str:
    return federation.subject_of(f"{settings.sign_in_by} {settings.oidc_claim}", value)


def claim_of(root: Root, value: object) -> str | None:
    """The digest of the claim that a provider's person is known by; `value`: of the claim that the settings name."""
    said = _claimed(root, value)
    return None if said is None else claim_digest(settings_of(root), said)


def _claimed(root: Root, value: object) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    return value if settings_of(root).sign_in_by == "external_id" else same_name(value)


def expected_user(root: Root, source: Source, name: object, value: object) -> User | None:
    """Who was provisioned, has never signed in, and is this person. By a directory it is the name: it has no other
    person of it. By an identity provider it is the claim that the settings name."""
    entry = _entry_named(root, name) if source == "ldap" else _entry_claimed(root, _claimed(root, value))
    user = None if entry is None else users_of(root).find(entry.username)
    return user if user is not None and user.source == "scim" and user.subject is None else None


def joined(root: Root, user: User, expected: User | None, actor: Actor) -> None:
    """Somebody who has signed in before turns out to be a person of the provider, who has another user until now, that
    nobody has used: there is one user from now on."""
    entry = None if expected is None else provisioned.entry_of(root, expected.__name__)
    if entry is None or not _may_adopt(root, user):
        return
    unused = entry.username
    provisioned.move(root, entry, user.__name__)
    accountchanges.remove(root, unused, actor)
    note(root, actor, "user.adopt", user.__name__)
    settle(root, entry, actor)


def _entry_named(root: Root, name: object) -> ProvisionedUser | None:
    folder = provisioned_users_of(root)
    entry: ProvisionedUser | None = folder.find(folder.named(name)) if isinstance(name, str) else None
    return entry


def _entry_claimed(root: Root, value: str | None) -> ProvisionedUser | None:
    folder = provisioned_users_of(root)
    if value is None:
        return None
    by_name = settings_of(root).sign_in_by == "user_name"
    known = [folder.named(value)] if by_name else folder.with_external_id(value)
    return folder.find(known[0]) if len(known) == 1 else None


def _made(root: Root, person: ProvisionedPerson, actor: Actor) -> str:
    users = users_of(root)
    wanted = {"preferred_username": person.user_name, "sub": "user"}
    username = username_for(wanted, lambda name: name in users or username_problem(name) is not None)
    user = resources.create(root, username, NOT_YET, "", now_of(root), source="scim")
    note(root, actor, "user.create", username, after=resources.describe(user))
    return username


def change_provisioned(root: Root, entry: ProvisionedUser, person: ProvisionedPerson, actor: Actor) -> None:
    if person != entry.person:
        known = provisioned_users_of(root).named(person.user_name)
        if known not in (None, entry.__name__):
            raise Conflict("There is a user of this userName already.", code="user_exists", scim_type=UNIQUE)
        provisioned.describe_user(root, entry, person, now_of(root))
    settle(root, entry, actor)


def end_provisioned(root: Root, entry: ProvisionedUser, actor: Actor) -> None:
    if entry.username in users_of(root):
        accountchanges.remove(root, entry.username, actor)  # which gives back what is here of it
    else:
        provisioned.drop_user(root, entry)


def settle(root: Root, entry: ProvisionedUser, actor: Actor) -> None:
    """The user is what the provider says now. Who was disabled by an admin stays disabled."""
    user = users_of(root).get(entry.username)
    if user is None:
        return
    settings, groups = settings_of(root), provisioned.groups_of(root, entry)
    role = role_by_groups(groups, asdict(settings.role_map)) if settings.gives_roles else user.role
    is_theirs = not user.disabled or user.withdrawn or (user.lost_role and settings.gives_roles)
    is_off = not entry.person.active or role is None
    wanted = AccountChange(role, is_off if is_theirs else None)
    if (role or user.role, user.disabled if wanted.disabled is None else is_off) != (user.role, user.disabled):
        accountchanges.change(root, entry.username, wanted, actor)
    if user.disabled and (is_theirs or (user.lost_role and is_off)):
        user.withdrawn, user.lost_role = True, False
    names = {name for group in groups for name in group if name is not None}
    teams.tell_provisioned(root, entry.username, (named_key(name) for name in names))


def role_at_sign_in(root: Root, username: str, said: str | None) -> str | None:
    """The role of who signs in: where groups of the provider give roles, what the sign-in says does not count."""
    entry, settings = provisioned.entry_of(root, username), settings_of(root)
    if entry is None or not settings.gives_roles:
        return said
    return role_by_groups(provisioned.groups_of(root, entry), asdict(settings.role_map))


def provision_group(root: Root, name: GroupName, member_ids: Iterable[str], actor: Actor) -> ProvisionedGroup:
    _refuse_second(root, name, None)
    group = provisioned.add_group(root, name, now_of(root))
    note(root, actor, "scim.group.create", name.name)
    change_members(root, group, member_ids, (), actor)
    return group


def change_group(root: Root, group: ProvisionedGroup, name: GroupName, actor: Actor) -> None:
    if name == group.name:
        return
    _refuse_second(root, name, group.__name__)
    before = group.name.name
    provisioned.name_group(root, group, name, now_of(root))
    note(root, actor, "scim.group.update", before, after={"name": name.name})
    _settle_all(root, group.members, actor)


def change_members(
    root: Root, group: ProvisionedGroup, joining: Iterable[str], leaving: Iterable[str], actor: Actor
) -> None:
    """Only those who were not there, or were, are touched."""
    new = {member_id for member_id in joining if member_id not in group.members}
    gone = {member_id for member_id in leaving if member_id in group.members}
    for entry in provisioned.members(root, new):
        provisioned.join(group, entry)
    for entry in provisioned.members(root, gone):
        provisioned.part(group, entry)
    if new or gone:
        group.changed_at = int(now_of(root))
        note(root, actor, "scim.group.members", group.name.name, after={"added": len(new), "removed": len(gone)})
    _settle_all(root, new | gone, actor)


def end_group(root: Root, group: ProvisionedGroup, actor: Actor) -> None:
    change_members(root, group, (), list(group.members), actor)
    provisioned.drop_group(root, group)
    note(root, actor, "scim.group.delete", group.name.name)


def _settle_all(root: Root, member_ids: Iterable[str], actor: Actor) -> None:
    for entry in provisioned.members(root, sorted(member_ids)):
        settle(root, entry, actor)


def _refuse_second(root: Root, name: GroupName, own_id: str | None) -> None:
    if provisioned_groups_of(root).named(name.name) not in (None, own_id):
        raise Conflict("There is a group of this displayName already.", code="group_exists", scim_type=UNIQUE)
