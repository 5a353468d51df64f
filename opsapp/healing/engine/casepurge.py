"""What healing drops when it is old: cases, closed problems, what agents have reported. Must not: touch open ones."""

from __future__ import annotations

from itertools import islice

from opsapp.healing.config import CasesRetention
from opsapp.healing.resources import healing_of
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

from . import problems

DAY_S = 86400.0
KEEP_TRACES_S = 30 * DAY_S  # what agents have reported, closed problems, and what a case says of its target
PAGE = 500


def step(node: Node) -> bool:
    """Whether there are more old cases."""
    before, after = node.clock.now() - KEEP_TRACES_S, ""
    while after is not None:
        after = node.transact(purge_reported, before, after)
    problems.purge(node, before)
    while node.transact(lambda root: healing_of(root).book.let_go(before)):
        pass
    ended_before = node.clock.now() - node.config[CasesRetention].days * DAY_S
    return node.transact(lambda root: healing_of(root).book.purge(ended_before))


def purge_reported(root: Root, before: float, after: str) -> str | None:
    """A page; where to go on, or None."""
    reported = healing_of(root).reported
    page = list(islice(reported.items(after, excludemin=True), PAGE))
    for name, at in page:
        if at < before:
            del reported[name]
    return page[-1][0] if len(page) == PAGE else None
