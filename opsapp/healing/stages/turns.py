"""Whose turn it is on a host: one heal at a time, and none on old ground.

A case that has waited is looked at again before it acts. What it waited for may have cured it: two rules that see one
cause must not act twice. What is not known is no ground to act.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .world import Reading

OLD_S = 1.0  # a case that waited for longer acts only on a reading from after its wait
ACTS = ("executing", "settling", "verifying")


class Again(NamedTuple):
    """What follows: `go`, `ask` for a measurement, `wait` until `due`, or `end` with a reason."""

    kind: str
    reason: str = ""
    due: float = 0.0


GO = Again("go")


def is_taken(case_id: str, holder: Mapping[str, Any] | None, host: str) -> bool:
    """Whether another case acts on the host. `holder` is the one that began there last."""
    return holder is not None and holder["id"] != case_id and holder["state"] in ACTS and holder.get("host") == host


def settles_until(
    case_id: str, holder: Mapping[str, Any] | None, action: str, params: Mapping[str, Any], settle_s: float
) -> float:
    """Until when this deed, which has just been done on the host for another case, may still be working: as long as
    this case would have waited itself. 0 when nobody did it, or it did not help there either."""
    if holder is None or holder["id"] == case_id or holder.get("outcome") != "verified":
        return 0.0
    if (holder.get("action"), holder.get("params")) != (action, params):
        return 0.0
    return float(holder.get("acted_at") or 0.0) + settle_s


def look_again(case: Mapping[str, Any], reading: Reading, *, now: float, settled_at: float, patience: float) -> Again:
    """What is known of the ground of a case whose turn it is. `waits_from`: when it began to wait; `looks_from`: when a
    measurement was asked for; `settled_at`: a reading from before that says nothing."""
    waits_from, asked_at = case.get("waits_from"), case.get("looks_from")
    if settled_at > now:
        return Again("wait", "the same was just done for another case", settled_at)
    waited = waits_from is not None and now - waits_from > OLD_S
    if not (waited or asked_at is not None) or not case.get("subject"):
        return GO
    fresh = reading.measured_at is not None and reading.measured_at >= max(settled_at, asked_at or now - OLD_S)
    if fresh and reading.verdict is not None:
        return GO if reading.verdict else Again("end", "condition_gone")
    if asked_at is None:
        return Again("ask")
    if now - asked_at < patience:
        return Again("wait", "looked at again before it acts", now)
    return Again("end", "condition_unknown: " + ("the condition is unknown" if fresh else "nothing fresh was reported"))
