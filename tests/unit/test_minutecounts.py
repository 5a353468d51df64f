"""How often somebody may ask in a minute: what is older counts no more, what is refused is not counted."""

import pytest

from opsapp.lib.minutecounts import MinuteCounts
from opsapp.lib.problems import TooMany


def test_a_minute_goes_along_with_the_clock_and_refusals_do_not_count():
    counts = MinuteCounts()
    for now in (0.0, 30.0):
        counts.admit("otto", 2, now, "calls")
    with pytest.raises(TooMany, match=r"At most 2 calls a minute\. Wait 20 seconds\."):
        counts.admit("otto", 2, 40.0, "calls")
    counts.admit("ada", 2, 40.0, "calls")
    counts.admit("otto", 2, 61.0, "calls")
    with pytest.raises(TooMany):
        counts.admit("otto", 2, 62.0, "calls")
