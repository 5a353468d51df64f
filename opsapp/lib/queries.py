"""What many lists are asked with. A query is a record of its settings (`wire.records`), each with a default.

Must not: know a list.
"""

from __future__ import annotations

from typing import Annotated

from opsapp.lib.problems import Invalid
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Text
from opsapp.wire.records import Between

At = Annotated[int, Between(0, 10**10)]


@frozen
class PageQuery:
    limit: Annotated[int | None, Between(1, 1000)] = None
    offset: Annotated[int, Between(0, 10**9)] = 0


@frozen
class LongQuery(PageQuery):
    """The query of a list that grows with the years."""

    limit: Annotated[int, Between(1, 1000)] = 100


@frozen
class NameQuery(PageQuery):
    q: Annotated[str | None, Text(0, 200)] = None

    def has(self, name: str) -> bool:
        return (self.q or "").casefold() in name.casefold()


@frozen
class SpanQuery(PageQuery):
    since: At | None = None
    until: At | None = None

    def span(self, now: float, usual_s: float, longest_s: float) -> tuple[float, float]:
        """From when until when; Invalid for one that is longer than there is an answer to."""
        since = now if self.since is None else self.since
        until = since + usual_s if self.until is None else self.until
        if since <= until <= since + longest_s:
            return since, until
        problem = "must not be before since" if until < since else f"must be at most {longest_s / 86400:g} days later"
        raise Invalid({"until": problem})
