"""What somebody chooses from: values of a field, other views of a page. Plain values. Must not: know a page."""

from __future__ import annotations

from typing import NamedTuple


class PickOption(NamedTuple):
    """A value of a field, by its name."""

    id: str
    name: str
    about: str = ""


class LinkChoice(NamedTuple):
    """A link to the same page with something else asked of it."""

    name: str
    href: str
    chosen: bool = False
