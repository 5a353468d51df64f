"""The condition language of rules: text to a tree, and the tree over readings to true, false or unknown.

Lives here: tokens, grammar, three-valued evaluation, what a condition is about. The server and the agent read rules
with this one module. Must not: eval, clocks, anything outside the standard library.

    condition  = term {"or" term}
    term       = factor {"and" factor}
    factor     = "not" factor | "(" condition ")" | operand operator operand
    operator   = "==" | "!=" | ">" | ">=" | "<" | "<="
    operand    = name | number | "text" | 'text'
    name       = cpu_percent | service.nginx.state | disk./var.percent | disk."/mnt/two words".percent

A quoted part holds anything; a double quote in it is doubled.

`event.name`, `event.status` and `event.labels.job` are what an event from elsewhere says. Such a condition is evaluated
once for each event of a host or monitor, through `about_event`.

A middle part `*` stands for every service, container or mount (`service.*.failed == 1`): such a condition is evaluated
once for each of them, through `bind`. A reading that is missing, too old, not a number where one must be, or NaN makes
its comparison unknown (None): never true, never false.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, Optional, Union

from .conditiontree import Comparison, Literal, Name, Not, Several, Verdict, compile_tree, names_in, rename_tree
from .readings import EVENT, FAMILIES, Lookup, key_of, split

MAX_LENGTH = 2000
MAX_DEPTH = 32
MAX_COMPARISONS = 100

TOKEN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<operator>==|!=|>=|<=|>|<)
  | (?P<bracket>[()])
  | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
  | (?P<text>"[^"\x00-\x1f]*"|'[^'\x00-\x1f]*')
  | (?P<name>[^\W\d](?:[^\s"'()<>=!,;&|\x00-\x1f]|(?<=\.)"(?:[^"]|"")+"(?=\.))*)
""",
    re.VERBOSE,
)


QUOTED = re.compile(r'([^."]+)\."((?:[^"]|"")+)"\.([^."]+)')
ONE_EVENT = re.compile(r"\bevent\.[0-9a-f]{16}\.")  # names of one event's readings begin so


class ConditionError(ValueError):
    """`position` counts characters from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (at character {position + 1})")
        self.position = position


class Token(NamedTuple):
    kind: str
    text: str
    position: int


class Subject(NamedTuple):
    family: str
    name: str


class Condition:
    """`names` are the readings it needs; `family` is set when one of them holds a `*`."""

    __slots__ = ("_run", "family", "names", "reads_events", "text", "tree")

    def __init__(self, text: str, tree: Any) -> None:
        self.text = text
        self.tree = tree
        self.names = tuple(dict.fromkeys(names_in(tree)))
        self.family = _one_family(self.names)
        self.reads_events = any(name.startswith(EVENT) for name in self.names)
        self._run = compile_tree(tree)

    @property
    def only_told(self) -> bool:
        """Whether it is about what others tell, and names nothing that is measured."""
        return self.reads_events and all(name.startswith(EVENT) for name in self.names)

    def evaluate(self, readings: Union[Mapping[str, Any], Lookup]) -> Verdict:
        """The condition's verdict; None when what is known does not settle it."""
        if self.family is not None:
            raise ValueError(f"{self.text!r} is about every {self.family}: bind it to one first")
        return self._run(readings.get if isinstance(readings, Mapping) else readings)

    def bind(self, name: str) -> Condition:
        if self.family is None:
            return self
        tree = rename_tree(self.tree, lambda key: _bound(key, name))
        return Condition(str(tree), tree)

    def about_event(self, key: str) -> Condition:
        tree = rename_tree(self.tree, lambda name: _of_event(name, key))
        return Condition(str(tree), tree)

    def bindings(self, keys: Iterable[str]) -> list[str]:
        """What `*` may stand for, given the names of all readings."""
        if self.family is None:
            return []
        parts = (split(key) for key in keys)
        return sorted({middle for family, middle, _ in parts if family == self.family and middle and middle != "*"})

    @property
    def subject(self) -> Optional[Subject]:
        """The subject of the condition, set when all names that have one share it (bound conditions included)."""
        if self.family is not None:
            return None
        parts = map(split, self.names)
        subjects = {Subject(family, middle) for family, middle, _ in parts if family in FAMILIES and middle}
        return subjects.pop() if len(subjects) == 1 else None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"


def without_event(text: str) -> str:
    """The inverse of `about_event`."""
    return ONE_EVENT.sub(EVENT, text)


# -- reading text -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def parse(text: str) -> Condition:
    if len(text) > MAX_LENGTH:
        raise ConditionError(f"a condition has at most {MAX_LENGTH} characters", MAX_LENGTH)
    return Condition(text, _ConditionParser(text).read())


