"""A checked site that knows when: the gaps between checks are measured where they arrive."""

import itertools
import time

from tests.support.checkedsite import CheckedSite


class TimedSite(CheckedSite):
    """`times` has the moments of each path's checks."""

    def __init__(self, host="127.0.0.1"):
        super().__init__(host)
        self.times = {}

    def checked(self, path):
        super().checked(path)
        self.times.setdefault(path, []).append(time.monotonic())

    def longest_gap(self, began, ended):
        """The longest time in which one of its paths was not checked, of that between these two moments."""
        return max((_gap(times, began, ended) for times in list(self.times.values())), default=ended - began)


def _gap(times, began, ended):
    """From the last check before that time to its end."""
    first = max((at for at in times if at <= began), default=began)
    moments = [first, *(at for at in times if began < at <= ended), ended]
    return max(after - before for before, after in itertools.pairwise(moments))
