"""Root: where traversal begins, and where what is no URL (outbox, leases, …) hangs as plain attributes."""

from __future__ import annotations

from typing import Any

from persistent.mapping import PersistentMapping

from .acl import ROLE_ACL
from .folder import Folder

KEY = "opsapp"


class Api(Folder):
    """The features hang their containers below it, each by an evolve step of its own."""

    url = "/api"


class Root(Folder):
    """/: `system` holds what the service needs for itself, by name; reached by code, never by a URL."""

    url = ""
    __acl__ = ROLE_ACL

    def __init__(self) -> None:
        super().__init__()
        self.system = PersistentMapping()
        self["api"] = Api()


def root_above(node: Any) -> Root:
    while node.__parent__ is not None:
        node = node.__parent__
    return node


def root_of(connection: Any) -> Root:
    return connection.root()[KEY]
