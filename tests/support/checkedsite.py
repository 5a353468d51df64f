"""A web site that remembers what was asked of it: what monitors promise is counted where their checks arrive."""

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Checked(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.checked(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Nothing of it on the terminal."""


class CheckedSite:
    def __init__(self, host="127.0.0.1"):
        self._server = ThreadingHTTPServer((host, 0), _Checked)
        self._server.daemon_threads = True
        self._server.checked = self.checked
        self._paths = []
        self.url = f"http://{host}:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def checked(self, path):
        self._paths.append(path)

    def counts(self):
        """How often each path was asked for."""
        return Counter(self._paths)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
