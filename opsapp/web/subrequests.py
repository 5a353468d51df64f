"""A request that this process asks itself, in the transaction and as the caller of another: pages and assistants read
the API so, and are refused what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any
from urllib.parse import unquote_to_bytes

from pyramid.httpexceptions import HTTPNotFound
from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.problems import NotFound

from .answers import Answer, Deferred

KEPT = ("wsgi.version", "wsgi.url_scheme", "wsgi.errors", "wsgi.multithread", "wsgi.multiprocess", "wsgi.run_once",
        "opsapp.request_id")  # fmt: skip
DROPPED = ("HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE", "HTTP_IDEMPOTENCY_KEY", "HTTP_RANGE")


def ask(
    request: Request,
    method: str,
    path: str,
    query: str = "",
    body: Any = None,
    *,
    headers: Mapping[str, str] = {},
    marks: Mapping[str, object] = {},
) -> Response:
    """Its problem is raised; an answer that is carried out later comes as it is. `path` is written as in a URL.
    `marks`: what its environ says besides, which no client can say."""
    environ = {name: value for name, value in request.environ.items() if "." not in name or name in KEPT}
    environ = {name: value for name, value in environ.items() if name not in DROPPED}
    sent = b"" if body is None else json.dumps(body).encode()
    environ |= {
        "REQUEST_METHOD": method,
        "PATH_INFO": _decoded(path),
        "QUERY_STRING": query,
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(sent)),
        "wsgi.input": BytesIO(sent),
        "tm.manager": request.tm,
        "tm.active": True,
        **marks,
    }
    asked = request.__class__(environ)
    asked.registry = request.registry
    asked.caller, asked.left_behind = None, request.left_behind
    asked.place = request.place  # the same transaction; one of its own would see none of ours
    asked.headers.update(headers)
    try:
        return request.invoke_subrequest(asked, use_tweens=False)
    except HTTPNotFound:
        raise NotFound("There is nothing here.") from None


def value_of(response: Response) -> Any:
    """What it says: to a page declared records as they are, else JSON. One that is carried out later is, on the hub,
    outside the transaction."""
    if isinstance(response, Deferred):
        outcome = response.fn()
        if isinstance(outcome, Answer):
            raise TypeError(f"{outcome!r} has no value")
        return outcome.json_body if isinstance(outcome, Response) else outcome[2]
    if hasattr(response, "records"):
        return response.records
    return response.json_body if response.body else None


def _decoded(path: str) -> str:
    """Each step by itself, so that no step is several, or leads up."""
    steps = [unquote_to_bytes(step) for step in path.split("/")]
    if any(step in (b".", b"..") or b"/" in step for step in steps):
        raise NotFound("There is nothing here.")
    return b"/".join(steps).decode("latin-1")
