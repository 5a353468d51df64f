"""A process that holds many files, as one with many connections does: what it opens then has a high number."""

import contextlib
import os
import resource


@contextlib.contextmanager
def holding(count):
    """So many more files are open; the process may have them."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], count + 1000), limits[1]))
    handles = []
    try:
        handles = [os.open(os.devnull, os.O_RDONLY) for _ in range(count)]
        yield
    finally:
        for handle in handles:
            os.close(handle)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
