"""What every view gets for free: validated body and query, 404 for extra path segments, 201 for creates.

A view says `body=Schema` (`partial=True` for a PUT, `read_only=Record` for keys that it ignores), `query=Schema`,
`returns=Schema`, `creates=True`; with `body=RAW` the body is left alone, and `takes=Schema` (or a `FileForm`) tells
`web.openapi` what it should be. `stored=fn(context)`: the stored fields that keep their value where `***` comes back
(`opsapp.lib.addresses`). `also=fn(context, request, sound)`: mistakes that only the store or the clock shows, told with
the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

from pyramid.config import Configurator
from pyramid.httpexceptions import HTTPNotFound
from pyramid.request import Request
from pyramid.response import Response
from pyramid.viewderivers import INGRESS

from opsapp.lib.addresses import restored
from opsapp.lib.problems import PreconditionFailed

from .answers import BY_PAGE
from .asked import is_api
from .bodies import RAW, UNSAFE, judge, parse_query, read_object, read_only_names, refuse
from .fields import Body
from .jsontext import dumps

JSON = ("Content-Type", "application/json")
MADE_ANEW = frozenset({"Content-Type", "Content-Length"})

View = Callable[[Any, Request], Any]


class NoBody(Body):
    """The body of a view that expects nothing: empty, or an empty object."""


def subpath_deriver(view: View, info: Any) -> View:
    """Traversal leaves what it could not walk in `subpath`, and would answer 200 to it."""
    if info.options.get("subpath_ok") or info.exception_only:
        return view

    def wrapped(context: Any, request: Request) -> Any:
        if request.subpath:
            raise HTTPNotFound
        return view(context, request)

    return wrapped


subpath_deriver.options = ("subpath_ok",)  # type: ignore[attr-defined]


def body_deriver(view: View, info: Any) -> View:
    wanted = info.options.get("body")
    methods = info.options.get("request_method") or ()
    methods = (methods,) if isinstance(methods, str) else methods
    if wanted == RAW or info.exception_only or not (wanted or any(method in UNSAFE for method in methods)):
        return view
    schema = (wanted or NoBody)()
    partial = bool(info.options.get("partial"))
    read_only = read_only_names(info.options.get("read_only") or ())
    stored: Callable[[Any], dict[str, Any]] = info.options.get("stored") or (lambda context: {})
    also: Callable[..., dict[str, str]] = info.options.get("also") or (lambda context, request, sound: {})

    def wrapped(context: Any, request: Request) -> Any:
        values = read_object(request, optional=not wanted or not any(child.required for child in schema.children))
        known = stored(context)
        values = {
            name: restored(value, known[name], name) if name in known else value for name, value in values.items()
        }
        sound, wrong = judge(schema, values, partial=partial, read_only=read_only)
        refuse(also(context, request, sound) | wrong)
        request.valid_body = sound
        return view(context, request)

    return wrapped


body_deriver.options = ("body", "takes", "partial", "read_only", "stored", "also")  # type: ignore[attr-defined]


def condition_deriver(view: View, info: Any) -> View:
    """No ETag here is one of a thing alone (it has the state of a monitor too), so a condition cannot be checked: a
    change that has one is refused."""
    if info.exception_only:
        return view

    def wrapped(context: Any, request: Request) -> Any:
        asked = request.environ
        condition = asked.get("HTTP_IF_MATCH", "*").strip()
        if condition != "*" and asked["REQUEST_METHOD"] in UNSAFE and is_api(asked["PATH_INFO"]):
            message = "If-Match is not supported. Nothing was changed. Leave it out, or send If-Match: *."
            raise PreconditionFailed(message, code="if_match_not_supported")
        return view(context, request)

    return wrapped


def query_deriver(view: View, info: Any) -> View:
    wanted = info.options.get("query")
    if not wanted:
        return view
    schema = wanted()

    def wrapped(context: Any, request: Request) -> Any:
        request.valid_query = parse_query(schema, request.GET, strangers=not is_api(request.environ["PATH_INFO"]))
        return view(context, request)

    return wrapped


query_deriver.options = ("query",)  # type: ignore[attr-defined]


def json_deriver(view: View, info: Any) -> View:
    """`renderer="json"` without Pyramid's machinery, which costs more than a small view. A page of this process gets
    declared records as they are."""
    if getattr(info.options.get("renderer"), "name", None) != "json":
        return view

    def wrapped(context: Any, request: Request) -> Any:
        value = view(context, request)
        if isinstance(value, Response):
            return value
        response = request.response
        if BY_PAGE in request.environ and _is_declared(value):
            response.records = value
            return response
        body, headers = dumps(value).encode(), response.headerlist
        response.app_iter = [body]
        headers[:] = [pair for pair in headers if pair[0] not in MADE_ANEW]
        headers += (JSON, ("Content-Length", str(len(body))))
        return response

    return wrapped


def _is_declared(value: Any) -> bool:
    return is_dataclass(value[0] if isinstance(value, list) and value else value)


def returns_deriver(view: View, info: Any) -> View:
    """`creates` makes the status 201. The others are for the API document: `accepts` (it may be 202 without a body),
    `errors` (that do not follow from what the view is), `redirects` (its status)."""
    if not info.options.get("creates"):
        return view

    def wrapped(context: Any, request: Request) -> Any:
        request.response.status_int = 201
        answer = view(context, request)
        if isinstance(answer, Response) and answer.status_int == 200:
            answer.status_int = 201
        return answer

    return wrapped


returns_deriver.options = ("returns", "creates", "accepts", "errors", "redirects", "undoes")  # type: ignore[attr-defined]


def includeme(config: Configurator) -> None:
    config.add_view_deriver(subpath_deriver, "subpath", under=INGRESS, over="secured_view")
    config.add_view_deriver(condition_deriver, "condition", under="secured_view", over="decorated_view")
    config.add_view_deriver(body_deriver, "body", under="decorated_view", over="rendered_view")
    config.add_view_deriver(query_deriver, "query", under="decorated_view", over="body")
    config.add_view_deriver(json_deriver, "json", under="rendered_view", over="mapped_view")
    config.add_view_deriver(returns_deriver, "returns", under="body", over="rendered_view")
