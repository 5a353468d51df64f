"""Open proposals, and the actions that were allowed once and are not over."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.cluster import leases
from opsapp.tree.folder import Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root

LEASE = "healing"  # who works cases ends their rules


class OpenProposal(NamedTuple):
    """Whose it is, and what it is about: equal ones have the same digest."""

    key_id: str
    digest: str


class Grant(NamedTuple):
    """An action that was allowed once. `until`: unused, it ends then. `case_id`: the case that used it."""

    request_id: str
    until: float
    case_id: str | None = None


class Desk(Record):
    """One small object: two proposals at once conflict, and the second sees the first."""

    url = "/api/mcp"

    def __init__(self) -> None:
        self.open: dict[str, OpenProposal] = {}  # by request
        self.grants: dict[str, Grant] = {}  # by rule

    def opened(self, request_id: str, proposal: OpenProposal) -> None:
        self.open = {**self.open, request_id: proposal}

    def keep_open(self, request_ids: set[str]) -> None:
        """Forget those that are decided."""
        if request_ids != self.open.keys():
            self.open = {name: proposal for name, proposal in self.open.items() if name in request_ids}

    def grant(self, rule_id: str, grant: Grant) -> None:
        self.grants = {**self.grants, rule_id: grant}

    def end(self, rule_id: str) -> None:
        self.grants = {name: grant for name, grant in self.grants.items() if name != rule_id}


class Asker(NamedTuple):
    key_id: str
    name: str
    username: str
    client: str
    ip: str

    @property
    def title(self) -> str:
        """Shown where a person's name would stand."""
        return f"assistant {self.name}"

    def plain(self) -> JsonObject:
        return {"name": self.name, "key_id": self.key_id, "username": self.username, "client": self.client}


def set_up(root: Root) -> None:
    desk_of.put(root, Desk())


desk_of = ApiPlace[Desk]("mcp")


def move(root: Root, by: float) -> None:
    """What was allowed has as long to go as before."""
    leases.check(root, LEASE)
    desk = desk_of(root)
    if desk.grants:
        desk.grants = {name: grant._replace(until=grant.until + by) for name, grant in desk.grants.items()}
