"""Things in a tree of the store, read around what is damaged: that costs nothing but itself.

Whoever walks gets what can be read; the rest is noted at the node, where health, doctor and people hear of it. Whoever
must tell damaged from missing asks `parted`. Must not: know what the things are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar

from opsapp.lib.problems import Unopened

from .damage import Damage, is_damage, items_of, keys_of, load, loaded

NOTED = "opsapp_damage"  # by kind, an attribute of the open database
Name = TypeVar("Name", bound=str | int)
Row = TypeVar("Row")


class Children:
    """What a Folder and other things of one kind in one tree have in common."""

    holds = "thing"  # what people call one of them
    _children: Any

    @property
    def tree(self) -> Any:
        return self._children

    # -- all of them: what lacks a key to a sealed part cannot be read

    def items(self) -> Iterator[tuple[Any, Any]]:
        return self._read([])

    def values(self) -> Iterator[Any]:
        return (child for _, child in self._read([]))

    def parted(self, without: Collection[str] = ()) -> tuple[list[Any], list[Damage]]:
        """Those that can be read, and what is known of the others; `without` those that the caller knows already."""
        damaged: list[Damage] = []
        return [child for _, child in self._read(damaged, without)], damaged

    def whole(self) -> list[Any]:
        """All items, or the problem that names the first that is damaged: for what is of no use in part."""
        return [self._opened(child, name) for name, child in self.tree.items()]

    def known_names(self) -> list[str]:
        """The names, as far as the tree itself can be read."""
        names, broken = keys_of(self.tree)
        _note(self.tree, f"list of {self.holds}s", self._parts(broken))
        return names

    # -- some of them: what lacks a key is given, its reader sees that for itself

    def some_items(self, names: Iterable[Name]) -> Iterator[tuple[Name, Any]]:
        """The children of these names, as far as there are any."""
        tree = self.tree
        return sound(tree, self.holds, ((name, child) for name in names if (child := tree.get(name)) is not None))

    def some(self, names: Iterable[Any]) -> Iterator[Any]:
        return (child for _, child in self.some_items(names))

    def find(self, name: str | int | None) -> Any:
        """The item of this name; None where there is none, or none that can be read."""
        return None if name is None else next(self.some((name,)), None)

    def page_rows(self, names: Iterable[str], row: Callable[[Any], Row], unread: Callable[[Damage], Row]) -> list[Row]:
        """One that cannot be read has the row that `unread` makes of the reason."""
        rows, damaged, read = list[Row](), list[Damage](), set[str]()
        for name in names:
            read.add(name)
            child, damage = self.tree.get(name), None
            try:
                with contextlib.suppress(Unopened):
                    load(child)
            except Exception as problem:
                if not is_damage(problem):
                    raise
                damage = Damage.found(self.holds, name, problem)
                damaged.append(damage)
            rows.append(row(child) if damage is None else unread(damage))
        _note_some(self.tree, self.holds, read, damaged)
        return rows

    def _read(self, damaged: list[Damage], without: Collection[str] = ()) -> Iterator[tuple[Any, Any]]:
        children, broken = items_of(self.tree)
        damaged += self._parts(broken)
        for name, child in children:
            if name in without:
                continue
            try:
                load(child)
            except Exception as problem:
                if not is_damage(problem):
                    raise
                damaged.append(Damage.found(self.holds, str(name), problem))
                continue
            yield name, child
        _note(self.tree, self.holds, damaged)

    def _parts(self, broken: Iterable[str]) -> list[Damage]:
        return [Damage(f"part of the list of {self.holds}s", "", "", reason) for reason in broken]

    @staticmethod
    def _opened(child: Any, name: Any) -> Any:
        with contextlib.suppress(Unopened):
            loaded(child, str(name))
        return child


class ChildrenOf(Children):
    """The same of a tree that is no Folder."""

    def __init__(self, tree: Any, holds: str):
        self._children = tree
        self.holds = holds


def sound(owner: Any, kind: str, items: Iterable[tuple[Name, Any]]) -> Iterator[tuple[Name, Any]]:
    """The items that can be read, by their names. The rest is noted at the node of `owner`."""
    damaged, read = [], set[str]()
    for name, item in items:
        read.add(str(name))
        try:
            load(item)
        except Unopened:
            pass
        except Exception as problem:
            if not is_damage(problem):
                raise
            damaged.append(Damage.found(kind, str(name), problem))
            continue
        yield name, item
    _note_some(owner, kind, read, damaged)


def is_sound(owner: Any, kind: str, name: str, item: Any) -> bool:
    """Whether the item can be read; if not, that is noted."""
    return item is not None and any(sound(owner, kind, [(name, item)]))


def _note_some(owner: Any, kind: str, read: set[str], damaged: list[Damage]) -> None:
    """Note the damage of these items of a kind; of the others it stays as it was."""
    noted = _noted_at(owner)
    _write(noted, kind, [damage for damage in noted.get(kind, ()) if damage.id not in read] + damaged)


def _note(owner: Any, kind: str, damaged: list[Damage]) -> None:
    """What was found when all of a kind were read last."""
    _write(_noted_at(owner), kind, damaged)


def _write(noted: dict[str, list[Damage]], kind: str, damaged: list[Damage]) -> None:
    if damaged or noted.get(kind):
        noted[kind] = damaged


def _noted_at(owner: Any) -> dict[str, list[Damage]]:
    """The damage noted at the owner's node; of the past, and of what is not stored yet, nothing is noted."""
    connection = owner._p_jar
    if connection is None or connection.before is not None:
        return {}
    noted: dict[str, list[Damage]] = vars(connection.db()).setdefault(NOTED, {})
    return noted
