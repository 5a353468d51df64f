"""Bodies and query strings as a schema wants them. `derivers` does it for views; one with `body=RAW` asks itself."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from pyramid.request import Request

from opsapp.lib.problems import Invalid, Malformed, TooLarge, UnsupportedType
from opsapp.wire.kinds import Flag, ListOf, Number, Whole

from .fields import Query
from .jsontext import loads
from .paths import REGISTRY_KEY, Paths
from .strict import FieldNode

RAW = "raw"
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
BODY_CAP = 1024 * 1024
TWICE = "is given more than once"
ALWAYS_KNOWN = frozenset({"token"})  # of a query: how a stream's reader says who it is


def read_only_names(records: Any) -> frozenset[str]:
    """The keys that a PUT takes and ignores."""
    schemas = records if isinstance(records, tuple) else (records,)
    return frozenset(child.name for schema in schemas for child in schema().children)


def cap_of(request: Request) -> int:
    """Bytes that a body may have here. An address may be no text, which its view refuses."""
    paths: Paths = request.registry[REGISTRY_KEY]
    return paths.body_limit(request.method, request.environ["PATH_INFO"], BODY_CAP)


def read_object(request: Request, *, optional: bool) -> dict[str, Any]:
    if (request.content_length or 0) > (cap := cap_of(request)):
        raise TooLarge(f"The body is larger than {cap} bytes.")
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
    """The headers must say that the body is JSON, in UTF-8, and not packed."""
    if (request.content_type or "").lower() != "application/json":
        raise UnsupportedType("The body must be application/json.")
    if (request.charset or "utf-8").lower() not in ("utf-8", "utf8"):
        raise UnsupportedType("The body must be UTF-8.")
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedType("The body must come without a Content-Encoding.")


def refuse(wrong: dict[str, str]) -> None:
    if wrong:
        raise Invalid(wrong)


def judge(
    schema: FieldNode, values: dict[str, Any], *, partial: bool = False, read_only: frozenset[str] = frozenset()
) -> tuple[dict[str, Any], dict[str, str]]:
    """The sound values, and what is wrong with the others, by path. `partial`: what is left out keeps its value, and
    null, where it means nothing of its own, counts as left out."""
    wrong: dict[str, str] = {}
    kind: Any = schema.kind
    if partial or read_only:
        kind = replace(kind, partial=partial, ignored=read_only)
    sound = kind.read(values, "", wrong)
    problem = None if wrong else schema.problem(sound)
    return sound, {"": problem} if problem else wrong


def parse_query(schema: Query, values: Any, *, strangers: bool = False) -> dict[str, Any]:
    """An unknown name is a mistake, since a misspelt filter would give the whole list, and so is a second value where
    there is place for one; with `strangers` both are left alone."""
    known = {child.name: child for child in schema.children}
    names = dict.fromkeys(values)  # each once: to look one up reads all, and a query may have thousands
    given = {name: _typed(node, values.getall(name)) for name, node in known.items() if name in names}
    given |= {} if strangers else {name: None for name in names if name not in known and name not in ALWAYS_KNOWN}
    sound, wrong = judge(schema, given)
    refuse(wrong if strangers else wrong | {name: TWICE for name in _given_twice(known, values)})
    return sound


def _given_twice(known: dict[str, FieldNode], values: Any) -> list[str]:
    if len(values) == len(set(values)):
        return []
    single = [name for name, node in known.items() if not isinstance(node.kind, ListOf)]
    return [name for name in single if len(values.getall(name)) > 1]


def _typed(node: FieldNode, texts: list[str]) -> Any:
    """Left as it is where it means no JSON value, for the schema to refuse."""
    kind = node.kind
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
