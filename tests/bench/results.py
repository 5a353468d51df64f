"""What benches found last, and what is worse now: beside the last run of this machine, or beside another tree in pairs.

Kept in `.bench/`, a file for each bench. A single run says little on a machine that does other work: what became worse
beside the last run is a question, which `--against DIR` answers. There both trees are asked in turn, each pair within
the same minutes, and the median of the pairs' ratios counts. Must not: measure.
"""

import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tests.bench import Row

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".bench"
TOLERATED = 1.05
SAID = "rows of a bench: "
IN_A_TREE = (
    "import importlib, json, sys; rows = importlib.import_module('tests.bench.' + sys.argv[1]).measure(); "
    f"print({SAID!r} + json.dumps([list(row) for row in rows]))"
)


class Change(NamedTuple):
    """A row before and now. `times`: how much worse it is; below 1 it is better."""

    what: str
    before: float
    now: float
    unit: str
    times: float

    @property
    def is_worse(self):
        return self.times > TOLERATED


def change(before, row):
    """None where nobody can say which way is worse, or nothing can be compared."""
    if row.more_is_better is None or before <= 0 or row.figure <= 0:
        return None
    times = before / row.figure if row.more_is_better else row.figure / before
    return Change(row.what, before, row.figure, row.unit, times)


def by_name(rows):
    """What a bench calls each row; a name that comes again has its number."""
    named = {}
    for row in rows:
        again = sum(name == row.what or name.startswith(f"{row.what} (") for name in named)
        named[f"{row.what} ({again + 1})" if again else row.what] = row
    return named


def beside_last(name, machine, rows, kept=KEPT):
    """What changed since the bench ran here last; and from now on these are its last rows."""
    file = kept / f"{name}.json"
    last = json.loads(file.read_text()) if file.exists() else {}
    before = last.get("rows", {}) if last.get("machine") == machine else {}
    now = by_name(rows)
    kept.mkdir(exist_ok=True)
    file.write_text(json.dumps({"machine": machine, "rows": {what: row.figure for what, row in now.items()}}, indent=1))
    changes = [change(before[what], row) for what, row in now.items() if what in before]
    return [each for each in changes if each is not None]


def measured_in(tree, name):
    """The rows of a bench in another process, of the code of that tree."""
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_A_TREE, name], cwd=tree, check=True, capture_output=True, text=True
    ).stdout
    said = next(line for line in reversed(told.splitlines()) if line.startswith(SAID))
    return [Row(*row) for row in json.loads(said.removeprefix(SAID))]


def in_pairs(name, other, pairs, measured=measured_in):
    """This tree beside another one: who is asked first takes turns too. Of each row the median of both, and of how much
    worse it was within each pair."""
    found = {}
    for number in range(pairs):
        order = [other, ROOT] if number % 2 == 0 else [ROOT, other]
        rows = {tree: by_name(measured(tree, name)) for tree in order}
        for what, row in rows[ROOT].items():
            if what in rows[other] and (pair := change(rows[other][what].figure, row)) is not None:
                found.setdefault(what, []).append(pair)
    return [_of_pairs(what, of_row) for what, of_row in found.items()]


def _of_pairs(what, pairs):
    before, now, times = (median(getattr(pair, part) for pair in pairs) for part in ("before", "now", "times"))
    return Change(what, before, now, pairs[0].unit, times)
