"""Waiting for a condition instead of sleeping for a guess. What a test waits for has one helper, and it is patient: a
machine that does other work as well is slow, not broken. Nothing here is a promise about time, and no test makes one:
promises are about order, virtual time or processor ticks, and figures belong to `make bench`."""

import os
import time

AT_REST = float(os.environ.get("OPSAPP_TEST_PATIENCE", "5"))


def patience():
    """How many times the time that something should take it may take: more, the more wants this machine's processors.
    The load is that of the last minute, so what is waited for asks again when the time is up."""
    return AT_REST * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


SOON_S, SELDOM_S = 0.02, 0.25
PART = 20  # of what it has waited, before it asks again


def until(fn, timeout=10.0, every=None, what="condition"):
    """The first truthy answer of `fn`; an AssertionError that names `what` when the time is up. Who has waited long is
    asked less often, for each question costs whoever answers it: by a twentieth of the wait it may be later. `every`
    is for a point that must not be missed: so many seconds from question to question, from first to last."""
    began = time.monotonic()
    while True:
        answer = fn()
        if answer:
            return answer
        waited = time.monotonic() - began
        if waited > timeout * patience():
            raise AssertionError(f"{what} did not come true within {waited:.0f} s (last answer: {answer!r})")
        time.sleep(min(max(SOON_S, waited / PART), SELDOM_S) if every is None else every)


def written(path, what):
    """What a program has written into a file: a shell makes it before it writes."""
    return until(lambda: path.exists() and path.read_text(), what=what)
