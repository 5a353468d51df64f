"""A cumulative sum over the results of cases: it notices that a success rate has fallen, however slowly cases come.

Each result adds the log of how much more likely it is at the bad rate than at the good one; the sum never falls below
0. With the defaults a failure adds 1.61 and a success takes 0.43 away.
"""

from __future__ import annotations

import math

from opsapp.healing.config import CusumSettings


def added(value: float, verified: bool, limits: CusumSettings) -> float:
    """The sum after one more case."""
    good, bad = (limits.good, limits.bad) if verified else (1 - limits.good, 1 - limits.bad)
    return max(0.0, value + math.log(bad / good))
