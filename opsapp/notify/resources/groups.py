"""Groups by key, and when each of them must be looked at. Written by the routing step alone, under its lease."""

from __future__ import annotations

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.notify.logic.messagegroups import BEGINS, OVER, Before, MessageGroup, Told, agenda
from opsapp.runtime.queue import LAST, Agenda
from opsapp.tree.root import Root

GROUPS = "notify-groups"
KEY, NAME = "key ", "name "


class Groups(Persistent):
    """`groups`: key -> group; `agenda`: (time, key); `targets`: `family:target` -> key of the group about it. What is
    open: `members`, (key of the group, own key of a row) -> name of the thing; `homes`, own key of a row, or name of a
    thing -> key of the group in which it is open. A group may have thousands of members; none of them is looked at when
    another one comes or goes."""

    def __init__(self) -> None:
        self.groups = OOBTree()
        self.agenda = OOTreeSet()
        self.targets = OOBTree()
        self.homes = OOBTree()
        self.members = OOBTree()

    def get(self, key: str) -> MessageGroup | None:
        stored = self.groups.get(key)
        return None if stored is None else MessageGroup.read(stored)

    def about(self, family: str, target: str) -> str | None:
        return self.targets.get(f"{family}:{target}")

    def home(self, key: str = "", name: str = "") -> str | None:
        """The group in which a row, or what is called so, is open."""
        return self.homes.get(KEY + key) or self.homes.get(NAME + name)

    def before(self, key: str, group: MessageGroup | None, own: str) -> Before:
        """What is open in it before a row of this own key joins."""
        known = (key, own) in self.members
        return Before(known, (group.open if group else 0) - known)

    def note(self, key: str, row: Told) -> None:
        """What begins with a row is open in this group, what is over is not."""
        if row.phase == BEGINS:
            self._enter(key, row.key, row.name)
        elif row.phase == OVER and (key, row.key) in self.members:
            self._leave(KEY + row.key, key)
            self._leave(NAME + self.members.pop((key, row.key)), key)

    def move(self, key: str, rightful: str) -> None:
        """The group itself is no more."""
        for place in list(self.members.keys((key, ""), (key, LAST))):
            self._enter(rightful, place[1], self.members.pop(place))
        self.drop(key)

    def _enter(self, key: str, own: str, name: str) -> None:
        self.members[key, own] = name
        self.homes[KEY + own] = self.homes[NAME + name] = key

    def _leave(self, handle: str, key: str) -> None:
        if self.homes.get(handle) == key:
            del self.homes[handle]

    def _name_root(self, key: str, group: MessageGroup) -> None:
        """The root cause of what is open leads to its group too."""
        if group.root and group.open:
            self.homes[NAME + group.root] = key
        elif group.root:
            self._leave(NAME + group.root, key)

    def put(self, key: str, group: MessageGroup, every_s: float) -> None:
        self._off_the_agenda(key)
        self._name_root(key, group)
        look_at = agenda(group, every_s)
        self.groups[key] = group.stored(look_at)
        Agenda(self.agenda).add(look_at, key)
        if group.target is not None:
            self.targets.setdefault(f"{family_of(key)}:{group.target}", key)

    def drop(self, key: str) -> None:
        self._off_the_agenda(key)
        group = MessageGroup.read(self.groups.pop(key))
        self._name_root(key, group._replace(open=0))
        place = f"{family_of(key)}:{group.target}"
        if self.targets.get(place) == key:
            del self.targets[place]

    def due(self, now: float, most: int) -> list[str]:
        return [key for _, key in Agenda(self.agenda).due(now, most)]

    def shift(self, key: str, by: float, every_s: float) -> int:
        """The clock was set: its message is due when it would have been. How many were moved."""
        group = self.get(key)
        if group is not None:
            self.put(key, group.moved(by), every_s)
        return int(group is not None)

    def _off_the_agenda(self, key: str) -> None:
        present = self.groups.get(key)
        if present is not None:
            Agenda(self.agenda).discard(present["look_at"], key)


def family_of(key: str) -> str:
    """`incident:4f2a` is of the family `incident`."""
    return key.partition(":")[0]


def set_up(root: Root) -> None:
    root.system[GROUPS] = Groups()


def groups_of(root: Root) -> Groups:
    return root.system[GROUPS]
