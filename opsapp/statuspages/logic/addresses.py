"""Checks the address of a subscriber, gives its one form, and shortens it for admins."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from opsapp.wire.urls import web_problem

MAIL, WEBHOOK = "mail", "webhook"
KINDS = (MAIL, WEBHOOK)
LONGEST = {MAIL: 254, WEBHOOK: 500}
_MAIL = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]([A-Za-z0-9-]{0,61}[A-Za-z0-9])"
)


def address_problem(kind: str, text: str) -> str | None:
    """Nothing that could become a header or a second recipient is an address."""
    if len(text) > LONGEST[kind]:
        return f"must be at most {LONGEST[kind]} characters"
    if kind == MAIL:
        sound = _MAIL.fullmatch(text) and len(text.partition("@")[0]) <= 64
        return None if sound else "must be a mail address like you@example.org"
    return web_problem(text, credentials=False)


def normalised(kind: str, text: str) -> str:
    """The same for addresses that reach the same place, as far as one can tell."""
    return text.casefold() if kind == MAIL else text


def shown(kind: str, text: str) -> str:
    """As much as tells an admin which it is, and nobody else whom to write to."""
    if kind == MAIL:
        name, _, host = text.partition("@")
        return f"{name[0]}…@{host}"
    return f"{urlsplit(text).scheme}://{urlsplit(text).hostname}/…"
