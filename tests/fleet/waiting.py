"""Waiting for hosts, and for the service that cares for them: asked less often the longer it takes.

A question costs processor time (a program inside a host, an answer of the service), and takes it from what is waited
for. Lives here: how often. How long is in tests/support/waiting.py.
"""

from functools import partial

from tests.support import waiting

OFTENEST_S, SELDOMEST_S = 0.05, 0.5
SHARE = 0.04  # of what was waited already: so much later, at most, is it known


def pause(waited):
    return min(SELDOMEST_S, max(OFTENEST_S, waited * SHARE))


until = partial(waiting.until, every=pause)
