"""Stage 5, ledger: the record of every outcome, its place in the chain, and what the records say about an action."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from opsapp.healing.logic import bounds, chain
from opsapp.healing.logic.rules import names_of

from .case import CaseRecord

STATES = ("planned", "awaiting_approval", "executing", "settling", "verifying", "final")
OUTCOMES = (
    "verified",
    "failed",
    "inconclusive",
    "rolled_back",
    "notified",
    "suppressed",
    "absorbed",
    "observed",
    "simulated",
    "rejected",
    "expired",
    "withdrawn",
    "skipped",
    "lost",
)
COUNTED = ("verified", "failed", "rolled_back")  # what effectiveness and trust are made of, when it was executed


def opened(case: CaseRecord, *, entry_id: int, rule_id: str, created_at: float, **fields: Any) -> dict[str, Any]:
    """A record as it begins: the intent. `fields` are what planning knows (action, step, risk, trust level)."""
    return {
        "id": entry_id,
        "case_id": case.id,
        "correlation_key": names_of(case.target)[0],
        "rule_id": rule_id,
        "condition": case.about.condition,
        "target": case.target,
        "action_type": "",
        "action_params": "{}",
        "escalation_step": case.step,
        "action_success": 0,
        "verified": 0,
        "duration_s": 0.0,
        "trust_level": "",
        "source": case.about.source,
        "created_at": int(created_at),
        "state": "planned",
        "outcome": None,
        "events": 0,
        "reason": "",
        "risk": None,
        "approval_id": None,
        "snapshot_id": None,
        "rollback_status": None,
        "rolls_back": None,
        "executed": False,
        "metrics_before": {},
        "metrics_after": {},
        "finished_at": None,
        "prev_hash": None,
        "hash": None,
        **fields,
    }


def params_text(params: Mapping[str, Any]) -> str:
    """Parameters as the record shows them: what was left out is left out."""
    return json.dumps({name: value for name, value in params.items() if value is not None}, sort_keys=True)


def final(
    entry: Mapping[str, Any], *, outcome: str, reason: str, now: float, previous: str, key: bytes = b"", **fields: Any
) -> dict[str, Any]:
    """The record as it stays: with its outcome and its link in the chain."""
    record = {
        **entry,
        **fields,
        "state": "final",
        "outcome": outcome,
        "reason": reason,
        "finished_at": int(now),
        "verified": int(outcome == "verified"),
        "prev_hash": previous,
    }
    return {**record, "hash": chain.link(previous, record, key)}


def judged(entry: Mapping[str, Any]) -> str:
    """What trust and statistics go by: what was taken back while nobody knew whether it helped is no failure."""
    return str(entry.get("verdict") or entry["outcome"])


def counts(entry: Mapping[str, Any]) -> tuple[int, int]:
    """(verified, total) that a final record adds to the statistics of its action and condition."""
    if not entry["executed"] or judged(entry) not in COUNTED:
        return 0, 0
    return entry["verified"], 1


def effectiveness(action_type: str, condition: str, verified: int, total: int) -> dict[str, Any]:
    bound = bounds.wilson(verified, total)
    return {
        "action_type": action_type,
        "condition": condition,
        "total": total,
        "verified": verified,
        "failed": total - verified,
        "success_rate": None if total == 0 else round(100 * verified / total, 2),
        "lower_bound": None if bound is None else round(100 * bound, 2),
    }
