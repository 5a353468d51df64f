"""What a provider sends, read with care: names of attributes without case, booleans that came as text (Entra ID)."""

from __future__ import annotations

import json
from collections.abc import Iterator

from opsapp.lib.problems import Malformed
from opsapp.lib.visible import visible

LONGEST = 256
MOST_ROWS = 5000
FLAGS = {"true": True, "false": False}


class ScimRefused(Malformed):
    """`scim_type`: one of RFC 7644, table 9."""

    code = "scim_refused"

    def __init__(self, scim_type: str, message: str):
        super().__init__(message, scim_type=scim_type)


class GivenObject:
    """A JSON object of which nothing is known yet."""

    def __init__(self, value: object, what: str = "The body"):
        if not isinstance(value, dict):
            raise ScimRefused("invalidSyntax", f"{what} must be a JSON object.")
        self._values = {str(name).lower(): member for name, member in value.items()}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def __iter__(self) -> Iterator[tuple[str, object]]:
        return iter(self._values.items())

    def get(self, name: str) -> object:
        return self._values.get(name.lower())

    def text(self, name: str) -> str | None:
        return text_of(self.get(name), name)


def text_of(value: object, name: str) -> str | None:
    """None for what is empty."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise ScimRefused("invalidValue", f"{name} must be text.")
    if len(value) > LONGEST or not value.strip():
        raise ScimRefused("invalidValue", f"{name} must have 1 to {LONGEST} characters.")
    return visible(value).strip().encode("utf-8", "replace").decode()


def flag_of(value: object, name: str) -> bool:
    flag = FLAGS.get(value.lower()) if isinstance(value, str) else value
    if not isinstance(flag, bool):
        raise ScimRefused("invalidValue", f"{name} must be true or false.")
    return flag


def rows_of(value: object, name: str) -> list[GivenObject]:
    """One object stands for a list of one."""
    rows = value if isinstance(value, list) else [] if value is None else [value]
    if len(rows) > MOST_ROWS:
        raise ScimRefused("tooMany", f"{name} has more than {MOST_ROWS} entries. Send them in parts.")
    return [GivenObject(row, f"An entry of {name}") for row in rows]


def unquoted(text: str) -> str:
    """A string as filters and paths have it: that of JSON."""
    try:
        return str(json.loads(text))
    except ValueError:
        raise ScimRefused("invalidValue", "A text in quotes cannot be read.") from None
