"""Where the one thing of its kind hangs in the store: its name and its class, declared once.

    users_of = ApiPlace[Users]("users")
    users_of(root)

Must not: know what hangs there.
"""

from __future__ import annotations

from typing import Generic, TypeVar, cast

from .root import Root

T = TypeVar("T")


class ApiPlace(Generic[T]):
    """Below /api, by the names that lead to it."""

    def __init__(self, *names: str):
        *self._above, self._name = ("api", *names)

    def __call__(self, root: Root) -> T:
        return cast(T, self._folder(root)[self._name])

    def _folder(self, root: Root) -> Root:
        folder = root
        for name in self._above:
            folder = folder[name]
        return folder

    def put(self, root: Root, held: T) -> T:
        self._folder(root)[self._name] = held
        return held

    def is_there(self, root: Root) -> bool:
        return self._name in self._folder(root)


class SystemPlace(Generic[T]):
    """What no URL leads to."""

    def __init__(self, name: str):
        self.name = name

    def __call__(self, root: Root) -> T:
        return cast(T, root.system[self.name])

    def put(self, root: Root, held: T) -> T:
        root.system[self.name] = held
        return held
