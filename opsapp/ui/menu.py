"""The menu at the side: which pages lead on from every page, in which group, with which sign.

Must not: say who may see a page; that is what the API says of what the page shows.
"""

from __future__ import annotations

from typing import NamedTuple

from .builder import Known, needed

HOUSE = "House"
# (group, ((address, sign), …)), in the order of the menu. A page with a name for the menu that is not here comes last.
GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("Main", (("/", "home"), ("/monitors", "pulse"), ("/incidents", "fire"), ("/approvals", "check"),
              ("/agents", "host"), ("/automations", "bolt"))),
    ("Healing", (("/healing", "heart"), ("/healing/letter", "cal"), ("/healing/ledger", "book"),
                 ("/healing/rules", "rule"),
                 ("/healing/trust", "stairs"), ("/healing/problems", "flag"),
                 ("/healing/suggestions", "bulb"), ("/healing/forecasts", "trend"),
                 ("/healing/dependencies", "graph"), ("/healing/inlets", "inlet"), ("/healing/chaos", "storm"),
                 ("/healing/replay", "again"))),
    (HOUSE, (("/first-steps", "stairs"), ("/maintenance", "cal"), ("/statuspage", "globe"), ("/notifications", "bell"),
             ("/users", "user"), ("/secrets", "key"), ("/audit", "list"), ("/settings", "gear"))),
)  # fmt: skip
PHONE_TABS = ("/", "/monitors", "/incidents", "/approvals")


class MenuLink(NamedTuple):
    path: str
    name: str
    icon: str


class MenuGroup(NamedTuple):
    title: str
    links: tuple[MenuLink, ...]


def menu_for(known: Known, role: str) -> tuple[MenuGroup, ...]:
    """What this role may see."""
    mine = {page.path: page for page in known.pages if page.menu and all(known.may(role, api) for api in needed(page))}
    placed = {path for _, links in GROUPS for path, _ in links}
    groups = []
    for title, links in GROUPS:
        late = [(path, "list") for path in mine if path not in placed] if title == HOUSE else []
        links_of = tuple(MenuLink(path, mine[path].menu or "", icon) for path, icon in (*links, *late) if path in mine)
        groups.append(MenuGroup(title, links_of))
    return tuple(group for group in groups if group.links)


def phone_tabs(menu: tuple[MenuGroup, ...]) -> tuple[tuple[MenuLink, ...], tuple[MenuLink, ...]]:
    """The tabs of a phone, and what is behind `More`."""
    every = [link for group in menu for link in group.links]
    return (
        tuple(link for link in every if link.path in PHONE_TABS),
        tuple(link for link in every if link.path not in PHONE_TABS),
    )
