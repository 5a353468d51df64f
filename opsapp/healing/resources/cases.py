"""Cases: one persistent object per root target, from its first event to its end; and the durable inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.healing.places import healing_of
from opsapp.healing.stages import messages
from opsapp.healing.stages.case import CaseRecord, ClosedCase, RuleEvent, moved, opened, read, stored
from opsapp.healing.stages.messages import Message, RequestDecided, WaitsChanged
from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import node_of
from opsapp.runtime.queue import Agenda, Inbox
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.reading import ChildrenOf
from opsapp.tree.root import Root

from .latertrees import NO_TREE, grown

QUEUE = "healing"
CASE = "case"  # what people call it
NEVER = float("inf")
TOLD_AT_ONCE = 100  # cases, of one decision, stop, edit of a rule or end of a window
HARMLESS = ("verified", "withdrawn", "suppressed")
Calm = tuple[str, str, tuple[str, ...]]  # (subject, rule, targets): of these targets its condition is known false


class Case(SealedFields):
    """A record that is replaced as a whole, in the flat form of `stages.case`."""

    sealed_fields = ("fields",)
    _v_record: CaseRecord | None = None  # of these fields

    def __init__(self, record: CaseRecord):
        self.record = record

    @property
    def record(self) -> CaseRecord:
        record = self._v_record
        if record is None:
            record = self._v_record = read(self.fields)
        return record

    @record.setter
    def record(self, record: CaseRecord) -> None:
        self.fields = stored(record)
        self._v_record = record

    def plain(self) -> JsonObject:
        return dict(self.fields)


class CaseBook(Persistent):
    """Keeps the cases and the queue of those that are due: (time, id)."""

    # (rule, target) of which people were told something and not that it is over -> how severe that was
    told: OOBTree = NO_TREE
    # (rule, target) of failed heals that people were told of -> whether they were told of nothing else there
    unhealed_told: OOBTree = NO_TREE
    # case id -> what was known to be well right before its act
    calm: OOBTree = NO_TREE
    # (closed at, id) of the last case whose traces `let_go` has taken away
    let_go_to: tuple[float, str] | None = None
    # case id -> seconds by which it has still to be moved, since the clock was set (`clockmoves`)
    to_move: OOBTree = NO_TREE

    def __init__(self) -> None:
        self.cases = OOBTree()
        self.due = OOTreeSet()
        self.open_on = OOBTree()  # target -> id of the open case
        self.last_on = OOBTree()  # target -> id of the case closed last
        self.last_of = OOBTree()  # (rule, target) -> (opened at, outcome, reason, unsure until) of its last case
        self.inbox = OOBTree()  # a tree per writer: events that wait to be received
        self.taken = OOBTree()
        self.waiting_for = OOBTree()  # command or approval id -> case id
        self.acting = OOTreeSet()  # ids of cases that wait for a command's answer
        self.last_event_at: int | None = None
        self.queued = OOTreeSet()  # targets whose open case waits for the end of a window
        self.unhealed = OOTreeSet()  # (opened at, target) of cases that ended without success
        self.unhealed_on = OOBTree()  # target -> opened at, of the last one if it ended so
        self.line = OOBTree()  # host -> id of the case that began to act there last
        self.closed = OOTreeSet()  # (closed at, case id), so that old cases are found without reading the others
        self.under_way = OOTreeSet()  # (whether it only waits, opened at, id) of each open case

    @property
    def readable(self) -> ChildrenOf:
        return ChildrenOf(self.cases, CASE)

    # -- the inbox

    @property
    def messages(self) -> Inbox:
        """What waits to be received."""
        return Inbox(self.inbox, self.taken)

    def submit(self, root: Root, message: Message) -> None:
        """Committed with what made it; received once."""
        self.messages.put(node_of(root).writer(), messages.stored(message))
        wake_after_commit(root, QUEUE)

    def events(self) -> Iterator[RuleEvent]:
        """Alerts alone."""
        return (RuleEvent.read(row) for row in self.messages if not row.get("kind"))

    # -- the queue

    def open(self, record: CaseRecord, due: float) -> Case:
        target = record.target
        case = Case(replace(record, id=new_id(), due=due, beside=self.open_on.get(target)))
        case_id = case.record.id
        self.cases[case_id] = case
        self.open_on[target] = case_id
        Agenda(self.due).add(due, case_id)
        self.rank(case.record)
        return case

    def rank(self, record: CaseRecord) -> None:
        """What acts before what waits, then the oldest first."""
        for waits in (False, True):
            row, stands = (waits, record.opened_at, record.id), record.state != "closed" and waits != record.acts
            if stands != (row in self.under_way):
                (self.under_way.insert if stands else self.under_way.remove)(row)

    def hold_back(self, record: CaseRecord) -> None:
        """What waits for a window's end is no failure that others depend on."""
        if record.queued:
            self.queued.insert(record.target)
        else:
            self.queued.discard(record.target)

    def unhealed_since(self, since: float) -> list[str]:
        return [target for _, target in self.unhealed.keys((since, ""), excludemin=True)]

    def note_end(self, record: CaseRecord, outcome: str | None) -> None:
        target, opened_at = record.target, record.opened_at
        before = self.unhealed_on.pop(target, None)
        if before is not None:
            self.unhealed.discard((before, target))
        if outcome not in HARMLESS:
            self.unhealed_on[target] = opened_at
            self.unhealed.insert((opened_at, target))

    def keep(self, case: Case, record: CaseRecord, due: float) -> None:
        """Keeps the case's record, to look at it again at `due`."""
        if (by := self.to_move.pop(case.record.id, None)) is not None:
            record = self.carry(case, by, record)
        before = case.record
        if before.due != due:
            Agenda(self.due).discard(before.due, before.id)
            Agenda(self.due).add(due, before.id)
        case.record = replace(record, due=due)
        self.rank(case.record)

    def carry(self, case: Case, by: float, record: CaseRecord) -> CaseRecord:
        """The clock was set: move its times, and its places by them. Answers `record`, which somebody made of it, moved
        too."""
        before = case.record
        after = moved(before, by)
        Agenda(self.due).discard(before.due, before.id)
        if after.due != NEVER:
            Agenda(self.due).add(after.due, after.id)
        if isinstance(before, ClosedCase) and isinstance(after, ClosedCase) and before.closed_at is not None:
            Agenda(self.closed).discard(before.closed_at, before.id)
            Agenda(self.closed).add(after.closed_at or 0.0, after.id)
        case.record = after
        for row in ((waits, before.opened_at, before.id) for waits in (False, True)):
            if row in self.under_way:
                self.under_way.remove(row)
        self.rank(after)
        return after if record is before else moved(record, by)

    def hasten(self, target: str, rule_id: str, now: float) -> None:
        """Its condition is gone: it need not be left alone, or wait for its wave."""
        for record, case in [(case.record, case) for case in self.open_cases(target)]:
            waits = record.left_until is not None or (record.deed is not None and not record.wave)
            may_end = record.state in ("planning", "awaiting_approval") and waits
            if may_end and record.rule_id == rule_id and record.due > now:
                self.schedule(case, now)

    def schedule(self, case: Case, due: float) -> None:
        self.keep(case, case.record, due)

    def ready(self, now: float, limit: int) -> list[Case]:
        """What has a sealed part that this node cannot open waits for a node that can."""
        due = self.readable.some(case_id for _, case_id in Agenda(self.due).until(now))
        return list(islice((case for case in due if case.unopened is None), limit))

    def waits_for_part(self, request_id: str) -> bool:
        """Whether any part of a request that covers several is still awaited."""
        return next(self._parts(request_id), None) is not None

    def _parts(self, request_id: str) -> Iterator[str]:
        return iter(self.waiting_for.keys(f"{request_id}/", f"{request_id}/~"))

    def arrived(self, root: Root, answer_id: str, now: float) -> None:
        """What it waits for is there: it is due."""
        case = self.find(self.waiting_for.pop(answer_id, None))
        if case is not None and case.record.state != "closed":
            self.schedule(case, now)
            wake_after_commit(root, QUEUE)

    def announce(self, root: Root, request_id: str) -> None:
        """Thousands may wait for a request: the pipeline tells some at a time."""
        self.submit(root, RequestDecided(request_id))

    def tell_decided(self, root: Root, request_id: str, now: float) -> None:
        for answer_id in list(islice(self._parts(request_id), TOLD_AT_ONCE)):
            self.arrived(root, answer_id, now)
        if self.waits_for_part(request_id):
            self.announce(root, request_id)

    def take_up(self, root: Root, case: Case, record: CaseRecord, now: float) -> None:
        """A person has changed what it waits for: it is due."""
        self.keep(case, record, now)
        wake_after_commit(root, QUEUE)

    def rest(self, case: Case, record: CaseRecord) -> None:
        Agenda(self.due).discard(case.record.due, record.id)
        case.record = replace(record, due=NEVER)

    def close(self, case: Case, closed: ClosedCase, reason: str, unsure_until: float) -> None:
        self.rest(case, closed)
        self.rank(closed)
        if closed.closed_at is not None:
            Agenda(self.closed).add(closed.closed_at, closed.id)
        target = closed.target
        if self.open_on.get(target) == closed.id:
            del self.open_on[target]
            for other in self._beside(closed):
                self.open_on[target] = other.record.id
                break
        self.last_on[target] = closed.id
        self.queued.discard(target)
        self.note_end(closed, closed.outcome)
        for rule_id in closed.events:
            self.last_of[rule_id, target] = (closed.opened_at, closed.outcome_for(rule_id), reason, unsure_until)

    def note_told(self, rule_id: str, target: str, severity: str) -> None:
        grown(self, "told")[rule_id, target] = severity

    def note_unhealed(self, rule_id: str, target: str) -> None:
        """Notes that people were told of a failed heal, before what else is noted about that."""
        key, unhealed = (rule_id, target), grown(self, "unhealed_told")
        unhealed[key] = key not in self.told or unhealed.get(key, False)

    def note_else_told(self, rule_id: str, target: str) -> None:
        if (rule_id, target) in self.unhealed_told:
            self.unhealed_told[rule_id, target] = False

    def forget_unhealed(self, rule_id: str, target: str) -> bool | None:
        """Whether that is all they were told; None: not told."""
        return self.unhealed_told.pop((rule_id, target), None)

    def forget_told(self, rule_id: str, target: str) -> str | None:
        """The severity of which people were told."""
        return self.told.pop((rule_id, target), None)

    def note_calm(self, case_id: str, known: tuple[Calm, ...]) -> None:
        grown(self, "calm")[case_id] = known

    # -- looking

    def find(self, case_id: str | None) -> Case | None:
        """None also where it cannot be read."""
        case: Case | None = self.readable.find(case_id)
        return case

    def record_of(self, case_id: str) -> CaseRecord | None:
        case = self.find(case_id)
        return None if case is None else case.record

    def on_target(self, target: str) -> list[CaseRecord]:
        """Open ones, and the one closed last."""
        last = self.find(self.last_on.get(target))
        cases = [*self.open_cases(target), *([] if last is None else [last])]
        return [case.record for case in cases]

    def open_cases(self, target: str) -> list[Case]:
        """The newest, and those beside it that wait for people."""
        case = self.find(self.open_on.get(target))
        return [] if case is None else [case, *self._beside(case.record)]

    def _beside(self, record: CaseRecord) -> Iterator[Case]:
        while (other := self.find(record.beside)) is not None:
            record = other.record
            if record.state != "closed":
                yield other

    def all_open(self) -> list[Case]:
        return [case for target in self.open_on for case in self.open_cases(target)]

    def first_under_way(self, most: int) -> list[CaseRecord]:
        """No other case is read."""
        ids = (case_id for _, _, case_id in islice(self.under_way, most))
        return [case.record for case in self.readable.some(ids) if case.unopened is None]

    def others_act(self, record: CaseRecord) -> bool:
        """Whether other cases act on this case's target."""
        cases = (case.record for case in self.open_cases(record.target))
        return any(other.acts for other in cases if other.id != record.id)

    def holder(self, host: str) -> CaseRecord | None:
        """The host's turn is its, until it is done."""
        case = self.find(self.line.get(host))
        return None if case is None else case.record

    def review(self, root: Root, rule_id: str, now: float, after: str = "") -> None:
        """A rule has changed: what waits for people on it is due. The pipeline goes on after so many."""
        page = list(islice(self.waiting_for.items(after, excludemin=bool(after)), TOLD_AT_ONCE))
        for case in self.readable.some({case_id for _, case_id in page}):
            if (case.record.state, case.record.rule_id) == ("awaiting_approval", rule_id):
                self.schedule(case, now)
                wake_after_commit(root, QUEUE)
        if len(page) == TOLD_AT_ONCE:
            self.submit(root, WaitsChanged(rule_id, page[-1][0]))

    def release(self, root: Root, due: Callable[[str], float], after: str = "") -> None:
        """What waits for the end of a window is due when `due(case id)` says. The pipeline goes on after so many."""
        page = list(islice(self.queued.keys(after, excludemin=bool(after)), TOLD_AT_ONCE))
        for case in [case for target in page for case in self.open_cases(target)]:
            if case.record.queued:
                self.schedule(case, due(case.record.id))
        if len(page) == TOLD_AT_ONCE:
            self.submit(root, WaitsChanged(None, page[-1]))

    def purge(self, before: float, limit: int = 500) -> bool:
        """Their story is in the ledger. Whether there may be more."""
        old = Agenda(self.closed).take(before, limit)
        for _, case_id in old:
            self._let_go(case_id)
            self._forget_end(case_id)
            del self.cases[case_id]
        return len(old) == limit

    def _forget_end(self, case_id: str) -> None:
        """A rule's last end on a target is known for as long as that case."""
        record = self.record_of(case_id)
        if not isinstance(record, ClosedCase):
            return
        for key in [(rule_id, record.target) for rule_id in {*record.events, record.rule_id}]:
            if key in self.last_of and self.last_of[key][0] <= (record.closed_at or record.opened_at):
                del self.last_of[key]

    def let_go(self, before: float, limit: int = 500) -> bool:
        """What old closed cases left behind says nothing of today. Each is looked at once. Whether there may be
        more."""
        old = list(islice(self.closed.keys(self.let_go_to, (before, ""), excludemin=self.let_go_to is not None), limit))
        for _, case_id in old:
            self._let_go(case_id)
        if old:
            self.let_go_to = old[-1]
        return len(old) == limit

    def _let_go(self, case_id: str) -> None:
        record = self.record_of(case_id)
        if record is not None and self.last_on.get(record.target) == case_id:
            del self.last_on[record.target]
            self.note_end(record, "verified")
            self.forget_told(record.rule_id, record.target)
            self.forget_unhealed(record.rule_id, record.target)


def rank_open(root: Root) -> None:
    """What is under way was found by reading every open case."""
    book: CaseBook = healing_of(root).book
    book.under_way = OOTreeSet()
    for case in book.all_open():
        book.rank(case.record)


def case_of(event: Mapping[str, Any]) -> CaseRecord:
    return opened(RuleEvent.read(event))
