"""Calls from many threads that begin at the same moment, and one that is repeated while something else goes on."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

from opsapp.lib.problems import Problem
from tests.support.waiting import patience


def at_once(calls):
    """The answers of all calls, or the codes of their problems."""
    barrier = threading.Barrier(len(calls))

    def run(call):
        barrier.wait(30 * patience())
        try:
            return call()
        except Problem as problem:
            return problem.code

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@contextlib.contextmanager
def repeated(fn, every=0.5):
    """`fn` again and again until the block ends."""
    over = threading.Event()

    def repeat():
        while not over.wait(every):
            fn()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
