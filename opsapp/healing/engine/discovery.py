"""Dependencies that nobody has declared, as suggestions: from the ledger, and from incidents of monitors that no rule
looks at.

Must not: add an edge. A person confirms one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice

from opsapp.healing.answers import SuggestionAbout
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.cofailure import Pair, candidates
from opsapp.healing.resources import healing_of
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

from .replay import recorded_since

DAY = 86400.0
LOOK_BACK_S = 30 * DAY
MOST_ENTRIES = 50_000
PAGE = 1000
MOST_SUGGESTED = 20
NO_FAILURE = ("withdrawn", "absorbed")


def step(node: Node) -> bool:
    together = float(node.config[HealingSettings].discovery.together_s)
    times = failures_since(node, node.clock.now() - LOOK_BACK_S, together)
    span = node.clock.now() - min((moments[0] for moments in times.values()), default=node.clock.now())
    pairs = node.lane("discovery", 1).run(candidates, times, span, together)
    if pairs:
        node.transact(suggest, pairs, node.clock.now())
    return False


def failures_since(node: Node, since: float, together: float) -> dict[str, list[float]]:
    """An incident with a ledger entry at the same time is one failure."""
    failures: dict[str, list[float]] = {}
    for row in recorded_since(node, since, MOST_ENTRIES):
        if row.outcome not in NO_FAILURE:
            failures.setdefault(row.target, []).append(float(row.created_at))
    told = {target: sorted(moments) for target, moments in failures.items()}
    read, low = 0, f"{int(since * 1000):012x}"
    while read < MOST_ENTRIES and low:
        incidents, low = node.transact(incidents_from, low)
        read += PAGE
        for target, at in incidents:
            if not _is_near(told.get(target, ()), at, together):
                failures.setdefault(target, []).append(at)
    return {target: sorted(moments) for target, moments in failures.items()}


def incidents_from(root: Root, low: str) -> tuple[list[tuple[str, float]], str]:
    """(A page, oldest first: the present name of the monitor, and when it failed; where the next page begins, ""
    after the last). Without those of deleted monitors."""
    incidents, monitors = incidents_of(root), monitors_of(root)
    ids = list(islice(incidents.keys(low), PAGE))
    rows = []
    for incident in incidents.some(ids):
        monitor = monitors.find(incident.monitor_id)
        if monitor is not None:
            rows.append((monitor.name, float(incident.started)))
    return rows, ids[-1] + "0" if len(ids) == PAGE else ""


def _is_near(times: Sequence[float], at: float, together: float) -> bool:
    at_or_after = bisect_left(times, at - together)
    return at_or_after < len(times) and times[at_or_after] <= at + together


def suggest(root: Root, pairs: list[Pair], now: float) -> None:
    """Each pair once, even if it was dismissed; none that the graph has; the surest first, a limited number at a
    time."""
    leases.check(root, "healing")
    healing = healing_of(root)
    graph, made = healing.dependencies.graph(), 0
    for pair in pairs:
        if pair.parent in graph.ancestors(pair.target) or pair.target in graph.ancestors(pair.parent):
            continue
        made += healing.suggestions.suggest(
            "dependency_candidate",
            "info",
            f"{pair.target} failed with {pair.confidence:.0%} of the failures of {pair.parent} ({pair.support} times), "
            f"{pair.parent} first in {pair.first:.0%} of them: does {pair.target} depend on {pair.parent}? "
            f"The direction is {pair.sure:.0%} sure.",
            evidence=f"{pair.target}|{pair.parent}",
            now=now,
            about=SuggestionAbout(
                pair.target, pair.parent, pair.support, pair.confidence, pair.lift, pair.first, pair.sure
            ),
        )
        if made == MOST_SUGGESTED:
            return
