"""Removes what has expired from a tree, one page at a time. Must not: know what is stored there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from BTrees.OOBTree import OOBTree

PAGE = 500


def purge_page(tree: OOBTree, after: str, is_over: Callable[[Any], bool]) -> str | None:
    """Deletes what is over of the page behind `after`. The name to go on from, or None at the end."""
    page = list(tree.items(after, excludemin=True))[:PAGE]
    for name, record in page:
        if is_over(record):
            del tree[name]
    return page[-1][0] if len(page) == PAGE else None
