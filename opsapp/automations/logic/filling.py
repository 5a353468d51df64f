"""`{{input:name}}` and `{{secret:name}}`: which ones a text has, and the text with values in their place.

In scripts and commands a value becomes one word of the shell, whatever is in it; elsewhere it is put in as it is, and
in a URL with its reserved characters encoded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

PLACE = re.compile(r"\{\{\s*(input|secret):([A-Za-z0-9_.-]{1,64})\s*\}\}")


class Missing(ValueError):
    """There is no value for a place."""


def places(value: Any) -> set[tuple[str, str]]:
    """Every (kind, name) anywhere in this value."""
    if isinstance(value, str):
        return set(PLACE.findall(value))
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return {each for part in parts for each in places(part)}


def begins_with_a_secret(text: str) -> bool:
    first = PLACE.match(text)
    return bool(first and first[1] == "secret")


def with_a_word(text: str) -> str:
    """The text with a harmless word in every place, for judging its form."""
    return PLACE.sub("1", text)


def text_of(value: Any) -> str:
    """An input's value as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Values:
    """What places are filled with."""

    def __init__(self, inputs: Mapping[str, Any], secrets: Mapping[str, str]):
        self._known = {("input", name): text_of(value) for name, value in inputs.items()}
        self._known.update({("secret", name): value for name, value in secrets.items()})

    def _put(self, text: str, form: Callable[[str], str]) -> str:
        def value(found: re.Match[str]) -> str:
            place = (found[1], found[2])
            if place not in self._known:
                raise Missing(f"there is no {found[1]} {found[2]}")
            return form(self._known[place])

        return PLACE.sub(value, text)

    def shell(self, text: str) -> str:
        """For a script or a command: each value one quoted word."""
        return self._put(text, shlex.quote)

    def text(self, kind: str, name: str) -> str:
        return self._known[kind, name]

    def plain(self, text: str) -> str:
        return self._put(text, str)

    def line(self, text: str) -> str:
        """For a header: a value cannot begin a new line."""
        return re.sub(r"[\r\n\0]+", " ", self.plain(text))

    def url(self, text: str) -> str:
        """A secret that begins the text is taken for a whole address; everything else is encoded."""
        first = PLACE.match(text)
        if first and begins_with_a_secret(text):
            return self.plain(first[0]) + self.url(text[first.end() :])
        return self._put(text, lambda value: quote(value, safe=""))

    def everywhere(self, value: Any) -> Any:
        """All texts of a JSON value."""
        if isinstance(value, str):
            return self.plain(value)
        if isinstance(value, Mapping):
            return {name: self.everywhere(each) for name, each in value.items()}
        return [self.everywhere(each) for each in value] if isinstance(value, list | tuple) else value
