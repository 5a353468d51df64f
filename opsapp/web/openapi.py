"""The OpenAPI 3.1 document, written from the live views and schemas. A resource class says its `url`; a facet's follows
from its parent."""

from __future__ import annotations

import inspect
import re
from typing import Any, cast

from opsapp.tree.acl import Permission
from opsapp.wire.version import VERSION

from . import refusals
from .api import PERMISSIONS
from .bodies import RAW, read_only_names
from .examples import answer_example, body_example
from .fields import node_of
from .shapes import Components
from .uploads import FORM, FileForm

ROLES = {permission: role for role, permission in PERMISSIONS.items()}
JSON = "application/json"
DOCUMENT = "opsapp.openapi"  # where the registry keeps it


class Endpoint:
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
    def tag(self) -> str:
        return [*self.path.split("/"), "", ""][2] or "service"

    @property
    def operation_id(self) -> str:
        return f"{self.method.lower()}_{re.sub(r'[^a-z0-9]+', '_', self.path.lower()).strip('_')}"

    @property
    def role(self) -> str:
        return ROLES.get(self.permission, str(self.permission))

    @property
    def returns(self) -> Any:
        """A schema, a content type (of a file: those that may be asked for), or None."""
        return self.options.get("returns")

    @property
    def is_tagged(self) -> bool:
        as_text = isinstance(self.returns, str) and self.returns != JSON
        return self.method == "GET" and self.returns is not None and not as_text


def place_of(context: type) -> str:
    place = getattr(context, "url", None)
    if isinstance(place, str):
        return place
    raise LookupError(f"{context.__module__}.{context.__qualname__} has views and no place: give the class a `url`")


def endpoints(registry: Any) -> list[Endpoint]:
    endpoints_known = []
    for entry in registry.introspector.get_category("views", ()):
        view = entry["introspectable"]
        if not isinstance(view["context"], type) or issubclass(view["context"], BaseException):
            continue
        methods = view["request_methods"] or ("GET",)
        names = (methods,) if isinstance(methods, str) else methods
        endpoints_known += [Endpoint(entry, method) for method in names if method != "HEAD"]
    return sorted(endpoints_known, key=lambda endpoint: (endpoint.path, endpoint.method))


def document(registry: Any) -> dict[str, object]:
    """Made once: the views do not change, and anybody may ask for it."""
    if DOCUMENT not in registry:
        registry[DOCUMENT] = _document(registry)
    return cast(dict[str, object], registry[DOCUMENT])


def _document(registry: Any) -> dict[str, object]:
    told = [endpoint for endpoint in endpoints(registry) if endpoint.path.startswith(("/api", "/metrics"))]
    components = Components()
    paths: dict[str, dict[str, object]] = {}
    for endpoint in told:  # before any body: see Components
        if endpoint.returns is not None and not isinstance(endpoint.returns, str):
            components.answer(endpoint.returns)
    for endpoint in told:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "opsapp", "version": VERSION, "description": "Self-hosted infrastructure operations."},
        "paths": paths,
        "components": refusals.components()
        | {
            "schemas": components.schemas | {"Error": _error_schema()},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "query": {"type": "apiKey", "in": "query", "name": "token"},
                "agent": {"type": "apiKey", "in": "header", "name": "X-Agent-Key"},
            },
        },
    }


def _operation(endpoint: Endpoint, components: Components) -> dict[str, object]:
    description = inspect.getdoc(endpoint.function) or endpoint.function.__name__.replace("_", " ")
    text = " ".join(description.partition("\n\n")[0].split())
    operation: dict[str, object] = {
        "operationId": endpoint.operation_id,
        "summary": text,
        "tags": [endpoint.tag],
        "x-role": endpoint.role,
        "parameters": _parameters(endpoint, components),
        "responses": _responses(endpoint, components),
        "security": _security(endpoint.role),
    }
    body = endpoint.options.get("takes") or endpoint.options.get("body")
    if body and body != RAW:
        operation["requestBody"] = _request_body(endpoint, body, components)
    return operation


