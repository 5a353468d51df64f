"""Windows as code (see `opsapp.runtime.ascode`), by name. Healing windows are of the moment: no document has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opsapp.maintenance.resources import Window, windows_of
from opsapp.runtime.ascode import Stored
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

from . import windows

BY = "apply"


def stored(_node: Node, root: Root) -> Iterator[Stored]:
    for window in windows_of(root).of_family(Window):
        yield Stored(window.__name__, windows.fields_of(window.fields), window.source == "api")


def complete(_node: Node, given: dict[str, Any], _present: dict[str, Any] | None) -> dict[str, Any]:
    return windows.fields_of(given)


def shown(fields: dict[str, Any]) -> dict[str, Any]:
    return fields


def create(_node: Node, root: Root, fields: dict[str, Any]) -> str:
    return windows.create(root, fields, BY).__name__


def update(_node: Node, root: Root, each: str, fields: dict[str, Any]) -> None:
    windows.change(root, windows_of(root)[each], fields)


def delete(_node: Node, root: Root, each: str) -> None:
    windows.delete(root, windows_of(root)[each])
