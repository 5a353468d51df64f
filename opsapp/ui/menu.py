"""The menu at the side. An entry (a door) leads to the first of its pages that the reader may open; on each of these
pages they all stand in a row (its rooms). Must not: say who may see a page; the API does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from .builder import Known


class Door(NamedTuple):
    path: str
    icon: str
    rooms: tuple[str, ...] = ()

    @property
    def pages(self) -> tuple[str, ...]:
        return (self.path, *self.rooms)


HEALING = Door("/healing", "heart", tuple(f"/healing/{room}" for room in (
    "rules", "trust", "ledger", "problems", "suggestions", "forecasts", "dependencies", "inlets", "letter", "replay",
    "chaos",
)))  # fmt: skip
# (group, its doors), in the order of the menu; at most twelve doors, or people read instead of looking.
GROUPS: tuple[tuple[str, tuple[Door, ...]], ...] = (
    ("Main", (Door("/", "home"), Door("/monitors", "pulse"), Door("/agents", "host"),
              Door("/incidents", "fire", ("/oncall",)), Door("/approvals", "check"), HEALING,
              Door("/automations", "bolt", ("/deployments",)))),
    ("Administration", (Door("/maintenance", "cal"), Door("/statuspage", "globe"), Door("/notifications", "bell"),
                        Door("/audit", "list"),
                        Door("/settings", "gear", ("/users", "/teams", "/provisioning", "/secrets", "/first-steps")))),
)  # fmt: skip
DOORS = tuple(door for _, doors in GROUPS for door in doors)
PHONE_TABS = ("/", "/monitors", "/incidents", "/approvals")


class MenuLink(NamedTuple):
    path: str
    name: str
    icon: str


class MenuGroup(NamedTuple):
    title: str
    links: tuple[MenuLink, ...]


class Menu(NamedTuple):
    groups: tuple[MenuGroup, ...] = ()
    door: str = ""
    room: str = ""
    rooms: tuple[MenuLink, ...] = ()
    every: tuple[MenuLink, ...] = ()

    def thumb(self, *, first: bool) -> list[MenuLink]:
        return [link for group in self.groups for link in group.links if (link.path in PHONE_TABS) == first]


def menu_for(known: Known, role: str, path: str) -> Menu:
    names = {page.path: page.menu for page in known.pages if known.may_open(role, page)}

    def links(door: Door, pages: Iterable[str]) -> list[MenuLink]:
        return [MenuLink(page, names[page] or "", door.icon) for page in pages if page in names]

    groups = (
        MenuGroup(title, tuple(link for door in doors for link in links(door, door.pages)[:1]))
        for title, doors in GROUPS
    )
    door, room = place_of(path)
    rooms = links(door, door.pages) if door.rooms else ()
    every = (link for at in DOORS for link in links(at, at.pages))
    return Menu(tuple(group for group in groups if group.links), door.path, room, tuple(rooms), tuple(every))


def place_of(path: str) -> tuple[Door, str]:
    """The door that a page is behind, and the page of the menu that it belongs to, if any."""
    above = [(door, page) for door in DOORS for page in door.pages if f"{path}/".startswith(f"{page}/")]
    return max(above, key=lambda place: len(place[1]), default=(Door("", ""), ""))
