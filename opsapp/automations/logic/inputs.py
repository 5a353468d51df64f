"""The inputs of a run: how they are declared, and what was declared against what was given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import REQUIRED, Choice, DeclaredField, Flag, JsonKind, Number, Object, Scalar, Text, Whole
from opsapp.wire.records import FormField, Most, made

KINDS = {"string": Text(0, 20_000), "integer": Whole(), "number": Number(), "boolean": Flag()}


@frozen
class Input:
    """What may, or must, be given to a run."""

    name: Annotated[
        str,
        Text(1, 64, r"[A-Za-z_][A-Za-z0-9_]*", "a word like path"),
        FormField("Name", hint="In scripts it is {{input:name}}"),
    ]
    type: Annotated[str, Choice(*KINDS, "choice"), FormField("Type", "choice", preset="string")] = "string"
    default: Annotated[Any, Scalar(), FormField("Default value", "like", like="type")] = None
    required: Annotated[bool, FormField("Required", "flag")] = False
    choices: Annotated[
        tuple[Annotated[str, Text(1, 1000)], ...],
        Most(200, unique=True),
        FormField("Choices", "list", "With commas. For the type choice"),
    ] = ()
    description: Annotated[str, Text(0, 1000), FormField("Description")] = ""

    @property
    def kind(self) -> JsonKind:
        return KINDS.get(self.type) or Choice(*self.choices)

    @property
    def entry(self) -> DeclaredField:
        missing = REQUIRED if self.required else ""
        return DeclaredField(self.name, self.kind, default=missing if self.default is None else self.default)


def values(declared: Iterable[Input], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """(every input's value, with defaults; what is wrong by name). null counts as missing."""
    wrong: dict[str, str] = {}
    return Object(None, [declaration.entry for declaration in declared]).read(given, "", wrong), wrong


def declaration_problem(read: Mapping[str, Any]) -> str | None:
    declared = made(Input, read)
    if declared.type == "choice" and not declared.choices:
        return "a choice needs choices"
    if declared.type != "choice" and declared.choices:
        return "only a choice has choices"
    message = None if declared.default is None else declared.kind.problem(declared.default)
    return f"the default {message}" if message else None
