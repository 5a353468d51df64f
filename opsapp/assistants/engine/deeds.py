"""What an assistant proposes: a deed that a person can allow, and what it would have done. Must not: know who proposes,
or what is stored."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

from opsapp.healing.records import NewRule
from opsapp.healing.whatif import Compared, Count, Rehearsed, SavedMinutes, StopCount
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import AnyValues
from opsapp.wire.records import AT_TIMES, SaidAs, plain

SHOWN = 10  # firings that a request shows
ACTION: Literal["action"] = "action"
RULE: Literal["rule"] = "rule"


@frozen(kw_only=True)
class ActionPlan:
    """`params` with defaults, as a heal's plan has them. `rule`: the one that carries it out."""

    what: Literal["action"] = ACTION
    action: str
    params: AnyValues
    host: str
    hostname: str
    target: str
    condition: str
    rollback: str | None
    rule: NewRule


@frozen(kw_only=True)
class RulePlan:
    what: Literal["rule"] = RULE
    rule: NewRule
    condition: str


@frozen
class RunPlan:
    """Only the digest of a run is kept here: its own request has the plan."""

    automation_id: str
    inputs: AnyValues
    what: Literal["run"] = "run"


@frozen
class ProposedDeed:
    """`plan` is what people allow, bound by its digest. `needs`: the role that allows it."""

    subject: str
    plan: ActionPlan | RulePlan
    needs: str
    risk: str | None


def digest_of(plan: ActionPlan | RulePlan | RunPlan) -> str:
    """Equal proposals have the same one."""
    return hashlib.sha256(json.dumps(plain(plan), sort_keys=True).encode()).hexdigest()


@frozen
class FiringInShort:
    at: Count
    target: str
    lasted_s: Count | None
    over_by_itself: bool | None
    would: str
    blocked_by: tuple[str, ...]


@frozen
class HoldsNow:
    holds: Count
    false: Count
    unknown: Count


@frozen
class PastInShort:
    since: Annotated[Count, SaidAs("from")]
    until: Annotated[Count, SaidAs("to")]
    total: Count | None
    failures: Count | None
    over_by_itself: Count | None
    would_act: Count | None
    why: str
    unknown_s: Count
    stopped_by: tuple[StopCount, ...]
    expected_saved_minutes: SavedMinutes | None
    firings: tuple[FiringInShort, ...]
    now: HoldsNow | None = None  # older proposals do not say it


def in_short(past: Rehearsed, now: Compared) -> PastInShort:
    firings = (
        FiringInShort(row.at, row.target, row.lasted_s, row.over_by_itself, row.would, row.blocked_by)
        for row in past.firings[-SHOWN:]
    )
    return PastInShort(
        past.since, past.until, past.total, past.failures, past.over_by_itself, past.would_act, past.why,
        past.unknown_s, past.stopped_by, past.expected_saved_minutes, tuple(firings),
        HoldsNow(now.holds, now.false, now.unknown),
    )  # fmt: skip


@frozen
class WouldRunOn:
    host: str


@frozen
class ProposalOpened:
    """What the assistant is told. `already`: an equal one waits."""

    request_id: str
    status: Literal["pending"]
    already: bool
    page: str
    run_id: Annotated[str, AT_TIMES] = ""
    would_run_on: Annotated[tuple[WouldRunOn, ...], AT_TIMES] = ()
