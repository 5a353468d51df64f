"""`{{input:name}}` and `{{secret:name}}`: which ones a text has, and the text with values in their place.

In scripts and commands a placeholder becomes a reference to an environment variable (`shelltext`): no value is ever
part of a program's text. In a URL the value's reserved characters are encoded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from opsapp.lib.placeholders import PLACE, places

from . import shelltext

NAMED = 5  # mistakes of a script that are named; the author sees the others after these


class Missing(ValueError):
    """A place cannot be filled."""


def variable(kind: str, name: str) -> str:
    """The variable for a reference; names that differ never share one."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    mark = "" if plain == name else "_" + hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"OPSAPP_{kind.upper()}_{plain}{mark}"


def script_problem(text: str, shell: str | None) -> str | None:
    """`shell` is the one that reads it, None another program."""
    if shell is None:
        place = PLACE.search(text)
        return _not_a_shell(place[0]) if place else None
    wrong = shelltext.rewrite(text, variable).wrong
    return "; ".join(str(problem) for problem in wrong[:NAMED]) or None


def _not_a_shell(place: str) -> str:
    return (
        f"{place} can be used in a script of a shell ({', '.join(shelltext.SHELLS)}) only. Another program reads the "
        "environment: an input is there as OPSAPP_INPUT_NAME, a secret under the name that `env` gives it"
    )


def begins_with_a_secret(text: str) -> bool:
    first = PLACE.match(text)
    return bool(first and first[1] == "secret")


def with_a_word(text: str) -> str:
    """The text with a harmless word in every place, for judging its form."""
    return PLACE.sub("1", text)


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Values:
    def __init__(self, inputs: Mapping[str, Any], secrets: Mapping[str, str]):
        self._known = {("input", name): text_of(value) for name, value in inputs.items()}
        self._known.update({("secret", name): value for name, value in secrets.items()})

    def _put(self, text: str, form: Callable[[str], str]) -> str:
        return PLACE.sub(lambda match: form(self._value((match[1], match[2]))), text)

    def script(self, text: str, shell: str | None) -> tuple[str, dict[str, str]]:
        """The script with references in its places, and the variables that they refer to. Missing as well: placeholders
        that stand where they cannot be filled in safely."""
        problem = script_problem(text, shell)
        if problem:
            raise Missing(f"its placeholders cannot be filled in safely: {problem}")
        env = {variable(*place): self._value(place) for place in sorted(places(text))}
        return (text if shell is None else shelltext.rewrite(text, variable).text), env

    def inputs(self) -> dict[str, str]:
        """Every input as a program finds it in its environment."""
        return {f"OPSAPP_INPUT_{name.upper()}": value for (kind, name), value in self._known.items() if kind == "input"}

    def _value(self, place: tuple[str, str]) -> str:
        if place not in self._known:
            raise Missing(f"there is no {place[0]} {place[1]}")
        return self._known[place]

    def plain(self, text: str) -> str:
        return self._put(text, str)

    def line(self, text: str) -> str:
        """The text for a header: a value cannot begin a new line."""
        return re.sub(r"[\r\n\0]+", " ", self.plain(text))

    def url(self, text: str) -> str:
        """A secret that begins the text is taken for a whole address; everything else is encoded."""
        first = PLACE.match(text)
        if first and begins_with_a_secret(text):
            return self.plain(first[0]) + self.url(text[first.end() :])
        return self._put(text, lambda value: quote(value, safe=""))

    def everywhere(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.plain(value)
        if isinstance(value, Mapping):
            return {name: self.everywhere(part) for name, part in value.items()}
        return [self.everywhere(part) for part in value] if isinstance(value, list | tuple) else value
