"""What is measured, never tested: `make bench` prints a table. A bench is a module here with `measure()`, which yields
Rows; its docstring says what is measured and how, and whose figures stand beside ours in the same run."""

import re
import time
from typing import NamedTuple

LESS = frozenset({"s", "ms", "us", "µs", "ns", "B", "KiB", "kB", "MB", "MiB", "bytes"})  # time and room
MORE = frozenset({"/s", "1/s", "a second"})
BOUND = re.compile(r"(at most|under|at least) ([\d.,]+)(?:/(\d+))?|([\d.]+) to ([\d.]+)")


class Row(NamedTuple):
    what: str
    figure: float
    unit: str
    target: str = ""  # a bound ("at most 20", "under 5", "at least 1.6", "90 to 98"), and words if need be

    @property
    def missed(self):
        """Whether the figure is outside its bound; False without one."""
        bound = BOUND.match(self.target)
        if bound is None:
            return False
        word, number, parts, low, high = bound.groups()
        if word is None:
            return not float(low) <= self.figure <= float(high)
        limit = float(number.rstrip(",.").replace(",", "")) / int(parts or 1)
        return {"at most": self.figure > limit, "under": self.figure >= limit, "at least": self.figure < limit}[word]

    @property
    def more_is_better(self):
        """As its bound says, else its unit; None where neither does."""
        bound = BOUND.match(self.target)
        if bound is not None and bound[1] is not None:
            return bound[1] == "at least"
        return False if self.unit in LESS else True if self.unit in MORE else None


def seconds_of(fn, *values):
    """How long one call takes."""
    began = time.monotonic()
    fn(*values)
    return time.monotonic() - began
