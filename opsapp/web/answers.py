"""The kinds of answer that are carried out after a view's transaction: Stream, Deferred, Upgrade, Sink.

Our own server puts a `Handover` into the environ and its greenlet drives the answer on the hub. Under any other
(waitress, WebTest) the calling thread does, and an upgrade is not possible. Must not be here: sockets, greenlets, a
transaction.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol

from pyramid.response import Response

from opsapp.lib.problems import TooLarge
from opsapp.wire.dataclass import dataclass, frozen

from .asked import Asked

if TYPE_CHECKING:
    from .callers import Callers
    from .identity import Identity

log = logging.getLogger(__name__)

HUB = "opsapp.hub"
FINISH = "opsapp.finish"
BY_PAGE = "opsapp.by_page"  # in the environ of what a page asks in this process

Headers = dict[str, str] | Iterable[tuple[str, str]]
Finish = Callable[[Asked, Any], Response]
HasLeft = Callable[[], bool]


@dataclass(slots=True)
class Handover:
    """Put into the environ by our server: where an answer that wants the hub leaves itself."""

    answer: Answer | None = None
    websocket: bool = False


@frozen(slots=True)
class Head:
    """What a source learned while it opened: another status, further headers (Content-Length, Content-Range)."""

    status: str | None = None
    headers: dict[str, str] = field(default_factory=dict)


class PeerLost(Exception):
    """The client went away, or does not take what it asked for."""


class PeerSlow(PeerLost):
    """The client did not go on in time."""


class Source(Protocol):
    """What a Stream is made of. It never holds a request, a context or a connection to the store."""

    def open(self) -> Head | None:
        """Called before the headers go out: a problem that is raised here becomes a status."""

    def __iter__(self) -> Iterator[bytes]:
        """The body, piece by piece. On the hub it may wait cooperatively; in a thread it blocks."""

    def close(self) -> None:
        """Always called after a successful `open`, also when the client has gone."""

    # end(reason), where there is one: the source may say a last word, because whoever reads may read no more. Without
    # it the connection is cut.


def finish_plainly(asked: Asked, outcome: Any) -> Response:
    """The hook's default, where no application has put its own: it knows no problem's status."""
    if isinstance(outcome, Response):
        return outcome
    if isinstance(outcome, BaseException):
        log.error("answer failed request_id=%s", asked.request_id, exc_info=outcome)
        outcome = (500, {}, {"error": "The server failed to answer.", "code": "internal"})
    status, headers, value = outcome
    response = Response(json.dumps(value), status=status, content_type="application/json", charset="utf-8")
    response.headers.update(headers)
    return response


class Elsewhere(Response):
    """A redirect to a path of this service. WebOb would write our own address before it, which a browser behind a proxy
    may not reach."""

    def __call__(self, environ: Any, start_response: Any) -> Any:
        start_response(self.status, self.headerlist)
        return self.app_iter


class Answer(Response):
    asked: Asked
    finish: Finish
    caller: Identity | None = None
    callers: Callers | None = None

    def __init__(self, *, status: int | str = 200, content_type: str = "application/json", headers: Headers = ()):
        super().__init__(status=status, content_type=content_type, app_iter=[])
        self.headers.update(dict(headers))

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        self.asked = Asked.of(environ)
        self.finish = environ.get(FINISH, finish_plainly)
        handover = environ.get(HUB)
        if handover is None:
            return self.here(environ, start_response)
        handover.answer = self
        start_response(self.status, self.headerlist)
        return []

    def here(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        raise NotImplementedError

    def watched(self, end: Callable[[str], Any]) -> contextlib.AbstractContextManager[None]:
        """While this answer lasts: `end(reason)` is called when whoever asked for it may ask no more."""
        return contextlib.nullcontext() if self.callers is None else self.callers.over(self.caller, end)

    def finished(self, outcome: Any) -> Response:
        """An outcome (a response, (status, headers, value) or an exception) as a response with this one's headers."""
        try:
            response = self.finish(self.asked, outcome)
        except Exception as problem:  # noqa: BLE001 - the hook itself failed; the default logs it
            response = finish_plainly(self.asked, problem)
        if isinstance(response, Answer):
            response.asked, response.finish = self.asked, self.finish
            response.caller, response.callers = self.caller, self.callers
        present = {name.lower() for name in response.headers}
        for name, value in self.headerlist:
            if name.lower() == "set-cookie" or not (name.lower() in present or name.lower().startswith("content-")):
                response.headerlist.append((name, value))
        return response


