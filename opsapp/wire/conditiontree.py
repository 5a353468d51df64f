"""The tree that a condition's text becomes, and the function that evaluates it.

Must not: know the grammar of the text (conditions.py).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple, Optional, Union

from .readings import Lookup, split

Verdict = Optional[bool]

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


PLAIN = re.compile(r"""[^\s"'()<>=!,;&|*.\x00-\x1f]+(\.[^\s"'()<>=!,;&|*.\x00-\x1f]+)*""")


class Name(NamedTuple):
    key: str

    def __str__(self) -> str:
        family, middle, attribute = split(self.key)
        if middle and middle != "*" and PLAIN.fullmatch(middle) is None:
            quoted = middle.replace('"', '""')
            return f'{family}."{quoted}".{attribute}'
        return self.key


class Literal(NamedTuple):
    value: Union[float, str]

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return f"'{self.value}'" if '"' in self.value else f'"{self.value}"'
        return repr(self.value).removesuffix(".0")


class Comparison(NamedTuple):
    left: Union[Name, Literal]
    symbol: str
    right: Union[Name, Literal]

    def __str__(self) -> str:
        return f"{self.left} {self.symbol} {self.right}"


class Not(NamedTuple):
    part: Any

    def __str__(self) -> str:
        return f"not ({self.part})"


class Several(NamedTuple):
    word: str  # "and" or "or"
    parts: tuple[Any, ...]

    def __str__(self) -> str:
        return f" {self.word} ".join(f"({part})" if isinstance(part, Several) else str(part) for part in self.parts)


def _comparable(left: Any, right: Any, symbol: str) -> bool:
    """Numbers with numbers, text with text for equality only, NaN with nothing."""
    if isinstance(left, str) and isinstance(right, str):
        return symbol in ("==", "!=")
    return _number(left) and _number(right)


def _number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and not math.isnan(value))


def names_in(tree: Any) -> list[str]:
    if isinstance(tree, Comparison):
        return [side.key for side in (tree.left, tree.right) if isinstance(side, Name)]
    parts = tree.parts if isinstance(tree, Several) else (tree.part,)
    return [name for part in parts for name in names_in(part)]


def rename_tree(tree: Any, new: Callable[[str], str]) -> Any:
    if isinstance(tree, Comparison):
        return Comparison(_renamed(tree.left, new), tree.symbol, _renamed(tree.right, new))
    if isinstance(tree, Not):
        return Not(rename_tree(tree.part, new))
    return Several(tree.word, tuple(rename_tree(part, new) for part in tree.parts))


def _renamed(operand: Union[Name, Literal], new: Callable[[str], str]) -> Union[Name, Literal]:
    return operand if isinstance(operand, Literal) else Name(new(operand.key))


def compile_tree(tree: Any) -> Callable[[Lookup], Verdict]:
    if isinstance(tree, Comparison):
        return _compile_comparison(tree)
    if isinstance(tree, Not):
        inner = compile_tree(tree.part)

        def negate(get: Lookup) -> Verdict:
            verdict = inner(get)
            return None if verdict is None else not verdict

        return negate
    parts = tuple(compile_tree(part) for part in tree.parts)
    settles = tree.word == "or"  # one True settles an `or`, one False an `and`

    def several(get: Lookup) -> Verdict:
        verdict: Verdict = not settles
        for part in parts:
            value = part(get)
            if value is settles:
                return settles
            if value is None:
                verdict = None
        return verdict

    return several


def _compile_comparison(tree: Comparison) -> Callable[[Lookup], Verdict]:
    compare, symbol = OPERATORS[tree.symbol], tree.symbol
    left, right = _operand(tree.left), _operand(tree.right)

    def comparison(get: Lookup) -> Verdict:
        a, b = left(get), right(get)
        return compare(a, b) if _comparable(a, b, symbol) else None

    return comparison


def _operand(operand: Union[Name, Literal]) -> Callable[[Lookup], Any]:
    if isinstance(operand, Literal):
        value = operand.value
        return lambda _get: value
    key = operand.key
    return lambda get: get(key)
