"""Pages of what is over, as `opsapp export --archive` writes them before it is forgotten; each in a transaction of its
own. Must not: hold anything that a viewer may not see of an address.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject

PAGE = 200


class ArchivePage(NamedTuple):
    """`after`: asked with for the next page, None at the end. `about`, with the first page: what checks the rows."""

    rows: list[JsonObject]
    after: str | None
    unreadable: int = 0
    about: JsonObject = {}
