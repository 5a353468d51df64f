"""A service that takes messages by HTTP, as Apprise's `json://` sends them, and can be told to fail or to hang."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver:
    """`messages` are the bodies that arrived. `status` is what it answers; while `open` is not set it hangs."""

    def __init__(self):
        self.messages: list[dict] = []
        self.paths: list[str] = []
        self.status = 200
        self.asked = 0
        self.open = threading.Event()
        self.open.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                due = int(self.headers["Content-Length"])
                try:
                    body = self.rfile.read(due)
                except OSError:
                    return
                if len(body) < due:
                    return  # whoever sent was killed in mid-body: nobody was asked anything yet
                receiver.asked += 1
                receiver.open.wait(60)
                if receiver.status == 200:
                    receiver.paths.append(self.path)
                    receiver.messages.append(json.loads(body))
                try:
                    self.send_response(receiver.status)
                    if receiver.status in (301, 302):
                        self.send_header("Location", "/elsewhere")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    pass  # whoever asked has given up: that is what a hanging service is tested with

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_about):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def url(self, path="hooks/s3cr3t-token"):
        return f"json://127.0.0.1:{self._server.server_address[1]}/{path}"

    @property
    def titles(self):
        return [message["title"] for message in list(self.messages)]

    def close(self):
        self.open.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
