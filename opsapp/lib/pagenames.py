"""What stands for status pages beside their ids: the page of all, every page, own pages that show a monitor."""

from __future__ import annotations

from collections.abc import Collection

MAIN, EVERY, OWN = "public", "*", "own"


def is_on(pages: Collection[str], page: str) -> bool:
    return page in pages or EVERY in pages
