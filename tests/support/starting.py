"""What each of the thousands of test applications would find out again, answered once for this process.

Of the libraries only, never of opsapp: what the product does at its start is done by every application.
"""

from functools import cache

import zodburi
from pyramid.util import TopologicalSorter


def remember_what_is_the_same():
    """Which packages are installed, and in which order Pyramid wraps a view: a quarter of an application's start."""
    zodburi.entry_points = cache(zodburi.entry_points)
    sort = TopologicalSorter.sorted

    def sorted_once(sorter):
        state = len(sorter.names), len(sorter.order)
        if sorter.__dict__.get("sorted_at") != state:
            sorter.sorted_at, sorter.in_order = state, sort(sorter)
        return list(sorter.in_order)

    TopologicalSorter.sorted = sorted_once
