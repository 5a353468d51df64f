"""What can go wrong in the domain, without any idea of HTTP.

`opsapp.web.errors` alone knows each one's status. `code` is stable and for programs, the message is for people.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

MOST_FIELDS = 50  # that one answer names
_ENTRY = re.compile(r"(?<=.)(\.\d+)+$")


class Problem(Exception):
    """The base: something that the caller has to be told."""

    code = "problem"

    def __init__(self, message: str, *, code: str | None = None, **details: Any):
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.details = details


class Malformed(Problem):
    """It cannot be read at all."""

    code = "malformed"


class Invalid(Problem):
    """Values are wrong, missing or unknown; `fields` names the first MOST_FIELDS of them, and the message says how many
    more there are."""

    code = "invalid"

    def __init__(self, fields: dict[str, str], message: str | None = None, **details: Any):
        named = islice(fields.items(), MOST_FIELDS)
        self.fields = {_sayable(name): _sayable(problem) for name, problem in named}
        text = message or "Some values are not valid: " + ", ".join(sorted(self.by_field()))
        more = len(fields) - MOST_FIELDS
        super().__init__(f"{text} and {more} more" if more > 0 else text, **details)

    def by_field(self) -> dict[str, str]:
        """An entry of a list is no field of its own: its number goes into the message."""
        messages: dict[str, str] = {}
        for path, message in self.fields.items():
            name = _ENTRY.sub("", path)
            if name != path:
                message = f"entry {int(path[len(name) + 1 :].partition('.')[0]) + 1}: {message}"
            messages[name] = f"{messages[name]}; {message}" if name in messages else message
        return messages


def _sayable(text: str) -> str:
    """JSON can name an unknown field by half a character, which no answer can repeat."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class Unauthenticated(Problem):
    code = "unauthenticated"


class Forbidden(Problem):
    code = "forbidden"


class NotFound(Problem):
    code = "not_found"


class WrongMethod(Problem):
    """The thing exists, but cannot be asked this way; details: `allow`."""

    code = "method_not_allowed"


class Conflict(Problem):
    """Well formed, but the present state forbids it."""

    code = "conflict"


class Gone(Problem):
    code = "gone"


class PreconditionFailed(Problem):
    """The condition that the request names does not hold or cannot be checked."""

    code = "precondition_failed"


class TooLarge(Problem):
    code = "too_large"


class BeyondTheEnd(Problem):
    """A part of something that has no such part; details: `size`."""

    code = "range_not_satisfiable"


class UnsupportedType(Problem):
    code = "unsupported_type"


class TooMany(Problem):
    """Details: `retry_after` in seconds."""

    code = "too_many_requests"


class Unavailable(Problem):
    """It cannot be done now (store away, agent offline); details: `retry_after` in seconds."""

    code = "unavailable"


class StoreAway(Unavailable):
    code = "store_unavailable"

    def __init__(self, message: str = "The store is out of reach. Nothing was changed."):
        super().__init__(message, retry_after=2)


class StoreFull(StoreAway):
    code = "store_full"

    def __init__(self) -> None:
        super().__init__("The disk of the store is full. Nothing was changed.")


class Unreadable(Problem):
    """One object of the store is damaged."""

    code = "unreadable"

    def __init__(self, what: str, reason: str):
        super().__init__(
            f"{what} cannot be read: its object in the store is damaged ({reason}). Everything else works. `opsapp "
            "doctor` names all damaged objects; a backup from before has it."
        )


class Unopened(Unavailable):
    """One object of the store has a sealed part that this node cannot open; `name` is what people call it."""

    def __init__(self, message: str, *, code: str, name: str = ""):
        super().__init__(message, code=code)
        self.name = name


class OutcomeUnknown(Unavailable):
    """The commit broke off: it may have been stored or not. Ask before you repeat."""

    code = "outcome_unknown"

    def __init__(
        self, message: str = "The connection to the store was lost during the save: check whether the change is there."
    ):
        super().__init__(message, retry_after=2)


class NotOffered(Problem):
    """A standard has it, and this service does not."""

    code = "not_offered_here"


class UpstreamFailed(Problem):
    """Another machine that we asked did not do it (a deployment's step, an identity provider)."""

    code = "upstream_failed"
