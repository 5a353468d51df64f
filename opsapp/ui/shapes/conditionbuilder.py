"""What a condition may compare, and the text of one comparison that was picked: spelled by the condition language
(`opsapp/wire`), whose parser judges it as if it had been typed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from opsapp.healing.whatif import ReadingRecord
from opsapp.wire.conditions import ConditionError, parse
from opsapp.wire.conditiontree import Comparison, Literal, Name, Several
from opsapp.wire.readings import FAMILIES, key_of, split
from opsapp.wire.spoken import COMPARISONS, GROUPS, READABLE, Readable

FEW = 50  # names of services, disks and so on that are offered
JOINS = ("and", "or")
NEEDS_NAME = ("plugin", "event.labels")  # nothing stands for all of them


class BuilderForm(NamedTuple):
    """`picked` are the fields' values until they are used; `wrong`: why not."""

    groups: tuple[tuple[str, tuple[Readable, ...]], ...]
    comparisons: tuple[tuple[str, str], ...]
    joins: tuple[str, ...]
    names: tuple[str, ...]
    picked: Mapping[str, str]
    wrong: str


class Built(NamedTuple):
    """The text with the comparison in it; as it was, where something is wrong."""

    condition: str
    wrong: str = ""


def builder(form: Mapping[str, str], readings: Iterable[ReadingRecord]) -> BuilderForm:
    built = build(form) if form.get("do") == "build" else None
    middles = dict.fromkeys(middle for row in readings if (middle := split(row.name)[1]))
    used = built is not None and not built.wrong
    picked = {} if used else {name: text for name, text in form.items() if name.startswith("pick_")}
    return BuilderForm(
        GROUPS, tuple(COMPARISONS.items()), JOINS, tuple(middles)[:FEW], picked, built.wrong if built else ""
    )


def build(form: Mapping[str, str]) -> Built:
    before = form.get("condition", "").strip()
    readable = READABLE.get(form.get("pick_reading", ""))
    symbol, which, value = (form.get(f"pick_{name}", "").strip() for name in ("is", "which", "value"))
    if readable is None or symbol not in COMPARISONS:
        return Built(before, "Choose what is compared, and how.")
    needs = readable.name.removesuffix(".*") in NEEDS_NAME
    if needs and not which:
        return Built(before, "Say which one: nothing stands for all of them.")
    operand = Literal(value) if readable.text else _number(value)
    if operand is None:
        return Built(before, "The value must be a number.")
    comparison = Comparison(Name(_named(readable.name, which.strip('"'))), symbol, operand)
    wrong = _refused(comparison)
    return Built(before, wrong) if wrong else Built(_joined(before, form.get("pick_join", ""), str(comparison)))


def _named(name: str, which: str) -> str:
    family, middle, attribute = split(name)
    if middle == "*" and family in FAMILIES:
        return key_of(family, which or "*", attribute)
    return name.replace("*", which)


def _number(text: str) -> Literal | None:
    try:
        return Literal(float(text))
    except ValueError:
        return None


def _refused(comparison: Comparison) -> str:
    """Why the language does not read this comparison as it was picked; "" where it does."""
    try:
        read = parse(str(comparison)).tree
    except ConditionError as wrong:
        return f"{comparison}: {wrong}"
    return "" if read == comparison else f"{comparison} means something else: write it in the condition itself."


def _joined(before: str, join: str, text: str) -> str:
    if not before:
        return text
    word = join if join in JOINS else JOINS[0]
    return f"({before}) {word} {text}" if _needs_brackets(before, word) else f"{before} {word} {text}"


def _needs_brackets(before: str, word: str) -> bool:
    try:
        tree = parse(" ".join(before.split())).tree
    except ConditionError:
        return False
    return isinstance(tree, Several) and tree.word != word
