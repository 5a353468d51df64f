"""Dependencies that nobody has declared: every so often, from what the ledger has recorded, as suggestions.

Must not: add an edge. A person confirms one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opsapp.healing.logic.cofailure import Pair, candidates
from opsapp.healing.resources import healing_of
from opsapp.runtime import leases
from opsapp.tree.root import Root

from .replay import recorded

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

DAY = 86400.0
LOOK_BACK_S = 30 * DAY
MOST_ENTRIES = 50_000
MOST_SUGGESTED = 20
NO_FAILURE = ("withdrawn", "absorbed")


def step(node: Node) -> bool:
    """Read page by page, think in a lane's thread, suggest."""
    since, read = node.clock.now() - LOOK_BACK_S, 0
    failures: dict[str, list[float]] = {}
    below: int | None = None
    while read < MOST_ENTRIES:
        page, below = node.transact(recorded, since, below)
        read += len(page)
        for row in page:
            if row["outcome"] not in NO_FAILURE:
                failures.setdefault(row["target"], []).append(float(row["created_at"]))
        if below is None:
            break
    times = {target: sorted(found) for target, found in failures.items()}
    span = node.clock.now() - min((found[0] for found in times.values()), default=node.clock.now())
    together = float(node.config["healing"]["discovery"]["together_s"])
    pairs = node.lane("discovery", 1).run(candidates, times, span, together)
    if pairs:
        node.transact(suggest, pairs[:MOST_SUGGESTED], node.clock.now())
    return False


def suggest(root: Root, pairs: list[Pair], now: float) -> None:
    """Each pair once, whatever was done with the suggestion; nothing that the graph knows already."""
    leases.check(root, "healing")
    healing = healing_of(root)
    graph = healing["dependencies"].graph()
    for pair in pairs:
        if pair.parent in graph.ancestors(pair.target) or pair.target in graph.ancestors(pair.parent):
            continue
        healing["suggestions"].suggest(
            "dependency_candidate",
            "info",
            f"{pair.target} failed {pair.support} times together with {pair.parent} "
            f"({pair.confidence:.0%} of its failures): does it depend on it?",
            rule_id="",
            evidence=f"{pair.target}|{pair.parent}",
            now=now,
            about=_about(pair),
        )


def _about(pair: Pair) -> dict[str, Any]:
    return {
        "target": pair.target,
        "depends_on": pair.parent,
        "support": pair.support,
        "confidence": pair.confidence,
        "lift": pair.lift,
        "parent_first": pair.first,
    }