def _request_body(endpoint: Endpoint, body: Any, components: Components) -> dict[str, object]:
    if isinstance(body, FileForm):
        return {"required": True, "content": {FORM: {"schema": components.form(body), "example": body.example}}}
    if endpoint.options.get("partial"):
        shape = components.change(body, read_only_names(endpoint.options.get("read_only") or ()))
        return {"required": False, "content": {JSON: {"schema": shape, "example": body_example(body)}}}
    needed = isinstance(body, list) or any(child.required for child in node_of(body).children)
    told = {"schema": components.body(body), "example": body_example(body)}
    return {"required": needed, "content": {JSON: told}}


def _responses(endpoint: Endpoint, components: Components) -> dict[str, object]:
    status = "201" if endpoint.options.get("creates") else "200"
    well: dict[str, object] = {"description": "Done."}
    names = ["ETag"] if endpoint.is_tagged else []
    names += [refusals.UNDO] if endpoint.options.get("undoes") else []
    names += ["X-Total-Count"] if isinstance(endpoint.returns, list) else []
    names += [refusals.NEXT] if _goes_on(endpoint) else []
    if names:
        well["headers"] = refusals.headers(*names)
    if isinstance(endpoint.returns, str):
        kinds = endpoint.returns.split(", ")
        well["content"] = {kind: _free(kind, rows=len(kinds) > 1) for kind in kinds}
    elif endpoint.returns is not None:
        told = {"schema": components.answer(endpoint.returns), "example": answer_example(endpoint.returns)}
        well["content"] = {JSON: told}
    answers: dict[str, object] = {status: well}
    if endpoint.options.get("accepts"):
        answers["202"] = {"description": "Taken; there is nothing to say of it."}
    if endpoint.is_tagged:
        answers["304"] = refusals.response(refusals.SAME)
    if redirects := endpoint.options.get("redirects"):
        answers[str(redirects)] = {"description": "It goes on elsewhere.", "headers": refusals.headers("Location")}
    return answers | refusals.errors_of(endpoint.method, endpoint.path, endpoint.role, endpoint.options)


def _free(media: str, *, rows: bool) -> dict[str, object]:
    """An answer of no declared shape. `rows`: of a file."""
    if media == JSON and rows:
        return {"schema": {"type": "array", "items": {"type": "object"}}, "example": []}
    if media == JSON:
        return {"schema": {"type": "object"}, "example": {}}
    return {"schema": {"type": "string"} if media.startswith("text/") else {"type": "string", "format": "binary"}}


def _parameters(endpoint: Endpoint, components: Components) -> list[dict[str, object]]:
    return [
        *_path_parameters(endpoint.path),
        *_query_parameters(endpoint.options.get("query"), components),
        *refusals.header_parameters(endpoint.method, endpoint.options, tagged=endpoint.is_tagged),
    ]


def _path_parameters(path: str) -> list[dict[str, object]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"{([a-z_]+)}", path)
    ]


def _goes_on(endpoint: Endpoint) -> bool:
    """Its pages go on before a row."""
    query = endpoint.options.get("query")
    return query is not None and any(child.name == "before" for child in query().children)


def _query_parameters(query: Any, components: Components) -> list[dict[str, object]]:
    if not query:
        return []
    return [
        {"name": child.name, "in": "query", "required": bool(child.required), "schema": components.field(child)}
        for child in query().children
    ]


def _security(role: str) -> list[dict[str, list[str]]]:
    if role == "public":
        return []
    return [{"agent": []}] if role == "agent" else [{"bearer": []}, {"query": []}]


def _error_schema() -> dict[str, object]:
    return {
        "type": "object",
        "required": ["error", "code"],
        "properties": {
            "error": {"type": "string", "description": "For people."},
            "code": {"type": "string", "description": "Stable, for programs."},
            "fields": {"type": "object", "additionalProperties": {"type": "string"}},
        },
    }
