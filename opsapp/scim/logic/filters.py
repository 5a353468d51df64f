"""The filters that providers send to find one user or group: `userName eq "…"`, joined by `and`. Any other is refused:
a filter that is passed over would answer with somebody else."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from .given import ScimRefused, unquoted
from .operations import CORE

CLAUSE = re.compile(r'\s*([A-Za-z][\w.:$-]*)\s+eq\s+("(?:[^"\\]|\\.)*")\s*(and\b|$)', re.IGNORECASE)
LONGEST = 2000


class WantedValue(NamedTuple):
    """`attribute` in small letters."""

    attribute: str
    value: str


def wanted_in(text: str, known: Collection[str]) -> list[WantedValue]:
    at, wanted = 0, list[WantedValue]()
    while not wanted or at < len(text):
        match = CLAUSE.match(text, at) if len(text) <= LONGEST else None
        if match is None:
            raise _refusal(known)
        attribute, value, joint = match.groups()
        wanted.append(WantedValue(CORE.sub("", attribute).lower(), unquoted(value)))
        at = match.end()
        if joint and at == len(text):
            raise _refusal(known)
    if any(part.attribute not in known for part in wanted):
        raise _refusal(known)
    return wanted


def _refusal(known: Collection[str]) -> ScimRefused:
    examples = ", ".join(f'{attribute} eq "…"' for attribute in sorted(known))
    return ScimRefused("invalidFilter", f"Supported are the filters {examples}, joined by and.")
