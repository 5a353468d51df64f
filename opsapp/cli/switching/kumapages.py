"""Status pages of Uptime Kuma: their titles, their texts, and their groups of monitors.

The first published one is the page of all, and the others are pages of their own. Must not: show a monitor on a page
that does not show it there.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject

from .estate import NotImported
from .kumafile import KumaFile, title_of

PAGE = "public"
LONGEST_TITLE, LONGEST_TEXT = 80, 500
LOOKS = ("custom_css", "google_analytics_tag_id", "analytics_id")


class KumaGroup(NamedTuple):
    name: str
    monitors: tuple[int, ...]


class KumaPage(NamedTuple):
    id: int
    groups: tuple[KumaGroup, ...]
    domains: tuple[str, ...]

    @property
    def monitors(self) -> frozenset[int]:
        return frozenset(monitor for group in self.groups for monitor in group.monitors)


def pages_of(file: KumaFile) -> list[KumaPage]:
    """Those that visitors can see and that show something."""
    pages = [_page(file, row) for row in file.rows("status_page") if row.get("published", True)]
    return [page for page in pages if page.monitors]


def settings(row: JsonObject, pages: list[KumaPage], names: dict[int, str], notes: list[str]) -> JsonObject:
    """The first is the page of all, and the others are pages of their own; or the reason why not."""
    if not row.get("published", True):
        raise NotImported("it is not published")
    number = next((number for number, page in enumerate(pages) if page.id == row["id"]), None)
    if number is None:
        raise NotImported("it shows no monitor")
    shown = pages[number]
    groups = [
        {"name": group.name, "monitors": [names[monitor] for monitor in group.monitors if monitor in names]}
        for group in shown.groups
    ]
    left = [name for name in LOOKS if row.get(name)]
    if left:
        notes.append(f"not taken of it: {', '.join(left)}")
    if len(shown.domains) > 1:
        notes.append(f"its address is {shown.domains[0]}, not {', '.join(shown.domains[1:])}")
    return {
        **({"slug": str(row["slug"])} if number else {"page": PAGE}),
        "name": title_of(row)[:LONGEST_TITLE],
        "description": str(row.get("description") or "")[:LONGEST_TEXT],
        "footer": str(row.get("footer_text") or "")[:LONGEST_TEXT],
        "public_url": f"https://{shown.domains[0]}" if shown.domains else None,
        "groups": groups,
    }


def _page(file: KumaFile, row: JsonObject) -> KumaPage:
    groups: list[KumaGroup] = []
    used, titles = set[int](), set[str]()
    own = [group for group in file.rows("group") if group["status_page_id"] == row["id"]]
    for group in sorted(own, key=_order):
        ties = [tie for tie in file.rows("monitor_group") if tie["group_id"] == group["id"]]
        tied = [tie["monitor_id"] for tie in sorted(ties, key=_order)]
        fresh = tuple(dict.fromkeys(monitor for monitor in tied if monitor not in used))
        used.update(fresh)
        groups.append(KumaGroup(_title(str(group["name"]), titles), fresh))
    domains = [cname["domain"] for cname in file.rows("status_page_cname") if cname["status_page_id"] == row["id"]]
    return KumaPage(row["id"], tuple(groups), tuple(domains))


def _order(row: JsonObject) -> tuple[int, int]:
    return int(row.get("weight") or 0), int(row["id"])


def _title(name: str, taken: set[str]) -> str:
    """Two groups of a page have two names here."""
    wanted, number = name[: LONGEST_TITLE - 5], 2
    title = name[:LONGEST_TITLE]
    while title in taken:
        title, number = f"{wanted} ({number})", number + 1
    taken.add(title)
    return title
