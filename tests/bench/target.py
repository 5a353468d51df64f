"""What monitors are pointed at in a bench: every request gets a 200: `python -m tests.bench.target PORT`."""

import sys

from gevent import socket
from gevent.server import StreamServer

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


def handle(link, _address):
    try:
        got = b""
        while b"\r\n\r\n" not in got:
            more = link.recv(4096)
            if not more:
                return
            got += more
        link.sendall(ANSWER)
        link.shutdown(socket.SHUT_WR)
        link.recv(1)
    except OSError:
        return


if __name__ == "__main__":
    StreamServer(("127.0.0.1", int(sys.argv[1])), handle, backlog=1024).serve_forever()
