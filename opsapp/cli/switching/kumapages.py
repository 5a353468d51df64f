"""The status page of Uptime Kuma: its title, its texts, and its groups of monitors.

There is one page here, so the first published one is taken; the others are named. Must not: publish a monitor that the
page does not show.
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


def first_of(file: KumaFile) -> KumaPage | None:
    """The first page that visitors can see and that shows something."""
    pages = [_page(file, row) for row in file.rows("status_page") if row.get("published", True)]
    return next((page for page in pages if page.monitors), None)


def settings(row: JsonObject, shown: KumaPage | None, names: dict[int, str], notes: list[str]) -> JsonObject:
    """Of the page that is taken; the reason why for the others."""
    if not row.get("published", True):
        raise NotImported("it is not published")
    if shown is None or row["id"] != shown.id:
        raise NotImported("one page is taken, the first that shows monitors")
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
        "page": PAGE,
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
