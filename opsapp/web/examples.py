"""An example for each answer and body of the API document, made from its schema: a class says in `sample` what cannot
be made. Must not: know views, or requests."""

from __future__ import annotations

from typing import Any

from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.kinds import REQUIRED, Anything, Choice, DeclaredField, Flag, ListOf, MapOf, Object, Text

from .fields import node_of

SOME_TIME = 1_767_225_600  # the first second of 2026
_TIMES = ("_at", "since", "until", "from", "to", "at", "time", "start", "end", "as_of", "ts")


def answer_example(returns: Any) -> Any:
    return [answer_example(returns[0])] if isinstance(returns, list) else example_of(node_of(returns), whole=True)


def body_example(wanted: Any) -> Any:
    return [body_example(wanted[0])] if isinstance(wanted, list) else example_of(node_of(wanted), whole=False)


def example_of(entry: DeclaredField, *, whole: bool) -> Any:
    kind = entry.kind
    if isinstance(kind, Object):
        sample = getattr(kind.owner, "sample", {})
        wanted = (part for part in kind.entries if whole or part.default is REQUIRED or part.name in sample)
        return {
            part.name: sample[part.name] if part.name in sample else example_of(part, whole=whole) for part in wanted
        }
    if isinstance(kind, ListOf):
        return [example_of(kind.item, whole=whole)] * max(1, kind.low)
    if isinstance(kind, MapOf):
        return {_text(kind.key, "name"): example_of(kind.item, whole=whole)}
    return _single(kind, entry.name)


def _single(kind: Any, name: str) -> Any:
    if isinstance(kind, Text):
        return _text(kind, name)
    if isinstance(kind, Choice):
        return kind.choices[0]
    if isinstance(kind, Flag):
        return True
    if isinstance(kind, Anything):
        return "value"
    shape = kind.openapi.get("oneOf", [kind.openapi])[0]
    return _number(shape, name) if shape["type"] in ("integer", "number") else name or "text"


def _number(shape: JsonObject, name: str) -> int | float:
    low, high = shape.get("minimum"), shape.get("maximum")
    wished = SOME_TIME if name.endswith(_TIMES) and (high is None or high >= SOME_TIME) else 1
    number: int | float = min(wished if low is None else max(low, wished), wished if high is None else high)
    return number


def _text(kind: Text, name: str) -> str:
    """What the form's error message shows, the name of the field, or anything that fits."""
    shown = kind.example or name
    words = [
        shown,
        shown.rpartition(" like ")[2],
        shown.rpartition(" ")[2],
        name,
        name.replace("_", "-"),
        "text",
        "a",
        "0" * kind.low,
    ]
    fitting = (word for word in (word[: kind.high].ljust(kind.low, "0") for word in words) if not kind.problem(word))
    word = next(fitting, None)
    if word is None:
        raise LookupError(f"no example for the text {name!r}: give its class a `sample`")
    return word
