"""A WebTest client that holds every answer of the API against what the OpenAPI document says of it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from webtest import TestApp

from opsapp.web import openapi


class Operation(NamedTuple):
    name: str
    path: re.Pattern[str]
    answer: Draft202012Validator


_known: dict[int, list[Operation]] = {}


def operations(registry: Any) -> list[Operation]:
    """Those with a JSON answer, fixed paths before those with a name in them."""
    document = openapi.document(registry)
    if id(document) not in _known:
        found = [
            Operation(f"{method.upper()} {path}", pattern(path), Draft202012Validator(content["schema"]))
            for path, methods in sorted(document["paths"].items(), key=lambda row: row[0].count("{"))
            for method, operation in methods.items()
            for status, response in operation["responses"].items()
            if status.startswith("2") and (content := response.get("content", {}).get("application/json", {}))
        ]
        _known[id(document)] = found
    return _known[id(document)]


def pattern(path: str) -> re.Pattern[str]:
    return re.compile(
        "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in re.split(r"({\w+})", path))
    )


def misfits(registry: Any, method: str, path: str, value: Any) -> list[str]:
    """Where an answer is not what the document says; nothing of a path that has no JSON answer there."""
    for operation in operations(registry):
        if operation.name.startswith(f"{method} ") and operation.path.fullmatch(path):
            wrong = operation.answer.iter_errors(value)
            return [f"{operation.name} answered {error.json_path}: {error.message[:300]}" for error in wrong]
    return []


class DocumentedApp(TestApp):
    def do_request(self, req: Any, status: Any = None, expect_errors: Any = None) -> Any:
        response = super().do_request(req, status, expect_errors)
        if response.status_int in (200, 201) and response.content_type == "application/json" and req.method != "HEAD":
            wrong = misfits(self.app.registry, req.method, req.path_info, response.json)
            assert not wrong, "\n".join(wrong)
        return response
