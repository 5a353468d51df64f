"""What of healing is told to who is in a team (`web.sight`): nothing that may name what the team does not see. A host
or monitor that it sees may be held back by others, made worse together with others, or healed in a wave of others.

What is known to name nothing is told; the rest is left out, whatever it says. Must not: decide who sees what.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from opsapp.agents.engine import subject
from opsapp.healing.answers import CaseShown, LedgerEntryShown
from opsapp.healing.logic.chain import LedgerVerdict
from opsapp.healing.logic.gates import CaseGate
from opsapp.healing.logic.reasons import stable_word
from opsapp.healing.records import RuleRecord
from opsapp.runtime.events import Event

PLAIN = (
    "the condition is known false",
    "the condition still holds",
    "stale: nothing fresh was reported",
    "the condition is unknown",
    "the condition comes and goes",
)
WORSE = "worse"
WHOLE = ("held", "level", "approval", "snapshot", "execute", "confirm", "rollback")  # gates that name nothing else
BY_REASON = ("plan", "step", "not_begun", "verdict", "outcome")  # whose detail is a reason
UNTOLD = ("said", "cause")  # gates of free text

IsSeen = Callable[[str], bool]  # of a request, by its id


def reason_without_names(text: str) -> str:
    if text in PLAIN:
        return text
    return WORSE if text.startswith(WORSE) else stable_word(text)


def entry(shown: LedgerEntryShown, is_seen: IsSeen) -> LedgerEntryShown:
    approval_id = shown.approval_id if shown.approval_id and is_seen(shown.approval_id) else None
    return replace(
        shown, reason=reason_without_names(shown.reason), worse=(), lowered=None, cause=None, approval_id=approval_id
    )


def event(told: Event) -> Event:
    """An entry as an event tells it."""
    reason = reason_without_names(told.data.get("reason", ""))
    left = dict.fromkeys(("lowered", "cause", "approval_id"))
    return told._replace(data={**told.data, **left, "worse": [], "reason": reason})


def case(shown: CaseShown, seen: Collection[str], is_seen: IsSeen) -> CaseShown:
    """`seen`: the hosts and monitors that the team sees."""
    known = shown.agent_id is not None and subject(shown.agent_id) in seen
    return replace(
        shown,
        agent_id=shown.agent_id if known else None,
        why=(),
        lowered=None,
        wave=None,
        cause=None,
        gates=tuple(_gates(shown.gates)),
        entries=tuple(entry(written, is_seen) for written in shown.entries),
        records=(),
    )


def verdict(checked: LedgerVerdict, own: int) -> LedgerVerdict:
    """Of the whole chain. `own`: how many of its entries the team sees."""
    return LedgerVerdict(checked.valid, own, None, head=checked.head)


def rule(told: RuleRecord) -> RuleRecord:
    """Its description is free text, and one that holds everywhere may speak of anybody's."""
    return replace(told, description="")


def _gates(gates: Iterable[CaseGate]) -> Iterable[CaseGate]:
    for gate in gates:
        if gate.gate in WHOLE:
            yield gate
        elif gate.gate not in UNTOLD and not (gate.gate == "root_cause" and gate.detail):
            detail = reason_without_names(gate.detail) if gate.gate in BY_REASON else ""
            yield replace(gate, detail=detail)