@lru_cache(maxsize=4096)
def reread(text: str) -> Optional[Condition]:
    """What was stored of a condition that held, bound to a name of any length. None: an older version wrote what cannot
    be read."""
    try:
        return Condition(text, _ConditionParser(text).read())
    except ConditionError:
        return None


def _tokens(text: str) -> list[Token]:
    tokens, position = [], 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise ConditionError(_explain(text, position), position)
        if match.lastgroup != "space":
            tokens.append(Token(str(match.lastgroup), match.group(), position))
        position = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


def _explain(text: str, position: int) -> str:
    char = text[position]
    if char == "=":
        return "use == to compare"
    if char in "\"'":
        return "this text is not closed"
    if char.isdigit():
        return "this is not a number"
    return f"{char!r} cannot stand here"


class _ConditionParser:
    """Recursive descent, bounded in depth and number of comparisons."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0
        self.comparisons = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.token
        self.at += token.kind != "end"
        return token

    def word(self, *words: str) -> bool:
        return self.token.kind in ("name", "bracket") and self.token.text in words

    def read(self) -> Any:
        tree = self.several("or")
        if self.token.kind != "end":
            raise ConditionError(f"{self.token.text!r} is one too many", self.token.position)
        if not names_in(tree):
            raise ConditionError("this names nothing that is measured", 0)
        return tree

    def several(self, word: str) -> Any:
        part = self.part if word == "and" else lambda: self.several("and")
        parts = [part()]
        while self.word(word):
            self.take()
            parts.append(part())
        return parts[0] if len(parts) == 1 else Several(word, tuple(parts))

    def part(self) -> Any:
        if not self.word("not", "("):
            return self.comparison()
        opening = self.take()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ConditionError(f"nested more than {MAX_DEPTH} deep", opening.position)
        if opening.text == "not":
            inner: Any = Not(self.part())
        else:
            inner = self.several("or")
            if not self.word(")"):
                raise ConditionError("this bracket is not closed", opening.position)
            self.take()
        self.depth -= 1
        return inner

    def comparison(self) -> Comparison:
        left = self.operand()
        symbol = self.take()
        if symbol.kind != "operator":
            raise ConditionError("a comparison (==, !=, >, >=, <, <=) is expected here", symbol.position)
        right = self.operand()
        if self.token.kind == "operator":
            raise ConditionError("comparisons are joined with `and`", self.token.position)
        orders = symbol.text not in ("==", "!=")
        if orders and any(isinstance(getattr(side, "value", None), str) for side in (left, right)):
            raise ConditionError("text has no order: compare it with == or !=", symbol.position)
        self.comparisons += 1
        if self.comparisons > MAX_COMPARISONS:
            raise ConditionError(f"more than {MAX_COMPARISONS} comparisons", symbol.position)
        return Comparison(left, symbol.text, right)

    def operand(self) -> Union[Name, Literal]:
        token = self.take()
        if token.kind == "number":
            value = float(token.text)
            if value in (float("inf"), float("-inf")):
                raise ConditionError("this number is too large", token.position)
            return Literal(value)
        if token.kind == "text":
            return Literal(token.text[1:-1])
        if token.kind == "name" and token.text not in ("and", "or", "not"):
            return Name(_checked(token))
        raise ConditionError("a name, a number or a text is expected here", token.position)


def _checked(token: Token) -> str:
    """The checked name, without the quotes around its middle part."""
    quoted = QUOTED.fullmatch(token.text)
    if quoted is not None and quoted[2] != "*":
        return key_of(quoted[1], quoted[2].replace('""', '"'), quoted[3])
    family, middle, attribute = split(token.text.replace('"', ""))
    if token.text.endswith(".") or ".." in token.text or (not attribute and "." in token.text):
        raise ConditionError("a name has no empty parts", token.position)
    if "*" in (family + attribute) or ("*" in middle and (middle != "*" or family not in FAMILIES)):
        raise ConditionError(f"* stands for a whole {', '.join(FAMILIES)} name only", token.position)
    if middle:
        return key_of(family, middle, attribute)
    return f"{family}.{attribute}" if attribute else family


def _one_family(names: Iterable[str]) -> Optional[str]:
    families = {family for family, middle, _ in map(split, names) if middle == "*"}
    if len(families) > 1:
        raise ConditionError(f"one condition, one kind of *: here it is {' and '.join(sorted(families))}", 0)
    return families.pop() if families else None


def _bound(key: str, name: str) -> str:
    family, middle, attribute = split(key)
    return key_of(family, name, attribute) if middle == "*" else key


def _of_event(name: str, key: str) -> str:
    return f"{EVENT}{key}.{name[len(EVENT) :]}" if name.startswith(EVENT) else name
