"""`opsapp doctor --trace`: the ledger and the cases of a store, against the table of moves and against each other.

The chain shows what somebody without its key changed; this what no sound pipeline can have written, whoever holds
the key.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from opsapp.approvals.resources import approvals_of
from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.brake import HOUR
from opsapp.healing.logic.chain import DAY, FoldedLinks
from opsapp.healing.resources import healing_of, ledgercheck
from opsapp.healing.stages import moves
from opsapp.healing.stages.case import CaseRecord, ClosedCase
from opsapp.healing.stages.ledger import OUTCOMES, STATES, LedgerRecord
from opsapp.runtime.node import now_of
from opsapp.tree.root import Root

from . import trusted

SENT = re.compile(r"(snapshot|execute|confirm|rollback) of \S+ sent to ")
PLACES = {
    "snapshot": moves.TAKES_SNAPSHOT,
    "execute": moves.ACTS,
    "confirm": moves.CONFIRMS,
    "rollback": moves.ROLLS_BACK,
}
REFUSED = ("rejected", "expired", "withdrawn")
HARMLESS = ("suppressed", "absorbed", "observed", "simulated", "notified", "skipped")  # nothing was done
ENTRY_OF = {"awaiting_approval": "awaiting_approval", "settling": "settling", "verifying": "verifying"}


class Broken(NamedTuple):
    """Entry 0: none."""

    entry_id: int
    what: str


def trace(root: Root, key: bytes, settings: HealingSettings) -> list[Broken]:
    healing = healing_of(root)
    mark = healing.ledger.folded
    book = {number: entry.record for number, entry in healing.ledger.readable.some_items(healing.ledger.entries.keys())}
    kept = dict(healing.book.readable.some_items(healing.book.cases.keys()))
    cases = {case_id: case.record for case_id, case in kept.items()}
    knows_its_steps = {case_id for case_id, case in kept.items() if "tried" in case.fields}  # older versions: none
    approvals = {number: _approved(root, entry.approval_id) for number, entry in book.items()}
    broken = [*_chained(root, key)]
    for number, entry in book.items():
        broken += [Broken(number, what) for what in _entry(entry, approvals[number])]
        broken += [Broken(number, what) for what in _undone(entry, book, mark)]
    late = {number for case in cases.values() if isinstance(case, ClosedCase) for number in case.late.values()}
    by_case: dict[str, list[LedgerRecord]] = defaultdict(list)
    for number, entry in book.items():
        if entry.source != "agent" and entry.case_id and number not in late:
            by_case[entry.case_id].append(entry)
    for case_id, entries in by_case.items():
        broken += _steps(entries)
        if case_id in cases and not _is_folded(cases[case_id], mark):
            broken += _case(cases[case_id], entries, knows_its_steps=case_id in knows_its_steps)
    for case_id, case in cases.items():
        is_due = case.entry_id is not None or case.state == "closed"
        if case_id not in by_case and is_due and not _is_folded(case, mark):
            broken.append(Broken(0, f"case {case_id} is {case.state}, and has no entry"))
    held = late | {case.entry_id for case in cases.values()}
    for number, entry in book.items():
        if not entry.is_final and number not in held:
            broken.append(Broken(number, "an intent without an outcome, and no case is at work on it"))
    broken += _budget(book, settings, mark.newest + HOUR if mark.links else 0)
    return sorted(set(broken))


def _chained(root: Root, key: bytes) -> Iterator[Broken]:
    ledger, edited = healing_of(root).ledger, trusted.held(root).edited
    verdict = ledgercheck.verdict(ledger, key, now_of(ledger))
    if not verdict.valid:
        yield Broken(verdict.first_bad or 0, f"the chain: {verdict.reason}")
    if edited:
        yield Broken(0, trusted.said(edited))
    for number, times in Counter(ledger.order.values()).items():
        if times > 1:
            yield Broken(number, "it became final more than once")
    for number, entry in ledger.readable.some_items(ledger.entries.keys()):
        if entry.record.id != number:
            yield Broken(number, f"it says that it is entry {entry.record.id}")


def _approved(root: Root, approval_id: str | None) -> str | None:
    approval = approvals_of(root).find(approval_id)
    return None if approval is None else str(approval.status)


def _entry(entry: LedgerRecord, approval: str | None) -> Iterator[str]:
    outcome, executed, final = entry.outcome, entry.executed, entry.is_final
    if entry.state not in STATES:
        yield f"there is no state {entry.state!r}"
    if final and outcome not in OUTCOMES:
        yield f"there is no outcome {outcome!r}"
    if not final and outcome not in (None, "awaiting_approval"):
        yield "an outcome before its end"
    if entry.verified != int(outcome == "verified"):
        yield "what it says of being verified is not its outcome"
    if final and (entry.finished_at is None or entry.finished_at < entry.created_at):
        yield "it ended before it began"
    if executed and not entry.action_type:
        yield "it was executed without an intent: no action is named"
    if executed and outcome in HARMLESS:
        yield f"it was executed, and {outcome}: in a window, a pause or at a level that forbids it"
    if executed and (outcome in REFUSED or approval in (*REFUSED, "pending")):
        yield "it was executed after its approval was refused"
    if entry.action_type != "rollback":
        yield from _acted(entry, executed=executed)


def _acted(entry: LedgerRecord, *, executed: bool) -> Iterator[str]:
    outcome, own = entry.outcome, entry.source != "agent"
    if outcome == "verified" and not (executed and entry.action_success):
        yield "verified without an action that ran and was looked at"
    if outcome == "rolled_back" and entry.rollback_status != "rolled_back":
        yield "rolled back, and no rollback was done"
    if own and executed and not entry.approval_id:
        level = entry.lowered.level if entry.lowered else entry.trust_level
        if entry.risk == "high" or level == "approve":
            yield "it was executed without the approval that it needs"
        elif level != "execute":
            yield f"it was executed at the level {level or 'none'}"
    if entry.action_success and not executed:
        yield "an action that succeeded and was never executed"


def _is_folded(case: CaseRecord, mark: FoldedLinks) -> bool:
    """It had ended before the time up to which entries were folded: some may be away."""
    until = mark.made_at - mark.days * DAY
    return bool(mark.links) and isinstance(case, ClosedCase) and case.closed_at is not None and case.closed_at < until


def _undone(entry: LedgerRecord, book: dict[int, LedgerRecord], mark: FoldedLinks) -> Iterator[str]:
    """A rollback later. What was folded away was final."""
    if entry.action_type != "rollback":
        return
    other = book.get(entry.rolls_back or 0)
    if other is None and 0 < (entry.rolls_back or 0) <= mark.highest:
        return
    if other is None or not other.is_final or other.id >= entry.id:
        yield "it rolls back an entry that was not final before it"


def _steps(entries: list[LedgerRecord]) -> Iterator[Broken]:
    """The steps of a case's chain in their order, and one end."""
    chain = [entry for entry in entries if entry.outcome != "absorbed" and entry.action_type != "rollback"]
    by_rule: dict[str, list[LedgerRecord]] = defaultdict(list)
    for entry in chain:
        by_rule[entry.rule_id].append(entry)
    for steps in by_rule.values():
        for before, after in pairwise(steps):
            if after.escalation_step <= before.escalation_step:
                yield Broken(after.id, "its step does not come after the one before it")
            if not before.is_final:
                yield Broken(after.id, "it began before the step before it had ended")
            if before.events:
                yield Broken(after.id, "its case had ended already: two outcomes")
            elif before.outcome in ("verified", "lost"):
                yield Broken(after.id, f"a step after one that was {before.outcome}")


