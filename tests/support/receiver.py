"""A service that takes messages by HTTP, as Apprise's `json://` sends them, and can be told to fail or to hang."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver:
    """`messages` are the bodies that arrived, `headers` those of the last. `status` is what it answers; while `open`
    is not set it hangs. `answer` makes the answer's body from the message. `read` makes the message of a body."""

    def __init__(self, host="127.0.0.1", read=json.loads):
        self.host = host
        self.messages: list[dict] = []
        self.paths: list[str] = []
        self.headers: dict[str, str] = {}
        self.status = 200
        self.asked = 0
        self._noting = threading.Lock()  # many may call at once: each path stands beside its own message
        self.answer = lambda message: b""
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
                receiver.open.wait()
                message = read(body)
                answer = receiver.answer(message)
                if receiver.status == 200:
                    with receiver._noting:
                        receiver.paths.append(self.path)
                        receiver.headers = dict(self.headers)
                        receiver.messages.append(message)
                try:
                    self.send_response(receiver.status)
                    if receiver.status in (301, 302):
                        self.send_header("Location", "/elsewhere")
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)
                except OSError:
                    pass  # whoever asked has given up: that is what a hanging service is tested with

            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_about):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256  # many may call at once

        self._server = Server((host, 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()

    @property
    def port(self):
        return self._server.server_address[1]

    def url(self, path="hooks/s3cr3t-token"):
        return f"json://{self.host}:{self.port}/{path}"

    @property
    def titles(self):
        return [message["title"] for message in list(self.messages)]

    def links(self):
        """Those of the first message that asks somebody to decide, once it has come."""
        return next((message["links"] for message in list(self.messages) if "approve" in message["links"]), None)

    def close(self):
        self.open.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
