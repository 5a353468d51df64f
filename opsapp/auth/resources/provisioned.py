"""People and groups that an identity provider tells of by SCIM, with the ids that it knows them by. A person belongs to
a user of this service; what a group means is said elsewhere (roles: `auth.scim`, teams: their `groups`).

The members of a group are a tree of their own: one more or less writes a part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from BTrees.OOBTree import OOBTree, OOTreeSet

from opsapp.lib.ids import new_id
from opsapp.lib.provisioned import GroupName, ProvisionedPerson, same_name
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root

from .places import provisioned_groups_of, provisioned_users_of


class ProvisionedUser(Record):
    url = "/scim/v2/Users/{user_id}"

    def __init__(self, username: str, person: ProvisionedPerson, now: float):
        self.username = username
        self.person = person
        self.groups: tuple[str, ...] = ()  # the ids of those that the person is in
        self.created_at = self.changed_at = int(now)


class ProvisionedGroup(Record):
    url = "/scim/v2/Groups/{group_id}"

    def __init__(self, name: GroupName, now: float):
        self.name = name
        self.members = OOTreeSet()
        self.created_at = self.changed_at = int(now)


class Provisioned(Folder):
    """By id; `by_name` and `by_external_id` are written with them."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name = OOBTree()
        self.by_external_id = OOTreeSet()

    def named(self, name: str) -> str | None:
        entry_id: str | None = self.by_name.get(same_name(name))
        return entry_id

    def with_external_id(self, external_id: str) -> list[str]:
        pairs = self.by_external_id.keys((external_id, ""), (external_id, "~"))
        return [entry_id for _, entry_id in pairs]

    def index(self, entry_id: str, name: str, external_id: str | None) -> None:
        self.by_name[same_name(name)] = entry_id
        if external_id is not None:
            self.by_external_id.insert((external_id, entry_id))

    def forget(self, entry_id: str, name: str, external_id: str | None) -> None:
        if self.by_name.get(same_name(name)) == entry_id:
            del self.by_name[same_name(name)]
        if external_id is not None:
            self.by_external_id.discard((external_id, entry_id))


class ProvisionedUsers(Provisioned):
    url = "/scim/v2/Users"
    holds = "provisioned user"

    def __init__(self) -> None:
        super().__init__()
        self.by_username = OOBTree()  # of the users of this service


class ProvisionedGroups(Provisioned):
    url = "/scim/v2/Groups"
    holds = "provisioned group"


def set_up(root: Root) -> None:
    """Evolve step."""
    for place, folder in ((provisioned_users_of, ProvisionedUsers()), (provisioned_groups_of, ProvisionedGroups())):
        folder.__parent__, folder.__name__ = root, folder.url.rpartition("/")[2]
        place.put(root, folder)


def add_user(root: Root, username: str, person: ProvisionedPerson, now: float) -> ProvisionedUser:
    folder = provisioned_users_of(root)
    entry = folder[new_id()] = ProvisionedUser(username, person, now)
    folder.index(entry.__name__, person.user_name, person.external_id)
    folder.by_username[username] = entry.__name__
    return entry


def describe_user(root: Root, entry: ProvisionedUser, person: ProvisionedPerson, now: float) -> None:
    folder, before = provisioned_users_of(root), entry.person
    folder.forget(entry.__name__, before.user_name, before.external_id)
    folder.index(entry.__name__, person.user_name, person.external_id)
    entry.person, entry.changed_at = person, int(now)


def move(root: Root, entry: ProvisionedUser, username: str) -> None:
    """It is another user of this service who is this person."""
    folder = provisioned_users_of(root)
    del folder.by_username[entry.username]
    folder.by_username[username] = entry.__name__
    entry.username = username


def drop_user(root: Root, entry: ProvisionedUser) -> None:
    """The user itself is another matter."""
    for group in provisioned_groups_of(root).some(entry.groups):
        group.members.discard(entry.__name__)
    folder = provisioned_users_of(root)
    folder.forget(entry.__name__, entry.person.user_name, entry.person.external_id)
    folder.by_username.pop(entry.username, None)
    del folder[entry.__name__]


def forget_user(root: Root, username: str, _now: float) -> None:
    """Of a user who is deleted here."""
    entry = entry_of(root, username)
    if entry is not None:
        drop_user(root, entry)


def add_group(root: Root, name: GroupName, now: float) -> ProvisionedGroup:
    folder = provisioned_groups_of(root)
    group = folder[new_id()] = ProvisionedGroup(name, now)
    folder.index(group.__name__, *name)
    return group


def name_group(root: Root, group: ProvisionedGroup, name: GroupName, now: float) -> None:
    folder = provisioned_groups_of(root)
    folder.forget(group.__name__, *group.name)
    folder.index(group.__name__, *name)
    group.name, group.changed_at = name, int(now)


def drop_group(root: Root, group: ProvisionedGroup) -> None:
    """Without its members."""
    folder = provisioned_groups_of(root)
    folder.forget(group.__name__, *group.name)
    del folder[group.__name__]


def join(group: ProvisionedGroup, entry: ProvisionedUser) -> None:
    group.members.insert(entry.__name__)
    entry.groups = tuple(sorted({*entry.groups, group.__name__}))


def part(group: ProvisionedGroup, entry: ProvisionedUser) -> None:
    group.members.discard(entry.__name__)
    entry.groups = tuple(group_id for group_id in entry.groups if group_id != group.__name__)


def members(root: Root, member_ids: Iterable[str]) -> Iterator[ProvisionedUser]:
    """As far as they can be read."""
    return provisioned_users_of(root).some(member_ids)


def groups_of(root: Root, entry: ProvisionedUser) -> list[GroupName]:
    return [group.name for group in provisioned_groups_of(root).some(entry.groups)]


def entry_of(root: Root, username: str) -> ProvisionedUser | None:
    """What the provider told of this user; None where it did not."""
    folder = provisioned_users_of(root)
    entry: ProvisionedUser | None = folder.find(folder.by_username.get(username))
    return entry
