"""The OpenAPI 3.1 document, written from the live views and schemas, so that it cannot say what is not there.

A resource class says its place with `url = "/api/agents/{agent_id}"`; a facet's place follows from its parent.
"""

from __future__ import annotations

import inspect
import re
from typing import Any, cast

import colander

from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.acl import Permission
from opsapp.wire.version import VERSION

from .api import PERMISSIONS
from .bodies import RAW, read_only_names
from .strict import Anything, ListOf, MapOf, Nullable, StrictMapping

ROLES = {permission: role for role, permission in PERMISSIONS.items()}
DOCUMENT = "opsapp.openapi"  # where the registry keeps it
ERROR = {"$ref": "#/components/schemas/Error"}


class Endpoint:
    """One method of one path, as the introspector knows it."""

    def __init__(self, entry: dict[str, Any], method: str):
        view = entry["introspectable"]
        self.method = method
        self.context = view["context"]
        self.name = view["name"]
        self.options = view
        self.function = view["callable"]
        permissions = [related["value"] for related in entry["related"] if related.category_name == "permissions"]
        self.permission = permissions[0] if permissions else Permission.nobody

    @property
    def path(self) -> str:
        place = place_of(self.context)
        return (f"{place}/{self.name}" if self.name else place) + (self.options.get("rest") or "") or "/"

    @property
    def role(self) -> str:
        return ROLES.get(self.permission, str(self.permission))


def place_of(context: type) -> str:
    """The URL template of a resource class."""
    place = getattr(context, "url", None)
    if isinstance(place, str):
        return place
    raise LookupError(f"{context.__module__}.{context.__qualname__} has views and no place: give the class a `url`")


def endpoints(registry: Any) -> list[Endpoint]:
    """Every view with a context in the tree, by path and method."""
    endpoints_known = []
    for entry in registry.introspector.get_category("views", ()):
        view = entry["introspectable"]
        if not isinstance(view["context"], type) or issubclass(view["context"], BaseException):
            continue
        methods = view["request_methods"] or ("GET",)
        names = (methods,) if isinstance(methods, str) else methods
        endpoints_known += [Endpoint(entry, method) for method in names if method != "HEAD"]
    return sorted(endpoints_known, key=lambda endpoint: (endpoint.path, endpoint.method))


def document(registry: Any) -> JsonObject:
    """The whole document. Made once: the views do not change while the service runs, and anybody may ask for it."""
    if DOCUMENT not in registry:
        registry[DOCUMENT] = _document(registry)
    return cast(JsonObject, registry[DOCUMENT])


def _document(registry: Any) -> JsonObject:
    paths: JsonObject = {}
    for endpoint in endpoints(registry):
        if endpoint.path.startswith(("/api", "/metrics")):
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "opsapp", "version": VERSION, "description": "Self-hosted infrastructure operations."},
        "paths": paths,
        "components": {
            "schemas": {"Error": _error_schema()},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "query": {"type": "apiKey", "in": "query", "name": "token"},
                "agent": {"type": "apiKey", "in": "header", "name": "X-Agent-Key"},
            },
        },
    }


def _operation(endpoint: Endpoint) -> JsonObject:
    description = inspect.getdoc(endpoint.function) or endpoint.function.__name__.replace("_", " ")
    text = " ".join(description.partition("\n\n")[0].split())
    operation: JsonObject = {
        "operationId": f"{endpoint.method.lower()}_{re.sub(r'[^a-z0-9]+', '_', endpoint.path.lower()).strip('_')}",
        "summary": text,
        "tags": [[*endpoint.path.split("/"), "", ""][2] or "service"],
        "x-role": endpoint.role,
        "parameters": _path_parameters(endpoint.path) + _query_parameters(endpoint.options.get("query")),
        "responses": _responses(endpoint),
        "security": _security(endpoint.role),
    }
    body = endpoint.options.get("takes") or endpoint.options.get("body")
    if body and body != RAW:
        operation["requestBody"] = _request_body(endpoint, body)
    return operation


