"""Lower bounds of a success rate: Wilson's for one look, and one that stays true however often it is looked at.

The second is the lower end of a confidence sequence: the mixture likelihood ratio

    E(p) = B(1 + s, 1 + f) / (p^s (1 - p)^f)        after s successes and f failures

is a martingale of mean 1 when the true rate is p, so by Ville's inequality it ever reaches 1/alpha with probability
alpha at most. The bound is the lower end of what is not so refuted (docs/adr/010 has the choice and the figures).
"""

from __future__ import annotations

import math

from opsapp.lib import rates

ALPHA = 0.05
Z95 = 1.959963984540054


def wilson(successes: int, total: int) -> float | None:
    """The 95 % lower bound; None without data."""
    return rates.wilson(successes, total, Z95).low if total else None


def sequential(successes: int, failures: int) -> float:
    """It holds at all times together; 0 without data."""
    if successes == 0:
        return 0.0
    mixture = _log_beta(1 + successes, 1 + failures)
    limit = -math.log(ALPHA)
    low, high = 0.0, successes / (successes + failures)
    for _ in range(50):
        middle = (low + high) / 2
        likelihood = successes * math.log(middle) + (failures * math.log1p(-middle) if failures else 0.0)
        if mixture - likelihood >= limit:  # refuted: the true rate is higher
            low = middle
        else:
            high = middle
    return low


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
