"""The operations of a PATCH (RFC 7644, 3.5.2)."""

from __future__ import annotations

import re
from typing import NamedTuple

from .given import GivenObject, ScimRefused, rows_of

MOST = 1000
CORE = re.compile(r"urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):", re.IGNORECASE)
OPS = frozenset({"add", "replace", "remove"})
READ_ONLY = frozenset({"id", "meta", "groups", "schemas"})


class Operation(NamedTuple):
    """`path` in small letters, but for what stands in quotes."""

    op: str
    path: str | None
    value: object


def operations_in(given: GivenObject) -> list[Operation]:
    rows = rows_of(given.get("Operations"), "Operations")
    if not 1 <= len(rows) <= MOST:
        raise ScimRefused("invalidSyntax", f"Operations must be a list of 1 to {MOST} operations.")
    return [_operation(row) for row in rows]


def _operation(row: GivenObject) -> Operation:
    """`Replace` is how Entra ID writes it."""
    op = (row.text("op") or "").lower()
    if op not in OPS:
        raise ScimRefused("invalidSyntax", "op must be add, replace or remove.")
    path = row.get("path")
    if path is not None and (not isinstance(path, str) or len(path) > 400):
        raise ScimRefused("invalidPath", "The path of an operation cannot be read.")
    if op == "remove" and not path:
        raise ScimRefused("noTarget", "A remove needs a path.")
    if op != "remove" and "value" not in row:
        raise ScimRefused("invalidValue", f"The operation {op} needs a value.")
    return Operation(op, _small(CORE.sub("", path)) if path else None, row.get("value"))


def refuse_read_only(path: str) -> None:
    name = re.split(r"[.\[]", path, maxsplit=1)[0]
    if name in READ_ONLY:
        raise ScimRefused("mutability", f"{name} is read-only.")


def _small(path: str) -> str:
    return '"'.join(part if number % 2 else part.lower() for number, part in enumerate(path.split('"')))
