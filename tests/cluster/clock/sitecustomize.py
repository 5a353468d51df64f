"""On the path of a node's Python: its wall clock is as many seconds off as the file says, as a clock that was stepped.

It stands in for `time.time`, which is all that the service and ZODB ask. The monotonic clock is that of the machine, as
with a real step."""

import os
import time

_real, _file = time.time, os.environ["OPSAPP_TEST_CLOCK"]


def _stepped():
    try:
        with open(_file) as file:
            return _real() + float(file.read() or 0)
    except OSError:
        return _real()


time.time = _stepped
