"""Who may decide, when a vote settles a request, and the hash that binds it to its plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any


def plan_hash(plan: Mapping[str, Any]) -> str:
    """What was approved is exactly this plan."""
    return hashlib.sha256(json.dumps(plan, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def may_decide(
    name: str, role: str | None, *, approvers: Sequence[str], requested_by: str, approving: bool
) -> str | None:
    """Why this person may not decide, or None. Everybody but an admin needs another's eyes on an own request."""
    if role == "admin":
        return None
    if approvers and name not in approvers:
        return "You are not among this request's approvers."
    if approving and name == requested_by:
        return "Nobody approves a request of their own."
    return None


def settled(votes: Sequence[Mapping[str, Any]], quorum: int) -> str | None:
    """`approved` once enough people said yes, `rejected` at the first no, None while it is open."""
    if any(vote["vote"] == "reject" for vote in votes):
        return "rejected"
    return "approved" if len({vote["username"] for vote in votes}) >= quorum else None
