"""What every view gets for free: validated body and query, 404 for extra path segments, 201 for creates.

A view says `body=Schema` (with `partial=True` for a PUT, and `read_only=Record` for the keys of an answer that it
ignores), `query=Schema`, `returns=Schema`, `creates=True`; `body=RAW` leaves the body alone: `takes=Schema` (or a
content type) tells what it should be. All of it is recorded for `web.openapi`.
`stored=fn(context)` gives the stored fields of what a PUT changes: what was not shown of them, and comes back as `***`,
keeps its value (`opsapp.lib.addresses`).
What only the store or the clock can tell of a body is told by `also=fn(context, request, sound)`, mistakes by field, in
one answer with those that the schema finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import colander
from pyramid.config import Configurator
from pyramid.httpexceptions import HTTPNotFound
from pyramid.request import Request
from pyramid.response import Response
from pyramid.viewderivers import INGRESS

from opsapp.lib.addresses import restored
from opsapp.lib.problems import Invalid, Malformed, TooLarge, UnsupportedType

from .fields import Body, Query
from .jsontext import dumps, loads
from .strict import Flag, ListOf, Nullable, Number, Whole, fields_of, takes_null

RAW = "raw"
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
BODY_CAP = 1024 * 1024
JSON = ("Content-Type", "application/json")

View = Callable[[Any, Request], Any]


class NoBody(Body):
    """For a view that expects nothing: an empty body or an empty object."""


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


def read_only_names(records: Any) -> frozenset[str]:
    """The keys that a PUT takes and ignores: those of the record, or records, that a GET shows."""
    schemas = records if isinstance(records, tuple) else (records,)
    return frozenset(child.name for schema in schemas for child in schema().children)


def query_deriver(view: View, info: Any) -> View:
    wanted = info.options.get("query")
    if not wanted:
        return view
    schema = wanted()

    def wrapped(context: Any, request: Request) -> Any:
        request.valid_query = parse_query(schema, request.GET)
        return view(context, request)

    return wrapped


query_deriver.options = ("query",)  # type: ignore[attr-defined]


def json_deriver(view: View, info: Any) -> View:
    """`renderer="json"` without the general machinery of renderers, which costs more than a small view does."""
    if getattr(info.options.get("renderer"), "name", None) != "json":
        return view

    def wrapped(context: Any, request: Request) -> Any:
        value = view(context, request)
        if isinstance(value, Response):
            return value
        response = request.response
        response.body = dumps(value).encode()
        headers = response.headerlist
        headers[:] = [pair for pair in headers if pair[0] != "Content-Type"]
        headers.append(JSON)
        return response

    return wrapped


def returns_deriver(view: View, info: Any) -> View:
    """`returns` is for the OpenAPI document; `creates` makes the status 201."""
    if not info.options.get("creates"):
        return view

    def wrapped(context: Any, request: Request) -> Any:
        request.response.status_int = 201
        answer = view(context, request)
        if isinstance(answer, Response) and answer.status_int == 200:
            answer.status_int = 201
        return answer

    return wrapped


returns_deriver.options = ("returns", "creates")  # type: ignore[attr-defined]


def read_object(request: Request, *, optional: bool) -> dict[str, Any]:
    """The body as a JSON object, or the problem that it is."""
    if (request.content_length or 0) > BODY_CAP:
        raise TooLarge(f"The body is larger than {BODY_CAP} bytes.")
    raw = request.body
    if not raw:
        if optional:
            return {}
        raise Malformed("The body must be a JSON object.", code="malformed_json")
    require_plain_json(request)
    value = loads(raw)
    if not isinstance(value, dict):
        raise Malformed("The body must be a JSON object.", code="malformed_json")
    return value


def require_plain_json(request: Request) -> None:
    """The headers of a body say that it is JSON in UTF-8, neither packed nor anything else; their case is all one."""
    if (request.content_type or "").lower() != "application/json":
        raise UnsupportedType("The body must be application/json.")
    if (request.charset or "utf-8").lower() not in ("utf-8", "utf8"):
        raise UnsupportedType("The body must be UTF-8.")
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedType("The body must come without a Content-Encoding.")


def refuse(wrong: dict[str, str]) -> None:
    """Invalid, if anything is wrong."""
    if wrong:
        raise Invalid(wrong)


def judge(
    schema: colander.SchemaNode,
    values: dict[str, Any],
    *,
    partial: bool = False,
    read_only: frozenset[str] = frozenset(),
) -> tuple[dict[str, Any], dict[str, str]]:
    """The values that are as the schema wants them, and what is wrong with the others, by path. `partial`: what is left
    out keeps its value, and null, where it means nothing of its own, counts as left out."""
    known = {child.name: child for child in schema.children}
    values = {name: value for name, value in values.items() if name in known or name not in read_only}
    if partial:
        values = {
            name: value
            for name, value in values.items()
            if value is not None or name not in known or takes_null(known[name]) or known[name].missing is None
        }
        schema = schema.clone()
        schema.children = [child for child in schema.children if child.name in values]
    try:
        return schema.deserialize(values), {}
    except colander.Invalid as problem:
        return getattr(problem, "sound", {}), fields_of(problem)


def parse_query(schema: Query, values: Any) -> dict[str, Any]:
    """A query string as the schema wants it. Keys that it does not know are left alone (`token`, cache busters)."""
    given = {child.name: _typed(child, values.getall(child.name)) for child in schema.children if child.name in values}
    try:
        return schema.deserialize(given)
    except colander.Invalid as problem:
        raise Invalid(fields_of(problem)) from None


def _typed(node: colander.SchemaNode, texts: list[str]) -> Any:
    """Text as the JSON value that it means; left as it is where it means none, for the schema to refuse."""
    kind = node.typ.inner if isinstance(node.typ, Nullable) else node.typ
    if isinstance(kind, ListOf):
        return texts
    text = texts[-1]
    if isinstance(kind, Whole):
        return int(text) if re.fullmatch(r"-?[0-9]{1,40}", text) else text
    if isinstance(kind, Number):
        return float(text) if re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,9})?", text) else text
    if isinstance(kind, Flag):
        return {"true": True, "false": False, "1": True, "0": False}.get(text, text)
    return text


def includeme(config: Configurator) -> None:
    config.add_view_deriver(subpath_deriver, "subpath", under=INGRESS, over="secured_view")
    config.add_view_deriver(body_deriver, "body", under="decorated_view", over="rendered_view")
    config.add_view_deriver(query_deriver, "query", under="decorated_view", over="body")
    config.add_view_deriver(json_deriver, "json", under="rendered_view", over="mapped_view")
    config.add_view_deriver(returns_deriver, "returns", under="body", over="rendered_view")
