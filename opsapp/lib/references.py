"""References in a document: `${NAME}` for a variable of the environment, `${file:PATH}` for a file's text.

They may stand in any text except a `script` or a `command`, where `${...}` is the shell's. `$${NAME}` stands for the
text `${NAME}` itself. Must not: read anything; callers resolve them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from .placeholders import PLACE

Place = tuple[str, ...]
Seen = Callable[[Place, str], str]  # what becomes of the text in a place

REFERENCE = re.compile(r"\$(\$?)\{(file:[^{}]+|[A-Za-z_][A-Za-z0-9_]*)\}")
_WRITTEN = re.compile(r"(?=\$\{(?:file:[^{}]+|[A-Za-z_][A-Za-z0-9_]*)\})")
SHELL = ("script", "command")


def rewritten(value: Any, seen: Seen, place: Place = ()) -> Any:
    """The value with every text that may hold a reference as `seen` says. What has none stays the same object."""
    kind = type(value)
    if kind is str:
        return seen(place, value) if "$" in value or "{{" in value else value
    if kind is dict:
        parts = {
            name: part if name in SHELL else rewritten(part, seen, (*place, str(name))) for name, part in value.items()
        }
        return parts if any(parts[name] is not part for name, part in value.items()) else value
    if kind is list:
        items = [rewritten(part, seen, (*place, str(n))) for n, part in enumerate(value)]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def resolved(text: str, value_of: Callable[[str], str]) -> str:
    """What is written as `$${NAME}` stays as it is written."""
    return REFERENCE.sub(lambda match: match[0] if match[1] else escaped(value_of(match[2])), text)


def names_in(text: str) -> Iterator[str]:
    """`NAME` and `file:PATH` of the references in it."""
    return (match[2] for match in REFERENCE.finditer(text) if not match[1])


def plain(text: str) -> str:
    """What was written as `$${NAME}`, as it is meant."""
    return REFERENCE.sub(lambda match: match[0].removeprefix("$") if match[1] else match[0], text)


def escaped(text: str) -> str:
    """The text as a document writes it, so that nothing in it is read as a reference."""
    return _WRITTEN.sub("$", text) if "${" in text else text


def escaped_in(value: Any) -> Any:
    """Nearly always nothing is to be done: that is seen first, for thousands."""
    return rewritten(value, lambda _, text: escaped(text)) if _has_dollar(value) else value


def _has_dollar(value: Any) -> bool:
    for part in value.values() if type(value) is dict else value:
        kind = type(part)
        if (kind is str and "$" in part) or ((kind is dict or kind is list) and part and _has_dollar(part)):
            return True
    return False


def with_secrets(text: str, values: Mapping[str, str]) -> str:
    """`{{secret:NAME}}` filled in, of those that are known."""
    return PLACE.sub(lambda match: values.get(match[2], match[0]) if match[1] == "secret" else match[0], text)


# -- what of a text with references may be shown

_ANY = r"\{\{secret:[^{}]*\}\}"
_ONLY = re.compile(rf"(?:\$\{{(?:file:[^{{}}]+|[A-Za-z_][A-Za-z0-9_]*)\}}|{_ANY})+")
_USER = re.compile(rf"(?<=://)(?P<user>[^\s:/@{{}}]+)(?=:(?:{_ANY})@)")


def is_only(text: str) -> bool:
    """Whether there is nothing in it but references."""
    return _ONLY.fullmatch(text) is not None


class Masked(NamedTuple):
    """A secret's name stands for each reference, and for a user name whose password is one: `lib.addresses` lets names
    be seen."""

    text: str
    parts: tuple[str, ...]

    def unmasked(self, text: str) -> str:
        for number in reversed(range(len(self.parts))):
            text = text.replace(_name(number), self.parts[number])
        return text


def masked(text: str) -> Masked:
    parts: list[str] = []

    def named(part: str) -> str:
        parts.append(part)
        return _name(len(parts) - 1)

    text = REFERENCE.sub(lambda match: match[0] if match[1] else named(match[0]), text)
    text = _USER.sub(lambda match: named(match[0]), text)
    return Masked(text, tuple(parts))


def _name(number: int) -> str:
    return f"{{{{secret:reference-{number}}}}}"
