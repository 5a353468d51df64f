"""What runs for the series: committing the journal each second, following other nodes, folding under a lease.

Lives here because series may not know of nodes. The work itself is in `opsapp.series`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from opsapp.series import erasing, folding
from opsapp.series.history import history_root

from . import leases

if TYPE_CHECKING:
    from opsapp.tree.root import Root

    from .node import Node
    from .supervisor import Worker

LEASE = "series"
DAY_MS = 86_400_000
RETENTION = {"raw_days": 7, "fine_days": 90, "hourly_days": 730, "fold_s": 300.0, "merge_s": 60.0}


def start(node: Node) -> None:
    """On every node the journal, since agents and push addresses report to any of them; folding where engines run."""
    node.supervisor.add("journal", partial(flush, node), every=1.0)
    node.supervisor.add("series-follow", partial(follow, node), every=1.0)
    if "engine" in node.roles:
        for name, step, key in (("series-fold", fold, "fold_s"), ("series-merge", merge, "merge_s")):
            work, every = partial(step, node), often(node, key)
            worker = node.supervisor.add(name, work, every=every, wake=("config",), lease=LEASE)
            worker.step = partial(_paced, node, worker, key, work)


def flush(node: Node) -> bool:
    """Commit what was observed since the last second; at once again while there is a backlog."""
    journal = node.series.journal
    if not journal.waiting:
        return False
    node.lane("journal", 1).run(journal.pack, now_ms(node))
    journal.settle(node.transact(node.series.flush))
    return journal.backlog > 0


def follow(node: Node) -> bool:
    """Take what any node committed into this one's memory: the journal's tail, and the latest values."""
    node.transact(node.series.catch_up)
    node.series.tell()
    return False


def fold(node: Node) -> bool:
    """The journal into pieces; again while a commit was full."""
    return node.transact(_leased, _fold, now_ms(node), keep_ms(node)[0]) >= folding.OBSERVATIONS


def merge(node: Node) -> bool:
    """One slice of an hour or a day, or retention. When nothing is due: one day of what is gone, no more at once."""
    now = now_ms(node)
    worked = bool(
        node.transact(_leased, _merge, now)
        or node.transact(_leased, _seal, now)
        or node.transact(_leased, _retire, now, keep_ms(node))
    )
    if not worked:
        node.transact(_leased, erasing.erase, now)
    return worked


def _fold(root: Root, history: Any, now: int, raw_keep: int) -> int:
    return folding.fold(history, now, raw_keep, erasing.gone(root))


def _merge(root: Root, history: Any, now: int) -> bool:
    return folding.merge(history, now, erasing.gone(root))


def _seal(root: Root, history: Any, now: int) -> bool:
    return folding.seal(history, now, erasing.gone(root))


def _retire(_root: Root, history: Any, now: int, keep: tuple[int, int, int]) -> bool:
    return folding.retire(history, now, keep)


def stop(node: Node) -> None:
    """At a clean stop: nothing observed is left in memory."""
    while flush(node):
        pass


def now_ms(node: Node) -> int:
    return int(node.clock.now() * 1000)


def often(node: Node, key: str) -> float:
    return float({**RETENTION, **node.config.get("retention", {}).get("series", {})}[key])


def _paced(node: Node, worker: Worker, key: str, step: Callable[[], bool]) -> bool:
    """The step, as often as the configuration says now."""
    worker.every = often(node, key)
    return step()


def keep_ms(node: Node) -> tuple[int, int, int]:
    """How long raw rows, five-minute and hourly roll-ups are kept."""
    days = {**RETENTION, **node.config.get("retention", {}).get("series", {})}
    return days["raw_days"] * DAY_MS, days["fine_days"] * DAY_MS, days["hourly_days"] * DAY_MS


def _leased(root: Root, fn: Callable[..., Any], *values: Any) -> Any:
    """Work on the history that only the leaseholder does: a takeover meanwhile fails the commit."""
    leases.check(root, LEASE)
    return fn(root, history_root(root), *values)
