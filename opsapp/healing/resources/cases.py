"""Cases: one persistent object per root target, from the first event to its end; and the durable inbox of events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from BTrees.LOBTree import LOBTree
from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.healing.logic.rules import names_of
from opsapp.healing.stages.turns import ACTS
from opsapp.lib.ids import new_id
from opsapp.runtime.node import node_of
from opsapp.runtime.sealedfields import SealedFields
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root

QUEUE = "healing"
NEVER = float("inf")
WHY_LINES = 200
HARMLESS = ("verified", "withdrawn", "suppressed")
EVENT_FIELDS = (
    "source", "condition", "target", "severity", "metrics", "agent_id", "subject", "names", "note", "measured_at"
)  # fmt: skip


class Case(SealedFields):
    """What is known and what has been done about one target. Plain values only, changed through `set`."""

    sealed_fields = ("fields",)

    def __init__(self, fields: dict[str, Any]):
        self.fields = fields

    def plain(self) -> dict[str, Any]:
        return dict(self.fields)

    def set(self, **fields: Any) -> None:
        self.fields = {**self.fields, **fields}

    def why(self, *lines: str) -> None:
        """One line for every gate that the case met."""
        self.set(why=(*self.fields["why"], *lines)[-WHY_LINES:])


class CaseBook(Persistent):
    """All cases, and the queue of those that are due: (time, id)."""

    # (rule, target) of which people were told something and not that it is over -> how severe that was
    told: OOBTree | None = None  # stores of an older version have none

    def __init__(self) -> None:
        self.cases = OOBTree()
        self.due = OOTreeSet()
        self.open_on = OOBTree()  # target -> id of the open case
        self.last_on = OOBTree()  # target -> id of the case closed last
        self.last_of = OOBTree()  # (rule, target) -> (opened at, outcome, reason, unsure until) of its last case
        self.inbox = OOBTree()  # a tree per writer: events that wait to be received
        self.waiting_for = OOBTree()  # command or approval id -> case id
        self.acting = OOTreeSet()  # ids of cases that wait for a command's answer
        self.last_event_at: int | None = None
        self.queued = OOTreeSet()  # targets whose open case waits for the end of a window
        self.unhealed = OOTreeSet()  # (opened at, target) of cases that ended without success
        self.unhealed_on = OOBTree()  # target -> opened at, of the last one if it ended so
        self.line = OOBTree()  # host -> id of the case that began to act there last
        self.closed = OOTreeSet()  # (closed at, case id), so that old cases are found without reading the others

    # -- the inbox

    def submit(self, root: Root, event: dict[str, Any]) -> None:
        """Commit an event with what made it; the pipeline receives it once."""
        writer = node_of(root).writer()
        tree = self.inbox.get(writer)
        if tree is None:
            tree = self.inbox[writer] = LOBTree()
        tree[tree.maxKey() + 1 if tree else 1] = event
        wake_after_commit(root, QUEUE)

    def take(self, limit: int) -> list[dict[str, Any]]:
        """Events in the order of each writer, taken out."""
        taken: list[dict[str, Any]] = []
        for tree in self.inbox.values():
            for key in list(tree.keys())[: limit - len(taken)]:
                taken.append(tree.pop(key))
        return taken

    def events(self) -> Iterator[dict[str, Any]]:
        """Alerts that wait to be received: neither what a person asked for nor what is over."""
        for tree in self.inbox.values():
            yield from (event for event in tree.values() if not event.get("kind"))

    # -- the queue

    def open(self, fields: dict[str, Any], due: float) -> Case:
        case = Case({**fields, "id": new_id(), "due": due, "beside": self.open_on.get(fields["target"])})
        self.cases[case.fields["id"]] = case
        self.open_on[fields["target"]] = case.fields["id"]
        self.due.insert((due, case.fields["id"]))
        return case

    def hold_back(self, case: Case, queued: bool) -> None:
        """A case that a window makes wait stands for no failure that others hang on."""
        case.set(queued=queued)
        if queued:
            self.queued.insert(case.fields["target"])
        else:
            self.queued.discard(case.fields["target"])

    def unhealed_since(self, since: float) -> list[str]:
        return [target for _, target in self.unhealed.keys((since, ""), excludemin=True)]

    def note_end(self, case: Case, outcome: str) -> None:
        target, opened_at = case.fields["target"], case.fields["opened_at"]
        before = self.unhealed_on.pop(target, None)
        if before is not None:
            self.unhealed.discard((before, target))
        if outcome not in HARMLESS:
            self.unhealed_on[target] = opened_at
            self.unhealed.insert((opened_at, target))

    def schedule(self, case: Case, due: float) -> None:
        self.due.discard((case.fields["due"], case.fields["id"]))
        case.set(due=due)
        self.due.insert((due, case.fields["id"]))

    def ready(self, now: float, limit: int) -> list[Case]:
        """What has a sealed part that this node cannot open waits for a node that can."""
        due = (self.cases[case_id] for _, case_id in self.due.keys(None, (now, "~")))
        return list(islice((case for case in due if case.unopened is None), limit))

    def wait_for(self, case: Case, *ids: str) -> None:
        for one in ids:
            self.waiting_for[one] = case.fields["id"]

    def arrived(self, root: Root, one: str, now: float) -> None:
        """An answer or a decision that a case waits for is there: it is due now."""
        case_id = self.waiting_for.pop(one, None)
        if case_id is not None and self.cases[case_id].fields["state"] != "closed":
            self.schedule(self.cases[case_id], now)
            wake_after_commit(root, QUEUE)

    def rest(self, case: Case) -> None:
        """Nothing is due of it any more."""
        self.due.discard((case.fields["due"], case.fields["id"]))
        case.set(due=NEVER)

    def close(self, case: Case, outcome: str, reason: str, now: float, unsure_until: float) -> None:
        self.rest(case)
        case.set(state="closed", outcome=outcome, closed_at=now)
        self.closed.insert((now, case.fields["id"]))
        target = case.fields["target"]
        if self.open_on.get(target) == case.fields["id"]:
            del self.open_on[target]
            for other in self._beside(case):
                self.open_on[target] = other.fields["id"]
                break
        self.last_on[target] = case.fields["id"]
        self.queued.discard(target)
        self.note_end(case, outcome)
        for rule_id in case.fields["events"]:
            self.last_of[rule_id, target] = (case.fields["opened_at"], outcome, reason, unsure_until)

    def note_told(self, rule_id: str, target: str, severity: str) -> None:
        if self.told is None:
            self.told = OOBTree()
        self.told[rule_id, target] = severity

    def forget_told(self, rule_id: str, target: str) -> str | None:
        """How severe that was of which people were told, if they were."""
        return None if self.told is None else self.told.pop((rule_id, target), None)

    # -- looking

    def on_target(self, target: str) -> list[dict[str, Any]]:
        """The open cases of a target and the one closed last."""
        last = self.last_on.get(target)
        found = [*self.open_cases(target), *([] if last is None else [self.cases[last]])]
        return [case.plain() for case in found]

    def open_cases(self, target: str) -> list[Case]:
        """The newest, and those beside it that wait for people meanwhile."""
        case_id = self.open_on.get(target)
        return [] if case_id is None else [self.cases[case_id], *self._beside(self.cases[case_id])]

    def _beside(self, case: Case) -> Iterator[Case]:
        """Older cases of the same target that are open still."""
        other = case.fields.get("beside")
        while other in self.cases:
            found = self.cases[other]
            if found.fields["state"] != "closed":
                yield found
            other = found.fields.get("beside")

    def all_open(self) -> list[Case]:
        return [case for target in self.open_on for case in self.open_cases(target)]

    def others_act(self, case: Case) -> bool:
        """Whether something is being done about the target for another case."""
        others = [one for one in self.open_cases(case.fields["target"]) if one.fields["id"] != case.fields["id"]]
        return any(one.fields["state"] in ACTS for one in others)

    def holder(self, host: str) -> dict[str, Any] | None:
        """The case that began to act on the host last: the host's turn is its, until it is done."""
        case = self.cases.get(self.line.get(host))
        return None if case is None else case.plain()

    def review(self, root: Root, rule_id: str, now: float) -> None:
        """A rule is not what it was: what waits for people's word on it is due now."""
        for case_id in set(self.waiting_for.values()):
            case = self.cases.get(case_id)
            if case is not None and (case.fields["state"], case.fields["rule_id"]) == ("awaiting_approval", rule_id):
                self.schedule(case, now)
                wake_after_commit(root, QUEUE)

    def purge(self, before: float, limit: int = 500) -> bool:
        """Forget cases closed long ago; their story is in the ledger. Whether there may be more."""
        old = list(islice(self.closed.keys(None, (before, "")), limit))
        for closed_at, case_id in old:
            self.closed.remove((closed_at, case_id))
            case = self.cases.pop(case_id)
            if self.last_on.get(case.fields["target"]) == case_id:
                del self.last_on[case.fields["target"]]
                self.note_end(case, "verified")
                self.forget_told(case.fields["rule_id"], case.fields["target"])
        return len(old) == limit


def about_of(event: Mapping[str, Any]) -> dict[str, Any]:
    return {name: event.get(name) for name in EVENT_FIELDS}


def case_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """A new case's fields."""
    target = event["target"]
    return {
        "id": None,
        **about_of(event),
        "rule_id": event["rule_id"],
        "correlation_key": names_of(target)[0],
        "state": "correlating",
        "step": 0,
        "events": {event["rule_id"]: 1},
        "abouts": {event["rule_id"]: about_of(event)},
        "queued": False,
        "opened_at": event["at"],
        "closed_at": None,
        "outcome": None,
        "level": "observation",
        "entry_id": None,
        "approval_id": None,
        "phase": None,
        "command_id": None,
        "snapshot": None,
        "began_at": None,
        "settled_at": None,
        "deadline": None,
        "waits_since": None,
        "waits_from": None,
        "looks_from": None,
        "acted_at": None,
        "late": {},
        "why": (),
    }
