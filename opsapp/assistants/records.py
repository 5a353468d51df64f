"""What an assistant proposes, as plain values: a deed that a person can allow, and what it would have done.

Must not: know who proposes, or what is stored.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from opsapp.lib.jsontypes import JsonObject

SHOWN = 10  # firings that a request shows
ACTION: Literal["action"] = "action"
RULE: Literal["rule"] = "rule"


@dataclass(frozen=True)
class ProposedDeed:
    """`plan` is what people allow, and nothing else: it is the plan of the request, bound by its digest. `needs`: the
    role that allows it. `risk`: that of its action."""

    what: Literal["action", "rule"]
    subject: str
    plan: JsonObject
    needs: str
    risk: str | None

    @property
    def digest(self) -> str:
        return digest_of(self.plan)


def digest_of(plan: JsonObject) -> str:
    """Equal proposals have the same one."""
    return hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()


def condensed(rehearsed: JsonObject, holds_now: JsonObject | None = None) -> JsonObject:
    """What a draft would have done, short enough for a request: counts, and the newest firings."""
    counts = ("from", "to", "total", "failures", "over_by_itself", "would_act", "why", "unknown_s")
    told: JsonObject = {name: rehearsed[name] for name in counts}
    firings: list[Any] = list(rehearsed["firings"])
    told["stopped_by"] = rehearsed["stopped_by"]
    told["expected_saved_minutes"] = rehearsed["expected_saved_minutes"]
    shown = ("at", "target", "lasted_s", "over_by_itself", "would", "blocked_by")
    told["firings"] = [{name: firing[name] for name in shown} for firing in firings[-SHOWN:]]
    return told if holds_now is None else {**told, "now": holds_now}
