"""The hash chain over final ledger entries, in the order in which they became final."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

GENESIS = "0" * 64


def link(previous: str, entry: Mapping[str, Any]) -> str:
    """The hash of a final entry: over everything in it but its own hash, and over the one before."""
    content = {name: value for name, value in entry.items() if name not in ("hash", "prev_hash", "rollback_status")}
    text = json.dumps([previous, content], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def verify(entries: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Walk the chain: `first_bad` is the id of the first entry whose link is wrong."""
    previous, count = GENESIS, 0
    for entry in entries:
        if entry["prev_hash"] != previous or entry["hash"] != link(previous, entry):
            return {"valid": False, "entries": count, "first_bad": entry["id"]}
        previous, count = entry["hash"], count + 1
    return {"valid": True, "entries": count, "first_bad": None}
