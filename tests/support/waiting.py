"""Waiting for a condition with a deadline, instead of sleeping for a guess."""

import os
import time

# A machine that does other work as well is slow, not broken: what is waited for gets this many times the time that it
# should take. What a test claims about time it measures itself.
PATIENCE = float(os.environ.get("OPSAPP_TEST_PATIENCE", "5"))


def until(fn, timeout=10.0, every=0.02, what="condition"):
    """The first truthy answer of `fn`; an AssertionError that names `what` when the time is up."""
    patience = timeout * PATIENCE
    deadline = time.monotonic() + patience
    while True:
        answer = fn()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come true within {patience:g} s (last answer: {answer!r})")
        time.sleep(every)