class Stream(Answer):
    """A body that is produced while it is sent. Its length is fixed if the source's Head or `headers` say it; else it
    is chunked."""

    def __init__(self, source: Source, content_type: str = "application/octet-stream", headers: Headers = ()):
        super().__init__(content_type=content_type, headers=headers)
        self.source = source

    def opened(self) -> Response | None:
        try:
            head = self.source.open()
        except Exception as problem:  # noqa: BLE001 - becomes a status in the one error table
            return self.finished(problem)
        if head is not None:
            if head.status is not None:
                self.status = head.status
            self.headers.update(head.headers)
        return None

    def here(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        refusal = self.opened()
        if refusal is not None:
            return refusal(environ, start_response)
        start_response(self.status, self.headerlist)
        if environ["REQUEST_METHOD"] == "HEAD":
            self.source.close()
            return []
        return _Pieces(self)


class _Pieces:
    def __init__(self, answer: Stream):
        self._answer = answer
        self._over = False
        self._watch = answer.watched(self._end)
        self._watch.__enter__()

    def _end(self, reason: str) -> None:
        end = getattr(self._answer.source, "end", None)
        if end is not None:
            end(reason)
        else:
            self._over = True

    def __iter__(self) -> Iterator[bytes]:
        answer = self._answer
        for piece in answer.source:
            if self._over or (answer.callers is not None and answer.callers.is_over(answer.caller)):
                return
            yield piece

    def close(self) -> None:
        self._watch.__exit__(None, None, None)
        self._answer.source.close()


class Deferred(Answer):
    """An answer that takes time: `fn()` runs on the hub, or in the thread. It returns (status, headers, value for JSON)
    or a Response, or raises a problem."""

    def __init__(self, fn: Callable[[], Any]):
        super().__init__()
        self.fn = fn
        self.has_left: HasLeft = lambda: False  # whether its client has gone; the server knows, from any thread

    def outcome(self) -> Response:
        try:
            result = self.fn()
        except Exception as problem:  # noqa: BLE001 - becomes a status in the one error table
            result = problem
        return self.finished(result)

    def here(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        return self.outcome()(environ, start_response)


def later(fn: Callable[[], Any]) -> Deferred:
    """A Deferred whose function returns what is answered, with 200."""
    return Deferred(lambda: (200, {}, fn()))


def unless_left(fn: Callable[[HasLeft], Any]) -> Deferred:
    """A Deferred whose function may ask whether its client has gone, before it does what is dear."""
    late = Deferred(lambda: fn(late.has_left))
    return late


def ok_after(change: Callable[..., Any], *values: Any) -> Deferred:
    """The status `ok`, once `change(*values)` has gone through; what it returns is nobody's business."""

    def answer() -> Any:
        change(*values)
        return 200, {}, {"status": "ok"}

    return Deferred(answer)


class Upgrade(Answer):
    """A WebSocket. `handler(socket)` runs in the connection's greenlet. `origins`: of pages that may connect, beside
    the page's own host; a browser always sends one, a program none."""

    def __init__(
        self,
        handler: Callable[[Any], None],
        *,
        origins: Iterable[str] = (),
        subprotocols: tuple[str, ...] = (),
        max_message: int = 1 << 20,
        ping_every: float = 20.0,
        idle_after: float = 60.0,
    ):
        super().__init__(status=101)
        self.handler = handler
        self.origins = frozenset(origins)
        self.subprotocols = subprotocols
        self.max_message = max_message
        self.ping_every = ping_every
        self.idle_after = idle_after

    def here(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        value = {"error": "This server cannot open WebSocket sessions.", "code": "not_implemented"}
        return self.finished((501, {}, value))(environ, start_response)


class InputBody:
    def __init__(self, environ: dict[str, Any], limit: int):
        self._input = environ["wsgi.input"]
        self.limit = limit
        self.content_type: str = environ.get("CONTENT_TYPE", "")
        length = environ.get("CONTENT_LENGTH") or ""
        self.content_length: int | None = int(length) if length.isdigit() else None
        self._left = self.content_length if self.content_length is not None else limit + 1
        self._taken = 0

    def read(self, size: int) -> bytes:
        if self.content_length is not None and self.content_length > self.limit:
            raise TooLarge(f"At most {self.limit} bytes are taken here.")
        data = self._input.read(min(size, self._left))
        self._left -= len(data)
        self._taken += len(data)
        if self._taken > self.limit:
            raise TooLarge(f"At most {self.limit} bytes are taken here.")
        if not data and self._left and self.content_length is not None:
            raise PeerLost("the body ended early")
        return data


class Sink(Answer):
    """A body that the view has not read: `receive(body)` runs like a Deferred's function. `body.read(size)` gives b""
    at the end; `body.content_length` is None when chunked. The path must be declared (`web.paths`), or the server
    reads the body."""

    def __init__(self, receive: Callable[[Any], Any], *, limit: int = 1 << 30):
        super().__init__()
        self.receive = receive
        self.limit = limit

    def outcome(self, body: Any) -> Response:
        try:
            result = self.receive(body)
        except PeerLost:
            raise
        except Exception as problem:  # noqa: BLE001 - becomes a status in the one error table
            result = problem
        return self.finished(result)

    def here(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        return self.outcome(InputBody(environ, self.limit))(environ, start_response)
