"""The schemas of the API document: each class is a component. MonitorRecord is Monitor (or its `component`), a PUT
takes MonitorChange; where a class is answered and sent, what is sent has bounds and so a name of its own. Must not:
know views."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from opsapp.wire.kinds import REQUIRED, Anything, DeclaredField, ListOf, MapOf, Object

from .uploads import FileForm

PLACE = "#/components/schemas/"
Use = Literal["answer", "body", "change"]
_ANSWERED = re.compile(r"(?<=.)(Record|Shown)$")
_CHANGED = re.compile(r"^(New|Given|Changed)(?=.)|(?<=.)(Settings|Body|Change)$")


class Named(NamedTuple):
    """What a name stands for."""

    schema: type
    use: Use
    shape: dict[str, object]


class Components:
    """Answers are told first: a body is the same component where it has their shape."""

    def __init__(self) -> None:
        self._known: dict[str, Named] = {}

    @property
    def schemas(self) -> dict[str, dict[str, object]]:
        return {name: named.shape for name, named in sorted(self._known.items())}

    def answer(self, returns: Any) -> dict[str, object]:
        return self._shape_of(returns, "answer")

    def body(self, wanted: Any) -> dict[str, object]:
        return self._shape_of(wanted, "body")

    def change(self, wanted: type, read_only: frozenset[str]) -> dict[str, object]:
        """Everything may be left out; it may also have names that are ignored."""
        properties = self._properties(wanted().kind, "body")
        for name in sorted(read_only - properties.keys()):
            properties[name] = {"readOnly": True}
        shape = _object_of(properties)
        return self._keep(_CHANGED.sub("", base_of(wanted)) + "Change", Named(wanted, "change", shape))

    def form(self, wanted: FileForm) -> dict[str, object]:
        return self._keep(wanted.component, Named(FileForm, "body", wanted.openapi))

    def field(self, entry: DeclaredField, use: Use = "body") -> dict[str, object]:
        shape = self._kind(entry.kind, use)
        return {"anyOf": [shape, {"type": "null"}]} if entry.null else shape

    def _shape_of(self, wanted: Any, use: Use) -> dict[str, object]:
        if isinstance(wanted, list):
            return {"type": "array", "items": self._shape_of(wanted[0], use)}
        return self.field(wanted() if isinstance(wanted, type) else wanted, use)

    def _kind(self, kind: Any, use: Use) -> dict[str, object]:
        if isinstance(kind, ListOf):
            shape = {"type": "array", "items": self.field(kind.item, use), "minItems": kind.low, "maxItems": kind.high}
            return _as_used(shape | ({"uniqueItems": True} if kind.unique else {}), use)
        if isinstance(kind, MapOf):
            return {"type": "object", "additionalProperties": self.field(kind.item, use), "maxProperties": kind.high}
        if isinstance(kind, Object):
            return self._named(kind, use)
        return {} if isinstance(kind, Anything) else _as_used(dict(kind.openapi), use)

    def _named(self, kind: Object, use: Use) -> dict[str, object]:
        schema, shape = kind.owner, self._object(kind, use)
        name = base_of(schema)
        answered = self._known.get(name)
        if use == "body" and answered is not None and answered[:2] == (schema, "answer"):
            if answered.shape == shape:
                return {"$ref": PLACE + name}
            name += "Body"
        return self._keep(name, Named(schema, use, shape))

    def _object(self, kind: Object, use: Use) -> dict[str, object]:
        shape = _object_of(self._properties(kind, use))
        required = [entry.name for entry in kind.entries if entry.default is REQUIRED]
        return shape | ({"required": required} if required else {})

    def _properties(self, kind: Object, use: Use) -> dict[str, object]:
        return {entry.name: self.field(entry, use) for entry in kind.entries}

    def _keep(self, name: str, named: Named) -> dict[str, object]:
        known = self._known.setdefault(name, named)
        if known != named:
            classes = " and ".join(f"{kept.schema.__module__}.{kept.schema.__qualname__}" for kept in (known, named))
            raise LookupError(f"two schemas of the API are called {name}: {classes}; give one a `component`")
        return {"$ref": PLACE + name}


def _object_of(properties: dict[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def base_of(schema: type) -> str:
    own: str | None = getattr(schema, "component", None)
    return own or _ANSWERED.sub("", schema.__name__)


def _as_used(schema: Any, use: Use) -> Any:
    """Lengths are said of what a client sends. An answer is as long as what is stored."""
    if isinstance(schema, list):
        return [_as_used(part, use) for part in schema]
    if use == "body" or not isinstance(schema, dict):
        return schema
    return {name: _as_used(part, use) for name, part in schema.items() if name not in ("maxLength", "maxItems")}
