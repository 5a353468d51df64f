"""Root causes in the manner of PetShop: one fault in a graph of services, symptoms on dependants, the truth known.

The graphs and faults are made with seeds. A fault reaches each dependant with some probability and delay, and a check
of each service sees it later. A service is named by the failures of which it is the root cause, the most often named
first. Beside it: whoever failed first. The declared graph is right, or lacks edges and has wrong ones; services may
fail by chance at the same time, or have no check (the root always has one).
"""

import random
from collections import Counter
from typing import NamedTuple

from opsapp.healing.logic.graph import Graph, GraphNode
from tests.bench import Row
from tests.support.failing_worlds import world

WORLDS, FAULTS, LEAST_SYMPTOMS = 20, 25, 2
SERVICES = 40
CADENCE_S, DELAY_S = 60.0, (1.0, 40.0)


class Case(NamedTuple):
    """`reaches`: how often a failure gets to a dependant. The other three are shares."""

    what: str
    reaches: float = 1.0
    edges_missing: float = 0.0
    edges_wrong: float = 0.0
    by_chance: float = 0.0
    unwatched: float = 0.0


CASES = (
    Case("the graph is right, every dependant fails"),
    Case("80 % of dependants fail", reaches=0.8),
    Case("and 5 % of the others fail by chance", reaches=0.8, by_chance=0.05),
    Case("and 10 % of edges are missing, 5 % wrong", reaches=0.8, by_chance=0.05, edges_missing=0.1, edges_wrong=0.05),
    Case("and 20 % have no check", 0.8, edges_missing=0.1, edges_wrong=0.05, by_chance=0.05, unwatched=0.2),
)


def measure():
    for case in CASES:
        faults = [fault for seed in range(WORLDS) for fault in _faults(case, seed)]
        ours = [_rank(_named(graph, failed, watched), root) for graph, root, failed, watched in faults]
        first = [_rank(sorted(failed, key=failed.__getitem__), root) for _, root, failed, _ in faults]
        yield Row(case.what, len(faults), "faults")
        yield Row("  the root is named first", _share(ours, 1), "%")
        yield Row("  it is among the first three", _share(ours, 3), "%")
        yield Row("  who failed first is the root", _share(first, 1), "%")
        yield Row("  it is among the three that failed first", _share(first, 3), "%")


def _share(ranks, most):
    return 100 * sum(rank is not None and rank < most for rank in ranks) / len(ranks)


def _rank(names, root):
    return names.index(root) if root in names else None


def _named(graph, failed, watched):
    """Root causes, the one of most failures first."""

    def is_well(name):
        return name in watched and name not in failed

    causes = [graph.suppressor(target, failed, is_well) for target in failed]
    roots = Counter(target if cause is None else cause[0] for target, cause in zip(failed, causes, strict=True))
    return sorted(roots, key=lambda name: (-roots[name], name))


def _faults(case, seed):
    """(the declared graph, the root, when each service was seen to fail, what has a check), fault by fault."""
    dice, edges = random.Random(f"{seed}{case.what}"), sorted(world(seed, services=SERVICES, days=1).edges)
    names = sorted({name for edge in edges for name in edge})
    graph, made, tries = _declared(case, names, edges, dice), 0, 0
    while made < FAULTS and tries < 100 * FAULTS:
        tries += 1
        root = dice.choice(names)
        watched = {name for name in names if name == root or dice.random() >= case.unwatched}
        failed = _failed(case, root, edges, dice)
        symptoms = len(failed.keys() & watched) - 1
        failed |= {name: _seen(dice, 0.0) for name in names if name not in failed and dice.random() < case.by_chance}
        if symptoms >= LEAST_SYMPTOMS:
            made += 1
            yield graph, root, {name: at for name, at in failed.items() if name in watched}, watched


def _declared(case, names, edges, dice):
    kept = {edge for edge in edges if dice.random() >= case.edges_missing}
    kept |= {tuple(dice.sample(names, 2)) for edge in edges if dice.random() < case.edges_wrong}
    return Graph(GraphNode(name, depends_on=tuple(sorted(up for low, up in kept if low == name))) for name in names)


def _failed(case, root, edges, dice):
    """When each is seen to fail: its own time, and then its check."""
    began, queue = {root: 0.0}, [root]
    while queue:
        parent = queue.pop(0)
        for child, above in edges:
            if above == parent and child not in began and dice.random() < case.reaches:
                began[child] = began[parent] + dice.uniform(*DELAY_S)
                queue.append(child)
    return {name: _seen(dice, at) for name, at in began.items()}


def _seen(dice, at):
    return at + dice.uniform(0, CADENCE_S)
