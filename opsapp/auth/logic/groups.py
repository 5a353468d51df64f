"""The name of a group of a directory or provider, in the form in which it is compared with a team's groups. Pure."""

from __future__ import annotations

import json

from .directory import NormalDn, normal_dns


def group_key(name: str) -> str:
    """A DN is compared by its parts, any other name without case."""
    return next((dn_key(dn) for dn in normal_dns([name])), "") or named_key(name)


def named_key(name: str) -> str:
    return "name " + " ".join(name.casefold().split())


def dn_key(dn: NormalDn) -> str:
    return "dn " + json.dumps([sorted(part) for part in dn])
