"""Groups by key, and when each of them must be looked at. Written by the routing step alone, under its lease."""

from __future__ import annotations

from collections.abc import Iterator

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.notify.logic.grouping import Group, agenda
from opsapp.tree.root import Root

GROUPS = "notify-groups"
KEY, NAME = "key ", "name "


class Groups(Persistent):
    """`groups`: key -> group; `agenda`: (time, key); `targets`: `family:target` -> key of the group about it; `homes`:
    own key of a row, or name of a thing, that is open in a group -> key of that group."""

    homes: OOBTree | None = None  # stores of an older version have none

    def __init__(self) -> None:
        self.groups = OOBTree()
        self.agenda = OOTreeSet()
        self.targets = OOBTree()

    def get(self, key: str) -> Group | None:
        return self.groups.get(key)

    def about(self, family: str, target: str) -> str | None:
        """The key of the group about a target."""
        return self.targets.get(f"{family}:{target}")

    def home(self, key: str = "", name: str = "") -> str | None:
        """The key of the group in which a row, or what is called so, is open."""
        homes = self.homes or {}
        return homes.get(KEY + key) or homes.get(NAME + name)

    def _house(self, key: str, group: Group | None) -> None:
        """What is open in a group is found by its own key and by its name, and so is the root cause."""
        if self.homes is None:
            self.homes = OOBTree()
        before, now = _open_in(self.groups.get(key)), _open_in(group)
        grown = now[: len(before)] == before  # as in a storm, where thousands are open
        for own, name in () if grown else set(before).difference(now):
            self._leave(KEY + own, key)
            self._leave(NAME + name, key)
        for own, name in now[len(before) :] if grown else set(now).difference(before):
            self.homes[KEY + own] = self.homes[NAME + name] = key
        root = (group or self.groups.get(key, {})).get("root")
        if root and now:
            self.homes[NAME + root] = key
        elif root:
            self._leave(NAME + root, key)

    def _leave(self, handle: str, key: str) -> None:
        if self.homes is not None and self.homes.get(handle) == key:
            del self.homes[handle]

    def put(self, key: str, group: Group, every_s: float) -> None:
        self._off_the_agenda(key)
        self._house(key, group)
        group = {**group, "look_at": agenda(group, every_s)}
        self.groups[key] = group
        self.agenda.add((group["look_at"], key))
        if group["target"] is not None:
            self.targets.setdefault(f"{family_of(key)}:{group['target']}", key)

    def drop(self, key: str) -> None:
        self._off_the_agenda(key)
        self._house(key, None)
        group = self.groups.pop(key)
        place = f"{family_of(key)}:{group['target']}"
        if self.targets.get(place) == key:
            del self.targets[place]

    def due(self, now: float, most: int) -> Iterator[str]:
        """Keys of groups to be looked at."""
        return iter(
            [key for (_, key), _ in zip(self.agenda.keys(None, (now, "\U0010ffff")), range(most), strict=False)]
        )

    def _off_the_agenda(self, key: str) -> None:
        present = self.groups.get(key)
        if present is not None:
            self.agenda.remove((present["look_at"], key))


def _open_in(group: Group | None) -> tuple[tuple[str, str], ...]:
    return tuple((group or {}).get("open", ()))


def family_of(key: str) -> str:
    """`incident:4f2a` is of the family `incident`."""
    return key.partition(":")[0]


def set_up(root: Root) -> None:
    root.system[GROUPS] = Groups()


def groups_of(root: Root) -> Groups:
    return root.system[GROUPS]