def _request_body(endpoint: Endpoint, body: Any) -> JsonObject:
    if isinstance(body, str):
        return {"required": True, "content": {body: {}}}
    shape = shape_of(body)
    if endpoint.options.get("partial"):
        shape.pop("required", None)
        for name in sorted(read_only_names(endpoint.options.get("read_only") or ())):
            shape["properties"].setdefault(name, {"readOnly": True})
    return {"required": bool(shape.get("required")), "content": {"application/json": {"schema": shape}}}


def _responses(endpoint: Endpoint) -> JsonObject:
    returns = endpoint.options.get("returns")
    status = "201" if endpoint.options.get("creates") else "200"
    well: JsonObject = {"description": "Done."}
    if isinstance(returns, str):
        well["content"] = {returns: {}}
    elif returns is not None:
        well["content"] = {"application/json": {"schema": _unbounded(shape_of(returns))}}
    wrong = {"description": "It did not work; `code` says why.", "content": {"application/json": {"schema": ERROR}}}
    answers = {status: well, "default": wrong}
    if endpoint.method == "GET" and not isinstance(returns, str):
        answers["304"] = {"description": "As it was (If-None-Match)."}
    return answers


def shape_of(returns: Any) -> JsonObject:
    """A schema class, or a list with one for an array of it."""
    if isinstance(returns, list):
        return {"type": "array", "items": shape_of(returns[0])}
    return json_schema(returns() if isinstance(returns, type) else returns)


def _unbounded(schema: Any) -> Any:
    """How long a text or a list may be is said of what a client sends. An answer is as long as what is stored."""
    if isinstance(schema, list):
        return [_unbounded(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _unbounded(part) for name, part in schema.items() if name not in ("maxLength", "maxItems")}


def json_schema(node: colander.SchemaNode) -> JsonObject:
    """A colander node of our types as JSON Schema."""
    shape = _type_schema(node.typ, node)
    if node.description:
        shape["description"] = node.description
    return shape


def _type_schema(kind: Any, node: colander.SchemaNode | None) -> JsonObject:
    if isinstance(kind, Nullable):
        return {"anyOf": [_type_schema(kind.inner, node), {"type": "null"}]}
    if isinstance(kind, ListOf):
        shape = {"type": "array", "items": json_schema(kind.item), "minItems": kind.low, "maxItems": kind.high}
        return shape | ({"uniqueItems": True} if kind.unique else {})
    if isinstance(kind, MapOf):
        return {"type": "object", "additionalProperties": json_schema(kind.item), "maxProperties": kind.high}
    if isinstance(kind, StrictMapping) and node is not None:
        return _object_schema(node)
    if isinstance(kind, Anything):
        return {}
    return dict(kind.openapi)


def _object_schema(node: colander.SchemaNode) -> JsonObject:
    shape: JsonObject = {
        "type": "object",
        "properties": {child.name: json_schema(child) for child in node.children},
        "additionalProperties": False,
    }
    required = [child.name for child in node.children if child.required]
    return shape | ({"required": required} if required else {})


def _path_parameters(path: str) -> list[JsonObject]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{([a-z_]+)}", path)
    ]


def _query_parameters(query: Any) -> list[JsonObject]:
    if not query:
        return []
    return [
        {"name": child.name, "in": "query", "required": bool(child.required), "schema": json_schema(child)}
        for child in query().children
    ]


def _security(role: str) -> list[dict[str, list[str]]]:
    if role == "public":
        return []
    return [{"agent": []}] if role == "agent" else [{"bearer": []}, {"query": []}]


def _error_schema() -> JsonObject:
    return {
        "type": "object",
        "required": ["error", "code"],
        "properties": {
            "error": {"type": "string", "description": "For people."},
            "code": {"type": "string", "description": "Stable, for programs."},
            "fields": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
