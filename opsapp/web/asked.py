"""A request in plain values. A stream or a deferred answer outlives its view: it may keep an `Asked`, never the
request, its context or its root."""

from __future__ import annotations

import secrets
from typing import Any

from opsapp.wire.dataclass import frozen

REQUEST_ID = "opsapp.request_id"
USERNAME = "opsapp.username"
ROLE = "opsapp.role"
ROUTE = "opsapp.route"  # the pattern of the place of the view that it came to
WORK = "opsapp.work"  # what log lines belong to meanwhile
TRACE = "opsapp.trace"  # the id of the trace in which the request is a span
UNREAD = "opsapp.unread"  # in the environ: the body is still on the socket


class BodyWanted(Exception):
    """The application would read a body that is still on the socket. The server reads it then and asks again."""


@frozen(slots=True)
class Asked:
    request_id: str
    method: str
    path: str
    accept: str
    remote: str
    username: str | None
    query: str = ""
    encodings: str = ""
    known: str = ""  # If-None-Match
    role: str | None = None
    limited: bool = False  # in a team: only what it may see is open

    @classmethod
    def of(cls, environ: dict[str, Any]) -> Asked:
        return cls(
            request_id(environ),
            environ.get("REQUEST_METHOD", "GET"),
            environ.get("PATH_INFO", "/"),
            environ.get("HTTP_ACCEPT", ""),
            environ.get("REMOTE_ADDR", ""),
            environ.get(USERNAME),
            environ.get("QUERY_STRING", ""),
            environ.get("HTTP_ACCEPT_ENCODING", ""),
            environ.get("HTTP_IF_NONE_MATCH", ""),
            environ.get(ROLE),
        )

    @property
    def is_api(self) -> bool:
        """Whether a program asks: then errors are JSON."""
        return is_api(self.path)


def is_api(path: str) -> bool:
    return path == "/api" or path.startswith(("/api/", "/scim/"))


def request_id(environ: dict[str, Any]) -> str:
    """Our server made it with the head; under another it is made at first use."""
    if REQUEST_ID not in environ:
        environ[REQUEST_ID] = secrets.token_hex(8)
    return environ[REQUEST_ID]