def _case(case: CaseRecord, entries: list[LedgerRecord], *, knows_its_steps: bool) -> Iterator[Broken]:
    """A case that is kept still, beside its entries."""
    last = max((entry for entry in entries if entry.rule_id == case.rule_id and entry.outcome != "absorbed"),
               key=lambda entry: entry.id, default=None)  # fmt: skip
    number = 0 if last is None else last.id
    if case.place not in {move.after for move in moves.MOVES}:
        yield Broken(number, f"case {case.id} is at {case.place}, which the table does not have")
    if last is None:
        yield Broken(0, f"case {case.id} has no entry of its own rule")
    elif isinstance(case, ClosedCase) and last.outcome != case.outcome:
        yield Broken(number, f"case {case.id} ended {case.outcome}, and the entry {last.outcome}")
    elif case.entry_id == number and last.state != ENTRY_OF.get(case.place, last.state):
        yield Broken(number, f"case {case.id} is {case.state}, and the entry {last.state}")
    executed = sum(1 for entry in entries if entry.executed and entry.is_final)
    if knows_its_steps and not case.manual and executed != len(case.tried):
        yield Broken(number, f"case {case.id} knows of {len(case.tried)} executed steps, and the ledger of {executed}")
    yield from (Broken(number, f"case {case.id}: {what}") for what in _told(case))


def _told(case: CaseRecord) -> Iterator[str]:
    """The commands that it says it has sent, in an order that the table has."""
    before: str | None = None
    for line in case.why:
        sent = SENT.match(line)
        if sent is None:
            continue
        after = PLACES[sent[1]]
        if before is not None and after not in REACHED[before]:
            yield f"{before} -> {after}"
        before = after


def _reached() -> dict[str, frozenset[str]]:
    """The commands that can follow each, with none between them."""
    reached = {}
    for place in PLACES.values():
        reachable: set[str] = set()
        begun = {place}
        while begun:
            leaving = (move for move in moves.MOVES if move.before in begun)
            after = {move.after for move in leaving if move.by != "Wait" or move.after != move.before}
            begun = after - reachable - set(PLACES.values())
            reachable |= after
        reached[place] = frozenset(reachable)
    return reached


REACHED = _reached()


def _budget(book: dict[int, LedgerRecord], settings: HealingSettings, since: float) -> Iterator[Broken]:
    """Against the limits that are set now. A case counts once, with its first step; before `since` that may be away."""
    limits = settings.brake.max_heals_per_hour
    begun: list[LedgerRecord] = []
    counted: set[str] = set()
    for entry in book.values():
        began = entry.executed or entry.snapshot_id
        if not began or entry.source == "agent" or entry.rolls_back or entry.case_id in counted:
            continue
        counted.add(entry.case_id)
        if entry.approval_id or entry.created_at < since:
            continue
        begun = [other for other in begun if entry.created_at - other.created_at < HOUR - 1]
        if len(begun) >= limits.fleet:
            yield Broken(entry.id, f"beyond the budget: {limits.fleet} heals within an hour")
        elif sum(other.rule_id == entry.rule_id for other in begun) >= limits.rule:
            yield Broken(entry.id, f"beyond the budget: {limits.rule} heals of one rule within an hour")
        begun.append(entry)
