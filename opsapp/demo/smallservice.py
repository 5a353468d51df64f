"""One small web service of the demo, a process of its own: answers until it is told to be slow, or is ended.

Started by its file name, so it must not import anything of opsapp.
"""

from __future__ import annotations

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SLOW_S = 2.0


class SmallServiceHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    slow = False

    def do_GET(self) -> None:
        if type(self).slow:
            time.sleep(SLOW_S)
        self._answer(f"{self.server.name} is well\n")  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        type(self).slow = True
        self._answer("slow from now on\n")

    def _answer(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_values: object) -> None:
        """The demo's terminal tells what happens."""


def main() -> None:
    name, port = sys.argv[1:]
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), SmallServiceHandler)
    server.daemon_threads = True
    server.name = name  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()  # ends with whoever started this


if __name__ == "__main__":
    main()
