"""A web site that remembers when it was checked: what monitors promise is measured where their checks arrive."""

import itertools
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Checked(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.times.setdefault(self.path, []).append(time.monotonic())
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Nothing of it on the terminal."""


class CheckedSite:
    """`times` has the moments of each path's checks."""

    def __init__(self, host="127.0.0.1"):
        self._server = ThreadingHTTPServer((host, 0), _Checked)
        self._server.daemon_threads = True
        self.times = self._server.times = {}
        self.url = f"http://{host}:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def counts(self):
        return {path: len(times) for path, times in self.times.items()}

    def longest_gap(self, began, ended):
        """The longest time in which one of its paths was not checked, of that between these two moments."""
        return max((_gap(times, began, ended) for times in list(self.times.values())), default=ended - began)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _gap(times, began, ended):
    """From the last check before that time to its end."""
    first = max((at for at in times if at <= began), default=began)
    moments = [first, *(at for at in times if began < at <= ended), ended]
    return max(after - before for before, after in itertools.pairwise(moments))
