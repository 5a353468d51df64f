"""Status pages of Uptime Kuma: their titles, their texts, and their groups of monitors.

Must not: show a monitor on a page that does not show it there.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.statuspages.records import GroupAsCode, OwnPageAsCode, PageAsCode, ShownGroupAsCode

from .foreign import NotImported
from .kumafile import KumaFile
from .kumarecords import KumaPage

LONGEST_TITLE, LONGEST_TEXT = 80, 500
LOOKS = ("custom_css", "google_analytics_tag_id", "analytics_id")


class GroupOfMonitors(NamedTuple):
    name: str
    monitors: tuple[int, ...]


class VisiblePage(NamedTuple):
    id: int
    groups: tuple[GroupOfMonitors, ...]
    domains: tuple[str, ...]

    @property
    def monitors(self) -> frozenset[int]:
        return frozenset(monitor for group in self.groups for monitor in group.monitors)


def pages_of(file: KumaFile) -> list[VisiblePage]:
    """Those that visitors can see and that show something."""
    pages = [_page(file, row) for row in file.pages if row.published]
    return [page for page in pages if page.monitors]


def page_as_code(
    row: KumaPage, pages: list[VisiblePage], names: dict[int, str], notes: list[str]
) -> PageAsCode | OwnPageAsCode:
    """The first published page is the page of all, the others are pages of their own; or the reason why not."""
    if not row.published:
        raise NotImported("it is not published")
    number = next((number for number, page in enumerate(pages) if page.id == row.id), None)
    if number is None:
        raise NotImported("it shows no monitor")
    shown = pages[number]
    groups = [
        (group.name, tuple(names[monitor] for monitor in group.monitors if monitor in names)) for group in shown.groups
    ]
    left = [name for name in LOOKS if getattr(row, name)]
    if left:
        notes.append(f"not taken of it: {', '.join(left)}")
    if len(shown.domains) > 1:
        notes.append(f"its address is {shown.domains[0]}, not {', '.join(shown.domains[1:])}")
    name, description, footer = row.told[:LONGEST_TITLE], row.description[:LONGEST_TEXT], row.footer_text[:LONGEST_TEXT]
    url = f"https://{shown.domains[0]}" if shown.domains else None
    if number:
        own = tuple(ShownGroupAsCode(name=title, monitors=tied) for title, tied in groups)
        return OwnPageAsCode(
            slug=row.slug, name=name, description=description, footer=footer, public_url=url, groups=own
        )
    of_all = tuple(GroupAsCode(name=title, monitors=tied) for title, tied in groups)
    return PageAsCode(name=name, description=description, footer=footer, public_url=url, groups=of_all)


def _page(file: KumaFile, row: KumaPage) -> VisiblePage:
    groups: list[GroupOfMonitors] = []
    used, titles = set[int](), set[str]()
    own = [group for group in file.groups if group.status_page_id == row.id]
    for group in sorted(own, key=lambda group: group.order):
        ties = [tie for tie in file.group_ties if tie.group_id == group.id]
        tied = [tie.monitor_id for tie in sorted(ties, key=lambda tie: tie.order)]
        fresh = tuple(dict.fromkeys(monitor for monitor in tied if monitor not in used))
        used.update(fresh)
        groups.append(GroupOfMonitors(_title(group.name, titles), fresh))
    domains = [cname.domain for cname in file.domains if cname.status_page_id == row.id]
    return VisiblePage(row.id, tuple(groups), tuple(domains))


def _title(name: str, taken: set[str]) -> str:
    """Two groups of a page have two names here."""
    wanted, number = name[: LONGEST_TITLE - 5], 2
    title = name[:LONGEST_TITLE]
    while title in taken:
        title, number = f"{wanted} ({number})", number + 1
    taken.add(title)
    return title
