"""What is measured, never tested: `make bench` prints a table. A bench is a module here with `measure()`, which yields
Rows; its docstring says what is measured and how, and whose figures stand beside ours in the same run."""

import re
import time
from typing import NamedTuple

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


def seconds_of(fn, *values):
    """How long one call takes."""
    began = time.monotonic()
    fn(*values)
    return time.monotonic() - began
