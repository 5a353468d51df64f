"""A WebTest client that holds every answer of the API against what the OpenAPI document says of it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jsonschema import Draft202012Validator
from webtest import TestApp

from opsapp.web import openapi

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/openapi.json"


class Operation(NamedTuple):
    name: str
    path: re.Pattern[str]
    answer: Draft202012Validator


def operations(document: Any) -> list[Operation]:
    """Those with a JSON answer, fixed paths before those with a name in them."""
    return [
        Operation(f"{method.upper()} {path}", pattern(path), validator(document, content["schema"]))
        for path, methods in sorted(document["paths"].items(), key=lambda row: row[0].count("{"))
        for method, operation in methods.items()
        for status, response in operation["responses"].items()
        if status.startswith("2") and (content := response.get("content", {}).get("application/json", {}))
    ]


def validator(document: Any, schema: Any) -> Draft202012Validator:
    """For a schema of the document, which may refer to its components."""
    return Draft202012Validator({**schema, "components": document["components"]})


@cache
def kept() -> list[Operation]:
    """Those of docs/openapi.json, which a test compares with the running views; read once, not for each test's app."""
    return operations(json.loads(DOCUMENT.read_text()))


def pattern(path: str) -> re.Pattern[str]:
    return re.compile(
        "".join("[^/]+" if part.startswith("{") else re.escape(part) for part in re.split(r"({\w+})", path))
    )


def misfits(registry: Any, method: str, path: str, value: Any) -> list[str]:
    """Where an answer is not what the document says; nothing of a path that has no JSON answer there. An app that a
    test has added to has a document of its own."""
    return _misfits(kept(), method, path, value) and _misfits(
        operations(openapi.document(registry)), method, path, value
    )


def _misfits(known: list[Operation], method: str, path: str, value: Any) -> list[str]:
    for operation in known:
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
