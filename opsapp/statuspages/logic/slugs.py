"""What a page of its own may be called in its address, /status/{slug}. Pure."""

from __future__ import annotations

from opsapp.wire.kinds import Text

SLUG = Text(1, 50, "[a-z0-9]+(-[a-z0-9]+)*", "customers: small letters, digits and - between them")
TAKEN = frozenset(
    ("badge", "calendar", "confirm", "history", "incidents", "logo", "monitors", "public", "status", "subscribe",
     "theme", "unsubscribe")
)  # fmt: skip


def slug_problem(slug: str) -> str | None:
    return "is the name of a part of the page of all" if slug in TAKEN else None
