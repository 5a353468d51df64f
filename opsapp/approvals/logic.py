"""Who may decide, when votes settle a request, and the hash of its plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from opsapp.lib.jsontypes import JsonObject

from .records import Vote


def plan_hash(plan: JsonObject) -> str:
    """Exactly this plan is approved."""
    return hashlib.sha256(json.dumps(plan, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def may_decide(
    name: str, role: str | None, *, approvers: Sequence[str], own: str | None, approving: bool, strict: bool
) -> str | None:
    """Why not. `own`: somebody else has to approve then, but for an admin, unless `strict`."""
    is_admin = role == "admin"
    if approvers and not is_admin and name not in approvers:
        return "You are not among this request's approvers."
    return own if approving and (strict or not is_admin) else None


def settled(votes: Sequence[Vote], quorum: int) -> str | None:
    """Enough yes, or the first no."""
    if any(vote.vote == "reject" for vote in votes):
        return "rejected"
    return "approved" if len({vote.username for vote in votes}) >= quorum else None
