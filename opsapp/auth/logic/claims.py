"""What an identity provider's claims mean here: the role, and a new user's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.provisioned import GroupName

HIGHEST_FIRST = ("admin", "operator", "viewer")
LONGEST = 64


def values_at(claims: JsonObject, path: str) -> list[str]:
    """One or a list. A dotted path leads into objects; a name with dots of its own (a URL) is found as it is."""
    claim: Any = claims
    for step in (path,) if path in claims else path.split("."):
        claim = claim.get(step) if isinstance(claim, Mapping) else None
    values = claim if isinstance(claim, list) else [claim]
    return [value for value in values if isinstance(value, str)]


def mapped_role(values: list[str], role_map: Mapping[str, str | None]) -> str | None:
    return next((role for role in HIGHEST_FIRST if role_map.get(role) is not None and role_map[role] in values), None)


def role_by_groups(groups: Iterable[GroupName], role_map: Mapping[str, Collection[str]]) -> str | None:
    """The highest that one of a provider's groups gives."""
    known = list(groups)
    return next((role for role in HIGHEST_FIRST if any(group.is_one_of(role_map[role]) for group in known)), None)


def username_for(claims: JsonObject, is_taken: Callable[[str], bool]) -> str:
    names = (claims.get(claim) for claim in ("preferred_username", "email", "sub"))
    name = next((clean for clean in (_clean(claim) for claim in names) if clean), "user")
    candidate, n = name, 1
    while is_taken(candidate):
        n += 1
        candidate = f"{name[: LONGEST - len(str(n)) - 1]}-{n}"
    return candidate


def _clean(name: Any) -> str:
    if not isinstance(name, str):
        return ""
    return re.sub(r"[^a-z0-9._@-]+", "-", name.lower()).lstrip("-._@")[:LONGEST]
