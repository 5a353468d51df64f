"""Which error codes opsapp can answer with, read from its syntax."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from opsapp.web import errors

ROOT = Path(__file__).resolve().parents[2]
# The agent and the wire have codes of their own, which no client of the API sees.
ELSEWHERE = ("opsapp/agent/", "opsapp/wire/")


class CodeAt(NamedTuple):
    """A place that names a code: the code itself, or (not `literal`) the expression that makes it. `raised`: the class
    of the problem, where one is named."""

    place: str
    code: str
    literal: bool
    raised: str


class Place(NamedTuple):
    """What can name a code in one file, and what its constants are."""

    name: str
    constants: dict[str, object]
    nodes: list[ast.ClassDef | ast.Call | ast.Dict]


@cache
def places() -> list[Place]:
    files = {str(path.relative_to(ROOT)): path for path in sorted((ROOT / "opsapp").rglob("*.py"))}
    return [_place(name, path.read_text()) for name, path in files.items() if not name.startswith(ELSEWHERE)]


def _place(name: str, text: str) -> Place:
    tree = ast.parse(text)
    constants = {
        last_name(node.targets[0]): node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
    }
    return Place(
        name, constants, [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.Call | ast.Dict)]
    )


def last_name(node: ast.AST) -> str:
    """`Conflict` of `Conflict` and of `problems.Conflict`."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


@cache
def problem_classes() -> dict[str, str]:
    """Every class below `Problem`, wherever it is, and its base."""
    bases = {
        node.name: last_name(node.bases[0])
        for place in places()
        for node in place.nodes
        if isinstance(node, ast.ClassDef) and node.bases
    }
    known, size = {"Problem": ""}, 0
    while size < len(known):
        size = len(known)
        known |= {name: base for name, base in bases.items() if base in known and name not in known}
    return known


@cache
def status_of(raised: str) -> int | None:
    """The status that a problem of this class has, by the error table; None for what is no problem."""
    bases, known = problem_classes(), {cls.__name__: status for cls, status in errors.STATUS.items()}
    while raised and raised not in known:
        raised = bases.get(raised, "")
    return known.get(raised)


@cache
def codes() -> tuple[CodeAt, ...]:
    """Every place that names one."""
    return tuple(code_at for place in places() for code_at in _codes_of(place, problem_classes()))


def _codes_of(place: Place, raised: dict[str, str]) -> Iterator[CodeAt]:
    for node in place.nodes:
        for expression in _named(node, raised):
            value = place.constants.get(last_name(expression))
            value = expression.value if isinstance(expression, ast.Constant) else value
            raising = node.name if isinstance(node, ast.ClassDef) else last_name(getattr(node, "func", node))
            yield CodeAt(place.name, value or ast.unparse(expression), value is not None, raising)


def _named(node: ast.AST, raised: dict[str, str]) -> Iterator[ast.expr]:
    """The expressions for codes that a node has."""
    if isinstance(node, ast.ClassDef) and node.name in raised:
        for statement in node.body:
            if isinstance(statement, ast.Assign) and last_name(statement.targets[0]) == "code":
                yield statement.value
    elif isinstance(node, ast.Call):
        name = last_name(node.func)
        if name == "Refusal":
            yield node.args[1]
        elif name == "bad" and len(node.args) == 2:
            yield node.args[0]
        elif name in raised or name == "__init__":
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "code")
    elif isinstance(node, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if {"error", "code"} <= set(keys) and not isinstance(node.values[keys.index("code")], ast.Dict):
            yield node.values[keys.index("code")]
