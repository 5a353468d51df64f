"""Groups by key, and when each of them must be looked at. Written by the routing step alone, under its lease."""

from __future__ import annotations

from collections.abc import Iterator

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.notify.logic.grouping import Group, agenda
from opsapp.tree.root import Root

GROUPS = "notify-groups"


class Groups(Persistent):
    """`groups`: key -> group; `agenda`: (time, key); `targets`: `family:target` -> key of the group about it."""

    def __init__(self) -> None:
        self.groups = OOBTree()
        self.agenda = OOTreeSet()
        self.targets = OOBTree()

    def get(self, key: str) -> Group | None:
        return self.groups.get(key)

    def about(self, family: str, target: str) -> str | None:
        """The key of the group about a target."""
        return self.targets.get(f"{family}:{target}")

    def put(self, key: str, group: Group, every_s: float) -> None:
        self._off_the_agenda(key)
        group = {**group, "look_at": agenda(group, every_s)}
        self.groups[key] = group
        self.agenda.add((group["look_at"], key))
        if group["target"] is not None:
            self.targets.setdefault(f"{family_of(key)}:{group['target']}", key)

    def drop(self, key: str) -> None:
        self._off_the_agenda(key)
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


def family_of(key: str) -> str:
    """`incident:4f2a` is of the family `incident`."""
    return key.partition(":")[0]


def set_up(root: Root) -> None:
    root.system[GROUPS] = Groups()


def groups_of(root: Root) -> Groups:
    return root.system[GROUPS]
