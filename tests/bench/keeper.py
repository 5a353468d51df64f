"""What a keeper and a domain add to the start of a program, beside a bare subprocess: from the call to its end."""

import functools
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from opsapp.agent.kept import Manner, open_nursery
from opsapp.agent.processes import Cancel, RunOptions, run
from tests.bench import Row

ROOT = Path(__file__).resolve().parents[2]
TIMES = 300
PROGRAM = ["/bin/sh", "-c", "exec true"]


def measure():
    """In a process as small as the executor: what it has loaded is what a fork costs."""
    own = [sys.executable, "-c", "from tests.bench.keeper import alone; alone()"]
    said = subprocess.run(own, check=True, capture_output=True, cwd=ROOT, text=True).stdout
    for what, figure in json.loads(said).items():
        yield Row(what, figure, "ms")


def alone():
    nursery = open_nursery()
    ways = {
        "a bare subprocess": lambda: subprocess.run(PROGRAM, check=True),
        "by the gate, as on hosts": functools.partial(_ran, RunOptions()),
        "with a keeper": functools.partial(_ran, _kept(nursery, False)),
        "with a keeper and a domain": functools.partial(_ran, _kept(nursery, True)),
        "and a secret by descriptor": functools.partial(_ran, _kept(nursery, True)._replace(descriptors={"A": "x"})),
    }
    took = {what: [] for what in ways}
    for _ in range(TIMES):  # in turn, so that what else the machine does falls on all of them
        for what, begin in ways.items():
            began = time.perf_counter()
            begin()
            took[what].append(1000 * (time.perf_counter() - began))
    figures = {}
    for what, times in took.items():
        figures[f"{what}, the median"] = statistics.median(times)
        figures[f"{what}, the quickest tenth"] = statistics.quantiles(times, n=10)[0]
    print(json.dumps(figures))


def _kept(nursery, apart):
    return RunOptions(start=functools.partial(nursery.start, Manner(apart, no_new_privs=False)))


def _ran(options):
    cancel = Cancel()
    try:
        assert run(PROGRAM, 60, cancel, manner=options).status == "done"
    finally:
        cancel.close()
