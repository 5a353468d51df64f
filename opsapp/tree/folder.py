"""Folder: the persistent container that every collection of the tree is; Facet: a node made per request.

A Folder does not subclass dict, because its keys would then be URLs. A class says its place with `url =
"/api/agents/{agent_id}"`, which the API document and its tests follow. A child hides a view of the same name, so a
Folder refuses names that are views (`RESERVED`, filled at start-up).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.problems import Invalid

from .damage import loaded
from .reading import Children

RESERVED: set[str] = set()
C = TypeVar("C")


class Facet:
    """Not stored: a view of its parent (an agent's `stream`)."""

    url: ClassVar[str]
    facets: ClassVar[dict[str, type]] = {}

    def __init__(self, parent: Any, name: str):
        self.__parent__ = parent
        self.__name__ = name

    def __getitem__(self, name: str) -> Any:
        return facet_of(self, name)


class NamedFacets(Facet):
    """Any name leads on, to an `of`."""

    of: ClassVar[type[Facet]]

    def __getitem__(self, name: str) -> Any:
        return self.of(self, name)


def facet_of(parent: Any, name: str) -> Any:
    """The parent's facet of this name; KeyError where there is none. Facets of base classes count too."""
    for cls in type(parent).__mro__:
        facet = cls.__dict__.get("facets", {}).get(name)
        if facet is not None:
            return facet(parent, name)
    raise KeyError(name)


def add_facet(parent: type, name: str, facet: type) -> None:
    """Add a facet, at import or configuration time only; its `url` follows from the resource class."""
    if "facets" not in parent.__dict__:
        parent.facets = {}  # type: ignore[attr-defined]
    parent.facets[name] = facet  # type: ignore[attr-defined]
    if "url" not in facet.__dict__:
        facet.url = f"{parent.url}/{name}"  # type: ignore[attr-defined]


class Record(Persistent):
    """An item in a Folder. It may have facets, and no children of its own."""

    url: ClassVar[str]
    facets: ClassVar[dict[str, type]] = {}
    loads_with: ClassVar[tuple[str, ...]] = ()  # attributes that are objects of their own, and are loaded with it
    __parent__: Any = None
    __name__: str = ""

    def __getitem__(self, name: str) -> Any:
        return facet_of(self, name)


class Folder(Persistent, Children):
    """Named children in one B-tree. A damaged child is a problem for who asks for it (`[]`), and passed over for who
    walks or looks (`values`, `find`). `get` does not look at it: None means that there is none."""

    url: ClassVar[str]
    named_by: ClassVar[str] = "id"  # the field by which people name a child
    facets: ClassVar[dict[str, type]] = {}
    __parent__: Any = None
    __name__: str = ""

    def __init__(self) -> None:
        self._children = OOBTree()

    def __getitem__(self, name: str) -> Any:
        child = self._children.get(name)
        return facet_of(self, name) if child is None else loaded(child, name)

    def __setitem__(self, name: str, child: Any) -> None:
        if name in RESERVED:
            raise Invalid({self.named_by: f"{name!r} is a word of the service's own addresses: choose another one"})
        if name in self._children:
            raise ValueError(f"{name!r} is taken")
        child.__parent__ = self
        child.__name__ = name
        self._children[name] = child

    def __delitem__(self, name: str) -> None:
        del self._children[name]

    def __contains__(self, name: str) -> bool:
        return name in self._children

    def __iter__(self) -> Iterator[str]:
        return iter(self._children.keys())

    def __bool__(self) -> bool:
        return True

    def get(self, name: str, default: Any = None) -> Any:
        return self._children.get(name, default)

    def keys(self, low: str | None = None) -> Any:
        return self._children.keys(low)


class Child(Generic[C]):
    """Each Folder of a class has it, under the name of the attribute: `ledger = Child(Ledger)`."""

    def __init__(self, made: Callable[[], C]):
        self.made = made

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, folder: Any, owner: type) -> C:
        return folder[self.name]


def add_children(folder: Folder) -> None:
    """A new Folder gets the children that its class declares."""
    for declared in list(vars(type(folder)).values()):
        if isinstance(declared, Child):
            folder[declared.name] = declared.made()
