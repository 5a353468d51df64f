"""Stage 5, ledger: the record of every outcome, and what the records say about an action."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from opsapp.healing.logic import bounds, chain
from opsapp.healing.logic.rules import names_of
from opsapp.healing.logic.stakes import Lowered
from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.dataclass import frozen
from opsapp.wire.harms import Harm
from opsapp.wire.records import made, plain

from .attempt import CauseNamed
from .case import CaseRecord, Metrics

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


DECLARED: dict[str, type[CauseNamed | Lowered]] = {"cause": CauseNamed, "lowered": Lowered}
LATER = ("verdict", "worse", "subject", *DECLARED)  # fields that older versions did not have


class LedgerRecord(NamedTuple):
    """An outcome, or its intent. Its link in the chain is made over the stored mapping."""

    id: int
    case_id: str
    correlation_key: str
    rule_id: str
    condition: str
    target: str
    source: str
    created_at: int
    escalation_step: int
    action_type: str = ""
    action_params: str = "{}"
    action_success: int = 0
    verified: int = 0
    duration_s: float = 0.0
    trust_level: str = ""
    state: str = "planned"
    outcome: str | None = None
    events: int = 0  # for which it stands
    reason: str = ""
    risk: str | None = None
    approval_id: str | None = None
    snapshot_id: str | None = None
    rollback_status: str | None = None
    rolls_back: int | None = None
    executed: bool = False
    metrics_before: Metrics = {}
    metrics_after: Metrics = {}
    finished_at: int | None = None
    prev_hash: str | None = None
    hash: str | None = None
    verdict: str | None = None  # what was known before it was rolled back, where that was no failure
    worse: tuple[Harm, ...] = ()  # what the act made worse
    cause: CauseNamed | None = None  # as the host named it last
    lowered: Lowered | None = None  # as in the case
    subject: str | None = None  # what it is about, `agent:ID` or `monitor:ID`, where that is known here

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> LedgerRecord:
        """Older versions wrote fewer fields."""
        told = {name: stored[name] for name in cls._fields if name in stored}
        if told.get("worse"):
            told["worse"] = tuple(Harm(**harm) for harm in told["worse"])
        for name, record in DECLARED.items():
            if told.get(name) is not None:
                told[name] = made(record, told[name])
        return cls(**told)

    def stored(self) -> JsonObject:
        """What older versions did not have is left out where there is none: their entries keep their hash."""
        told = self._asdict()
        told["worse"] = tuple(map(plain, self.worse))
        for name in LATER:
            if not told[name]:
                del told[name]
        told.update((name, plain(told[name])) for name in DECLARED if name in told)
        return told

    @property
    def is_final(self) -> bool:
        return self.state == "final"


@frozen
class Effectiveness:
    """Nothing is known of what was never tried."""

    action_type: str
    condition: str
    total: int
    verified: int
    failed: int
    success_rate: float | None
    lower_bound: float | None


def opened(case: CaseRecord, *, entry_id: int, rule_id: str, created_at: float, **fields: Any) -> LedgerRecord:
    """The intent. `fields`: what planning knows."""
    intent = LedgerRecord(
        id=entry_id,
        case_id=case.id,
        correlation_key=names_of(case.target)[0],
        rule_id=rule_id,
        condition=case.about.rule_condition,
        target=case.target,
        source=case.about.source,
        created_at=int(created_at),
        escalation_step=case.step,
        subject=case.about.subject,
    )
    return intent._replace(**fields)


def params_text(params: JsonObject) -> str:
    """Without what was left out."""
    return json.dumps({name: value for name, value in params.items() if value is not None}, sort_keys=True)


def final(
    entry: LedgerRecord, *, outcome: str, reason: str, now: float, previous: str, key: bytes = b"", **fields: Any
) -> LedgerRecord:
    """The entry as it ends, with its outcome and its link."""
    ended = entry._replace(
        **fields,
        state="final",
        outcome=outcome,
        reason=reason,
        finished_at=int(now),
        verified=int(outcome == "verified"),
        prev_hash=previous,
    )
    return ended._replace(hash=chain.link(previous, ended.stored(), key))


def judged(entry: LedgerRecord) -> str:
    """What was taken back while nobody knew whether it helped is no failure."""
    return str(entry.verdict or entry.outcome)


def counts(entry: LedgerRecord) -> tuple[int, int]:
    """(verified, total) that a final record adds to the statistics."""
    if not entry.executed or judged(entry) not in COUNTED:
        return 0, 0
    return entry.verified, 1


def effectiveness(action_type: str, condition: str, verified: int, total: int) -> Effectiveness:
    bound = bounds.wilson(verified, total)
    return Effectiveness(
        action_type,
        condition,
        total,
        verified,
        total - verified,
        success_rate=None if total == 0 else round(100 * verified / total, 2),
        lower_bound=None if bound is None else round(100 * bound, 2),
    )
