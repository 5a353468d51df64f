"""What runs for the series: committing the journal each second, following other nodes, folding under a lease.

Here because series may not know of nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

from opsapp.lib.settings import Between
from opsapp.series import erasure, folds, history_root
from opsapp.tree.root import Root
from opsapp.wire.dataclass import frozen

from .base import NodeBase
from .cluster import leases

LEASE = "series"
DAY_MS = 86_400_000
PREPARE_S = 5.0


@frozen
class SeriesRetention:
    """`retention.series`: for how many days which resolution is kept, and how often it is made."""

    raw_days: Annotated[int, Between(1, 365)] = 7
    fine_days: Annotated[int, Between(1, 3650)] = 90
    hourly_days: Annotated[int, Between(1, 3650)] = 730
    fold_s: Annotated[float, Between(1, 3600)] = 300
    merge_s: Annotated[float, Between(1, 3600)] = 60


def start(node: NodeBase) -> None:
    """Every node has the journal, because agents and push addresses report to any of them. Folding runs where engines
    run."""
    node.supervisor.add("journal", partial(flush, node), every=1.0)
    node.supervisor.add("series-follow", SeriesFollower(node).step, every=1.0)
    node.supervisor.add("series-sums", partial(prepare, node), every=PREPARE_S)
    if "engine" in node.roles:
        add = partial(node.supervisor.add, wake=("config",), lease=LEASE)
        add("series-fold", partial(fold, node), every=lambda: node.config[SeriesRetention].fold_s)
        add("series-merge", partial(merge, node), every=lambda: node.config[SeriesRetention].merge_s)


def flush(node: NodeBase) -> bool:
    """Store what was observed since the last second; at once again while there is a backlog."""
    journal = node.series.journal
    if not journal.waiting:
        return False
    node.lane("journal", 1).run(journal.pack, now_ms(node))
    journal.settle(node.transact(node.series.flush))
    return journal.backlog > 0


def follow(node: NodeBase) -> bool:
    """Read what any node committed: the journal's tail, and the latest values."""
    node.transact(node.series.catch_up)
    node.series.tell()
    return False


def prepare(node: NodeBase) -> bool:
    """Prepare what lists and reports ask for: once an hour that takes a second, and nobody shall wait for it."""
    if node.series.recent.is_asked:
        node.lane("series-sums", 1).run(node.transact, node.series.prepare, now_ms(node))
    return False


class SeriesFollower:
    """Reads nothing in a store that has not changed."""

    def __init__(self, node: NodeBase):
        self._node = node
        self._seen: object = None

    def step(self) -> bool:
        state = self._node.state()
        if state is not self._seen:
            follow(self._node)
            self._seen = state
        else:
            self._node.series.tell()
        return False


def fold(node: NodeBase) -> bool:
    """The journal into pieces; again while a commit was full."""
    return node.transact(_leased, _fold, now_ms(node), keep_ms(node)[0]) >= folds.OBSERVATIONS


def merge(node: NodeBase) -> bool:
    """One slice of an hour or a day, or retention. If nothing is due: erase one day of deleted series."""
    now = now_ms(node)
    worked = bool(
        node.transact(_leased, _merge, now)
        or node.transact(_leased, _seal, now)
        or (not node.clock_steps.is_far_ahead() and node.transact(_leased, _retire, now, keep_ms(node)))
    )
    if not worked:
        node.transact(_leased, erasure.erase, now)
    return worked


def _fold(root: Root, history: Any, now: int, raw_keep: int) -> int:
    return folds.fold(history, now, raw_keep, erasure.gone(root))


def _merge(root: Root, history: Any, now: int) -> bool:
    return folds.merge(history, now, erasure.gone(root))


def _seal(root: Root, history: Any, now: int) -> bool:
    return folds.seal(history, now, erasure.gone(root))


def _retire(_root: Root, history: Any, now: int, keep: tuple[int, int, int]) -> bool:
    return folds.retire(history, now, keep)


def stop(node: NodeBase) -> None:
    """At a clean stop, nothing that was observed is left in memory."""
    while flush(node):
        pass


def now_ms(node: NodeBase) -> int:
    return int(node.clock.now() * 1000)


def keep_ms(node: NodeBase) -> tuple[int, int, int]:
    """How long raw rows, five-minute and hourly roll-ups are kept."""
    keep = node.config[SeriesRetention]
    return keep.raw_days * DAY_MS, keep.fine_days * DAY_MS, keep.hourly_days * DAY_MS


def _leased(root: Root, fn: Callable[..., Any], *values: Any) -> Any:
    """Only the leaseholder works on the history: a takeover meanwhile fails the commit."""
    leases.check(root, LEASE)
    return fn(root, history_root(root), *values)
