"""What a thread or greenlet works for just now: a request, a run, a command, a case. Log lines that are written
meanwhile say so, with the id of the trace if there is one, whoever writes them.
Must not: decide anything, or be read for anything but log lines and spans.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, Literal, Protocol

Kind = Literal["request", "run", "command", "case"]

FIELDS: dict[Kind, str] = {"request": "request_id", "run": "run", "command": "command", "case": "case"}
TRACE = "trace_id"


class Traced(Protocol):
    """A node."""

    trace_of: Callable[[Work], str | None] | None


class Work:
    """With it: `with Work(node, "run", run_id):`. `begun_by`: what the trace is named after, if that is something else:
    a run may be a part of another one, or of a case. `request`: Pyramid's. `named`: the traces that lines name."""

    __slots__ = ("_node", "_token", "begun_by", "id", "kind", "named", "request")

    def __init__(
        self, node: Traced, kind: Kind, id_: str, begun_by: tuple[Kind, str] | None = None, request: Any = None
    ):
        self._node, self.kind, self.id, self.request = node, kind, id_, request
        self.begun_by: tuple[Kind, str] = begun_by or (kind, id_)
        self.named: set[str] = set()
        self._token: Token[Work | None] | None = None

    def __enter__(self) -> Work:
        self._token = _AT_HAND.set(self)
        return self

    def __exit__(self, *_error: object) -> None:
        self.request = None  # whose environment has this work
        if self._token is not None:
            _AT_HAND.reset(self._token)

    def fields(self) -> dict[str, str]:
        """For a log line."""
        said = {FIELDS[self.kind]: self.id}
        trace = None if self._node.trace_of is None else self._node.trace_of(self)
        if trace is not None:
            self.named.add(trace)
            said[TRACE] = trace
        return said


_AT_HAND: ContextVar[Work | None] = ContextVar("at_hand", default=None)
at_hand = _AT_HAND.get


def within(work: Work, fn: Callable[..., Any], *values: Any) -> Any:
    """The same work, done on by another thread."""
    token = _AT_HAND.set(work)
    try:
        return fn(*values)
    finally:
        _AT_HAND.reset(token)
