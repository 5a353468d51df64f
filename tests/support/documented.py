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


# Of those that an operation tells; every answer has others.
TOLD_HEADERS = {"ETag", "X-Total-Count", "X-Undo", "Retry-After", "WWW-Authenticate"}


class Operation(NamedTuple):
    """`answer` is for a JSON answer, where there is one; `codes` are those that an error has, by its status."""

    name: str
    path: re.Pattern[str]
    answer: Draft202012Validator | None
    headers: dict[str, set[str]]
    codes: dict[str, set[str]]


def operations(document: Any) -> list[Operation]:
    """Fixed paths before those with a name in them."""
    return [
        operation_of(document, f"{method.upper()} {path}", path, operation["responses"])
        for path, methods in sorted(document["paths"].items(), key=lambda row: row[0].count("{"))
        for method, operation in methods.items()
    ]


def operation_of(document: Any, name: str, path: str, responses: Any) -> Operation:
    shared = {"#/components/responses/" + key: told for key, told in document["components"]["responses"].items()}
    told = {status: shared.get(response.get("$ref"), response) for status, response in responses.items()}
    schemas = [
        content["schema"]
        for status, response in told.items()
        if status.startswith("2") and "schema" in (content := response.get("content", {}).get("application/json", {}))
    ]
    return Operation(
        name,
        pattern(path),
        validator(document, schemas[0]) if schemas else None,
        {status: set(response.get("headers", ())) for status, response in told.items()},
        {
            status: set(response["content"]["application/json"]["examples"])
            for status, response in told.items()
            if status[0] in "45d"
        },
    )


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


def found_in(known: list[Operation], method: str, path: str) -> Operation | None:
    return next(
        (
            operation
            for operation in known
            if operation.name.startswith(f"{method} ") and operation.path.fullmatch(path)
        ),
        None,
    )


def _misfits(known: list[Operation], method: str, path: str, value: Any) -> list[str]:
    operation = found_in(known, method, path)
    if operation is None or operation.answer is None:
        return []
    wrong = operation.answer.iter_errors(value)
    return [f"{operation.name} answered {error.json_path}: {error.message[:300]}" for error in wrong]


def untold(method: str, path: str, response: Any) -> str:
    """What the document does not say of an answer's status, code and headers; "" where it says all."""
    operation = found_in(kept(), method, path)
    if operation is None:
        return ""
    status = str(response.status_int)
    if status not in operation.headers and response.json.get("code") in operation.codes["default"]:
        return ""
    if status not in operation.headers:
        return f"{operation.name} does not tell of {status}: {response.text[:200]}"
    if status in operation.codes and response.json["code"] not in operation.codes[status]:
        return f"{operation.name} does not tell of {status} with the code {response.json['code']}"
    if response.content_type != "application/json" or status == "304":
        return ""
    given = TOLD_HEADERS & set(response.headers)
    if given == TOLD_HEADERS & operation.headers[status]:
        return ""
    return f"{operation.name} tells of {sorted(operation.headers[status])} with {status}, and gives {sorted(given)}"


class DocumentedApp(TestApp):
    def do_request(self, req: Any, status: Any = None, expect_errors: Any = None) -> Any:
        response = super().do_request(req, status, expect_errors)
        if response.status_int in (200, 201) and response.content_type == "application/json" and req.method != "HEAD":
            wrong = misfits(self.app.registry, req.method, req.path_info, response.json)
            assert not wrong, "\n".join(wrong)
        if req.method != "HEAD":
            assert not (wrong := untold(req.method, req.path_info, response)), wrong
        return response
