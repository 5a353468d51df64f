"""Chooses the subscribers of a page that one piece of news is for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from opsapp.lib.pagenames import MAIN, OWN, is_on

from .groups import GroupRecord, chosen
from .letters import NewsItem


class Audience(NamedTuple):
    """The subscribers of one page. `shown`: the monitors of a page of its own."""

    page: str
    groups: Sequence[GroupRecord]
    shown: frozenset[str] = frozenset()

    def hears(self, wanted: Collection[str], item: NewsItem) -> bool:
        """`wanted`: groups that the subscriber chose. What people say themselves is for everybody on the page."""
        if not item.monitors:
            return is_on(item.pages, self.page)
        if self.page == MAIN:
            return is_on(item.pages, MAIN) and chosen(wanted, item.monitors, self.groups)
        shown = self.shown.intersection(item.monitors)
        return OWN in item.pages and bool(shown) and chosen(wanted, shown, self.groups)
