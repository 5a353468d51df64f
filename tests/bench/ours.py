"""The bare Pyramid view of `tests.bench.bare` behind our server: `python -m tests.bench.ours PORT`.

`/bench/stall` answers how late the hub's ticks were since the last time it was asked, with memory and open streams.
"""

import os
import resource
import sys
import time
from pathlib import Path

from gevent.event import Event
from pyramid.response import Response

from opsapp.web import server
from opsapp.web.answers import Stream
from tests.bench.bare import application
from tests.bench.lateness import Stall


class Silent:
    """A stream that says one word."""

    open_now = 0

    def open(self):
        Silent.open_now += 1

    def __iter__(self):
        yield b": hello\n\n"
        Event().wait()

    def close(self):
        Silent.open_now -= 1


def memory():
    """Bytes resident now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def app():
    bare, stall = application(), Stall()

    def call(environ, start_response):
        path = environ["PATH_INFO"]
        if path == "/bench/stream":
            return Stream(Silent(), "text/event-stream")(environ, start_response)
        if path == "/bench/stall":
            time.sleep(0.02)  # in a thread: the hub ticks meanwhile
            late = stall.lateness()._asdict()
            stall.reset()
            figures = {
                **late,
                "memory": memory(),
                "streams": Silent.open_now,
                "files": len(os.listdir("/proc/self/fd")),
            }
            return Response(json=figures)(environ, start_response)
        return bare(environ, start_response)

    return call, stall


if __name__ == "__main__":
    wsgi, ticking = app()
    streams = server.Limits(agents_share=0.0)  # there are no agents to leave room for
    sys.exit(server.serve(wsgi, port=int(sys.argv[1]), limits=streams, on_ready=lambda _: ticking.start() and None))
