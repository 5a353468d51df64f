"""From a head to the WSGI environ, and the application's call in a native thread."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from io import BytesIO
from typing import Any, NoReturn

from opsapp.lib.problems import TooLarge
from opsapp.web.address import canonical
from opsapp.web.answers import HUB, Answer, Handover
from opsapp.web.asked import REQUEST_ID, ROUTE, TRACE, UNREAD, USERNAME, BodyWanted

from .head import RequestHead
from .peer import Peer
from .shared import Shared

_UNLISTED = frozenset({"content-type", "content-length", "transfer-encoding", "host"})


class LaterBody:
    """Stands in the environ for a body that is read only if the application wants it: `BodyWanted`."""

    def __init__(self) -> None:
        self.wanted = False

    def read(self, _size: int = -1) -> NoReturn:
        self.wanted = True
        raise BodyWanted

    readline = readlines = __iter__ = seek = read


class UnreadBody:
    """Stands in the environ for a sink's body, which stays on the socket until the view has answered."""

    def read(self, _size: int = -1) -> NoReturn:
        raise TooLarge("This request must not have a body.")

    readline = readlines = __iter__ = seek = read


Body = bytes | LaterBody | UnreadBody


def make(
    server: Shared, remote: tuple[str, int], local: tuple[str, int], request_id: str, head: RequestHead, body: Body
) -> dict[str, Any]:
    scheme, host = canonical(head.host, server.base_url(), local)
    environ = {
        **server.base_environ,
        "REQUEST_METHOD": head.method,
        "PATH_INFO": head.path,
        "QUERY_STRING": head.query,
        "SERVER_PROTOCOL": f"HTTP/1.{head.minor}",
        "REMOTE_ADDR": remote[0],
        "REMOTE_PORT": str(remote[1]),
        "HTTP_HOST": host,
        "wsgi.url_scheme": scheme,
        REQUEST_ID: request_id,
        HUB: Handover(websocket=head.wants_websocket),
    }
    if "content-type" in head.headers:
        environ["CONTENT_TYPE"] = head.headers["content-type"]
    if not isinstance(body, bytes):
        environ["wsgi.input"] = body
        environ[UNREAD] = True
        environ["webob.is_body_seekable"] = True
        environ["CONTENT_LENGTH"] = "" if head.chunked else str(head.length)
    else:
        environ["wsgi.input"] = BytesIO(body)
        environ["webob.is_body_seekable"] = True
        environ["CONTENT_LENGTH"] = str(len(body))
    for name, value in head.headers.items():
        if name not in _UNLISTED:
            environ["HTTP_" + name.upper().replace("-", "_")] = value
    return environ


def base_environ(local: tuple) -> dict[str, Any]:
    return {
        "SCRIPT_NAME": "",
        "SERVER_NAME": local[0],
        "SERVER_PORT": str(local[1]),
        "SERVER_SOFTWARE": "opsapp",
        "wsgi.version": (1, 0),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "wsgi.errors": sys.stderr,
        "wsgi.input_terminated": True,
    }


class Answered:
    __slots__ = ("answer", "body", "headers", "route", "status", "trace", "username")

    def __init__(self, status: str, headers: list[tuple[str, str]], body: bytes, environ: dict[str, Any]):
        self.status = status
        self.headers = headers
        self.body = body
        self.answer: Answer | None = environ[HUB].answer
        self.username: str | None = environ.get(USERNAME)
        self.route: str | None = environ.get(ROUTE)
        self.trace: str | None = environ.get(TRACE)


class Task:
    __slots__ = ("app", "begun_at", "call", "environ")

    def __init__(self, call: Callable[..., Any], app: Callable[..., Iterable[bytes]], environ: object):
        self.call, self.app, self.environ = call, app, environ
        self.begun_at = time.monotonic()


LEFT = object()


def unless_left(peer: Peer, missed_after: float, task: Task) -> Any:
    """Runs in a native thread. LEFT where the request has waited for long and its client has gone. A client that closes
    its side only counts as gone too, as for other servers."""
    if time.monotonic() - task.begun_at >= missed_after and peer.has_left():
        return LEFT
    return task.call(task.app, task.environ)


def ask_first(app: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> Answered | None:
    """What the application answers without the body, or None: it wants it. In a native thread."""
    later = environ["wsgi.input"]
    try:
        answered = call(app, environ)
    except BodyWanted:
        return None
    return None if later.wanted else answered


def call(app: Callable[..., Iterable[bytes]], environ: dict[str, Any]) -> Answered:
    started: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], _exc_info: Any = None) -> Callable[[bytes], None]:
        started[:] = [status, headers]
        return written.append

    written: list[bytes] = []
    result = app(environ, start_response)
    try:
        body = b"".join([*written, *result])
    finally:
        close = getattr(result, "close", None)
        if close is not None:
            close()
    status, headers = started
    return Answered(status, headers, body, environ)
