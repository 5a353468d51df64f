"""`python -m tests.cluster [FAULT…]`: lets things fail under load on both engines, and prints what became of it.

`--failover N` kills the holder of the leases N times, and prints how long they were without one. Root only: each node
and the store has a network namespace of its own.
"""

import argparse
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from .faults import FAULTS
from .leasekills import measure
from .places import Site
from .stores import PostgresStore, ZeoStore
from .world import Cluster

STORES = {"zeo": ZeoStore, "postgresql": PostgresStore}
HEAD = (
    f"{'engine':<11}{'fault':<42}{'writes':>7}{'lost':>5}{'runs':>6}{'lost':>5}{'twice':>6}{'gap s':>7}{'leases s':>9}"
)
HEAD += f"{'agents s':>9}  verdict"


def main():
    parser = argparse.ArgumentParser(prog="make cluster", description=__doc__)
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="some of: " + " ".join(FAULTS))
    parser.add_argument("--engine", choices=STORES, action="append")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--failover", type=int, metavar="N", help="N kills of the leases' holder, and nothing else")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what was put up is taken down
    unknown = [name for name in asked.faults if name not in FAULTS]
    if unknown:
        parser.error(f"no such fault: {', '.join(unknown)}; there are: {' '.join(FAULTS)}")
    engines = asked.engine or list(STORES)
    if asked.failover:
        return max(measure(engine, asked.failover) for engine in engines)
    print(HEAD, flush=True)
    return max(tried(engine, asked.faults or list(FAULTS), asked.rounds) for engine in engines)


def tried(engine, names, rounds):
    """1 when anything went wrong."""
    bad = 0
    for name in names:
        if engine in FAULTS[name].engines:
            for _ in range(rounds):
                bad |= _once(engine, FAULTS[name])
    return bad


def _once(engine, fault):
    """On a cluster of its own: what one fault leaves behind is no part of the next."""
    with tempfile.TemporaryDirectory(prefix="opsapp-cluster-") as directory, Site() as site:
        further = [site.place(22)] if engine == "postgresql" else []
        store = STORES[engine](site.place(21), *further)
        try:
            with Cluster(Path(directory), site, store) as cluster:
                outcome = cluster.during(fault.happen)
            found = outcome.problems(fault.may_lose_runs)
            print(_row(engine, fault, outcome, found), flush=True)
            return int(bool(found))
        except Exception as problem:  # the other faults are tried all the same
            traceback.print_exc()
            print(f"{engine:<11}{fault.what:<42}  {type(problem).__name__}: {problem}", flush=True)
            return 1
        finally:
            store.remove()


def _row(engine, fault, seen, found):
    leases = "" if seen.leases_s is None else f"{seen.leases_s:.1f}"
    counts = f"{seen.acknowledged:>7}{seen.lost:>5}{seen.runs:>6}{seen.runs_lost:>5}{seen.twice:>6}"
    return f"{engine:<11}{fault.what:<42}{counts}{seen.gap_s:>7.1f}{leases:>9}{seen.agents_s:>9.1f}  " + (
        "; ".join(found) or "good"
    )


if __name__ == "__main__":
    sys.exit(main())
