"""Around every request: headers, ETag, refusal while the store is away, what refusals leave behind."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request
from pyramid.response import Response
from pyramid_retry import is_error_retryable
from webob.etag import ETagMatcher

from opsapp.lib.problems import Malformed, Problem
from opsapp.runtime.atwork import Work
from opsapp.wire.version import VERSION

from . import errors
from .answers import FINISH, Answer
from .asked import WORK, Asked, request_id
from .callers import REGISTRY_KEY
from .compression import pack
from .jsontext import dumps

Handler = Callable[[Request], Response]

PAGE_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


_SAME = (("X-Opsapp-Version", VERSION), ("X-Content-Type-Options", "nosniff"))
_ALWAYS = frozenset({"x-request-id", "x-opsapp-version", "x-content-type-options"})
_PAGE = (("Content-Security-Policy", PAGE_CSP), ("Referrer-Policy", "same-origin"), ("X-Frame-Options", "DENY"))
_NO_STORE, _NO_CACHE = ("Cache-Control", "no-store"), ("Cache-Control", "no-cache")
_JSON = frozenset(
    ("Content-Type", kind)
    for kind in ("application/json", "application/json; charset=utf-8", "application/json; charset=UTF-8")
)


def dress(asked: Asked, response: Response) -> Response:
    headers = response.headerlist
    present = {name.lower(): value for name, value in headers}
    if not _ALWAYS.isdisjoint(present):  # an answer that passes a second time
        headers[:] = [pair for pair in headers if pair[0].lower() not in _ALWAYS]
    headers += (("X-Request-Id", asked.request_id), *_SAME)
    if present.get("content-type", "").startswith("text/html"):
        headers += [(name, value) for name, value in _PAGE if name.lower() not in present]
        pack(asked, response)
    if "cache-control" not in present:
        headers.append(_NO_STORE if asked.is_api else _NO_CACHE)
    return response


def tag(asked: Asked, response: Response) -> Response:
    """ETag and 304 for buffered JSON under /api. A view whose answer grows older by the second has given its own."""
    if asked.method not in ("GET", "HEAD") or not asked.path.startswith("/api"):
        return response
    headers = response.headerlist
    if not isinstance(response.app_iter, list) or _JSON.isdisjoint(headers):
        return response
    if response.status_int != 200 or isinstance(response, Answer):
        return response
    digest = response.etag or hashlib.sha256(b"".join(response.app_iter)).hexdigest()[:32]
    given = response.headers.get("ETag", f'"{digest}"')
    headers[:] = [pair for pair in headers if pair[0] not in ("ETag", "Cache-Control")]
    headers += (("ETag", given), _NO_CACHE)
    if asked.known and digest in ETagMatcher.parse(asked.known, strong=False):
        response.status_int = 304
        response.body = b""
        del response.content_type
    return response


def late_response(registry: Any, asked: Asked, outcome: Any) -> Response:
    if isinstance(outcome, Response):
        return outcome
    if isinstance(outcome, BaseException):
        return errors.answer_to(registry, asked, errors.problem_of(outcome))
    status, headers, value = outcome
    response = Response(dumps(value), status=status, content_type="application/json", charset="utf-8")
    response.headers.update(headers)
    return response


def dressing_tween(handler: Handler, registry: Any) -> Handler:
    def finish(asked: Asked, outcome: Any) -> Response:
        return dress(asked, tag(asked, late_response(registry, asked, outcome)))

    def tween(request: Request) -> Response:
        request.caller = None
        request.environ[FINISH] = finish
        try:
            _readable(request)
            request.node.store.check_connected()
            with Work(request.node, "request", request_id(request.environ), request=request) as work:
                request.environ[WORK] = work
                response = handler(request)
            if isinstance(response, Answer):
                response.caller, response.callers = request.caller, registry[REGISTRY_KEY]
        except Problem as problem:
            response = errors.answer(request, problem)
        asked = Asked.of(request.environ)
        return dress(asked, tag(asked, response))

    return tween


def _readable(request: Request) -> None:
    """Paths are UTF-8. Slashes that lead nowhere (`//api`) are dropped: traversal passes over them, and what asks
    whether this is the API would not."""
    asked = request.environ
    if asked["PATH_INFO"].startswith("//"):
        asked["PATH_INFO"] = "/" + asked["PATH_INFO"].lstrip("/")
    if asked["PATH_INFO"].isascii() and not asked.get("QUERY_STRING"):
        return
    try:
        request.path_info  # noqa: B018 - decoding it is the test
        request.GET  # noqa: B018
    except UnicodeDecodeError:
        request.environ["PATH_INFO"] = "/api" if Asked.of(asked).is_api else "/"
        request.environ["QUERY_STRING"] = ""
        raise Malformed("The address is not valid UTF-8.") from None


def after_abort_tween(handler: Handler, registry: Any) -> Handler:
    """Commits what a refusal leaves behind, each in a transaction of its own, before the answer leaves."""

    def tween(request: Request) -> Response:
        request.left_behind = []
        response = handler(request)
        if response.status_int >= 400:
            for fn, values in request.left_behind:
                request.node.transact(fn, *values)
        return response

    return tween


def begun_tween(handler: Handler, registry: Any) -> Handler:
    """It answers when no transaction can begin, as while the store goes away: pyramid_tm has marked the request by
    then, and the next attempt would run without a transaction. No exception view is asked."""

    def tween(request: Request) -> Response:
        try:
            return handler(request)
        except Exception as failure:
            if is_error_retryable(request, failure):
                raise
            return errors.on_exception(failure, request)
        finally:
            request.environ.pop("tm.active", None)
            request.environ.pop("tm.manager", None)

    return tween


def unnamed_tween(handler: Handler, registry: Any) -> Handler:
    """pyramid_tm writes the path into the transaction's description: some paths are tokens."""

    def tween(request: Request) -> Response:
        request.tm.get().description = ""
        return handler(request)

    return tween


def after_abort(request: Request, fn: Callable[..., Any], *values: Any) -> None:
    """Should this request be refused: run `fn(root, *values)` in a transaction of its own."""
    request.left_behind.append((fn, values))


def includeme(config: Configurator) -> None:
    config.add_request_method(after_abort, "after_abort")
    config.add_tween("opsapp.web.tweens.after_abort_tween", over="pyramid_tm.tm_tween_factory")
    config.add_tween(
        "opsapp.web.tweens.begun_tween", under="opsapp.web.tweens.after_abort_tween", over="pyramid_tm.tm_tween_factory"
    )
    config.add_tween("opsapp.web.tweens.unnamed_tween", under="pyramid_tm.tm_tween_factory")
    config.add_tween("opsapp.web.tweens.dressing_tween", over="opsapp.web.tweens.after_abort_tween")
