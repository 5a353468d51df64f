"""`opsapp serve` with a watch on its hub: `python -m tests.bench.watched FIGURES serve INI ...`.

At SIGUSR1 it writes to FIGURES, as JSON, how late the hub's ticks were since the last time, its memory and CPU time.
"""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import gevent

from opsapp.cli import main
from opsapp.web import server
from tests.bench.lateness import Stall


def report(stall, path):
    usage = resource.getrusage(resource.RUSAGE_SELF)
    memory = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    figures = {
        **stall.lateness()._asdict(),
        "memory": memory,
        "cpu": usage.ru_utime + usage.ru_stime,
        "at": time.time(),
    }
    stall.reset()
    Path(path + ".new").write_text(json.dumps(figures))
    os.replace(path + ".new", path)


def watch(path):
    """Start the watch with the server, from inside."""
    serve = server.serve

    def watched(*values, on_ready, **more):
        def ready(running):
            stall = Stall().start()
            gevent.signal_handler(signal.SIGUSR1, report, stall, path)
            on_ready(running)

        return serve(*values, on_ready=ready, **more)

    server.serve = watched


if __name__ == "__main__":
    watch(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
