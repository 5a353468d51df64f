"""Approvals: the folder of requests, and a request that is decided once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import TypedDict

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.notify.engine import tell
from opsapp.runtime.events import emit
from opsapp.runtime.queue import Agenda
from opsapp.runtime.sealedfields import SealedFields
from opsapp.tree.counted import LAST, StoredCounts, newest
from opsapp.tree.folder import Folder, Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root
from opsapp.wire.records import plain

from .logic import plan_hash
from .records import Kind, Proposer, RequestSummary, Verdict, Vote

KEEP_S = 90 * 86400.0
PAGE = 500
SHOWN = 50  # targets of a request
LOOKED_AT = 2000  # requests of a list, the first ones, among which those are found that somebody may see
ANY = "*"
FIRST, END = (0.0, ""), (float("inf"), LAST)  # of any list by time and id

approvals_of: ApiPlace[Approvals] = ApiPlace("approvals")


def set_up(root: Root) -> None:
    approvals_of.put(root, Approvals())


class Approvals(Folder):
    """/api/approvals. `pending`: (expires_at, id). `decided`: (decided_at, id), for the purge. `ordered`: (status or
    `*`, requested_at, id); `counts`: their numbers. `subjects`: id -> what the request is about, if that is known."""

    url = "/api/approvals"
    holds = "approval"

    def __init__(self) -> None:
        super().__init__()
        self.pending = OOTreeSet()
        self.decided = OOTreeSet()
        self.ordered = OOTreeSet()
        self.counts = StoredCounts()
        self.subjects = OOBTree()

    def due(self, now: float) -> list[str]:
        return [request_id for _, request_id in Agenda(self.pending).due(now, PAGE)]

    def waiting(self) -> list[str]:
        """Ids of the requests that expire first, at most 2,000."""
        return [request_id for _, request_id in islice(self.pending, LOOKED_AT)]

    def add(self, approval: Approval, name: str | None = None, subjects: Sequence[str] = ()) -> None:
        """`name`: what it was to be called."""
        self[name or new_id()] = approval
        if subjects:
            told = tuple(sorted(set(subjects)))
            self.subjects[approval.__name__] = told if len(told) <= SHOWN else ManySubjects(told)
        Agenda(self.pending).add(approval.expires_at, approval.__name__)
        for status in (ANY, approval.status):
            self.ordered.add((status, approval.requested_at, approval.__name__))
        self.counts.add(ANY, approval.status)

    def decide(self, approval: Approval, status: str, now: float) -> None:
        Agenda(self.pending).discard(approval.expires_at, approval.__name__)
        Agenda(self.decided).add(now, approval.__name__)
        self.ordered.remove(("pending", approval.requested_at, approval.__name__))
        self.ordered.add((status, approval.requested_at, approval.__name__))
        self.counts.add("pending", by=-1)
        self.counts.add(status)

    def subjects_of(self, request_id: str) -> tuple[str, ...]:
        """None where nobody knows."""
        told: tuple[str, ...] | ManySubjects = self.subjects.get(request_id, ())
        return told.names if isinstance(told, ManySubjects) else told

    def page(
        self, status: str, order: str, limit: int | None, offset: int, seen: Callable[[str], bool] | None = None
    ) -> tuple[list[str], int]:
        """Ids of a status (or `all`, or `decided`, by when), and their number. No request is read. `seen`: of the first
        2,000 only those of which it says so."""
        wanted = ANY if status == "all" else status
        count = self.counts[ANY] - self.counts["pending"] if status == "decided" else self.counts[wanted]
        tree, front = (self.decided, ()) if status == "decided" else (self.ordered, (wanted,))
        low, high, limit = (*front, *FIRST), (*front, *END), count if limit is None else limit
        oldest = order == "oldest"
        if seen is not None:
            first = tree.keys(low, high) if oldest else newest(tree, low, high, 0, LOOKED_AT)
            ids = [key[-1] for key in islice(first, LOOKED_AT) if seen(key[-1])]
            return ids[offset : offset + limit], len(ids)
        keys = (
            islice(tree.keys(low, high), offset, offset + limit) if oldest else newest(tree, low, high, offset, limit)
        )
        return [key[-1] for key in keys], count

    def purge(self, now: float) -> bool:
        """A page; whether there may be more."""
        old = Agenda(self.decided).take(now - KEEP_S, PAGE)
        for _, name in old:
            for approval in self.some([name]):  # one that cannot be read stays in the lists
                for status in (ANY, approval.status):
                    self.ordered.remove((status, approval.requested_at, name))
                self.counts.add(ANY, approval.status, by=-1)
                self.subjects.pop(name, None)
                del self[name]
        return len(old) == PAGE


class ManySubjects(Persistent):
    """The subjects of a request for a large outage, which no list of others has to read."""

    def __init__(self, names: tuple[str, ...]):
        self.names = names


class KeptVote(TypedDict):
    """A `Vote` as the store keeps it."""

    username: str
    vote: Verdict
    at: int
    comment: str | None


class Approval(SealedFields, Record):
    """`about`: what it stands for, and the `assistant` that proposed it."""

    url = "/api/approvals/{request_id}"
    sealed_fields = ("plan",)
    _v_targets: dict[str, JsonObject] | None = None

    def __init__(
        self,
        kind: Kind,
        subject: str,
        plan: JsonObject,
        *,
        reason: str,
        risk: str | None,
        requested_by: str,
        now: float,
        expires_at: float,
        about: JsonObject,
        approvers: tuple[str, ...],
        quorum: int,
    ):
        self.kind: Kind = kind
        self.subject = subject
        self.plan = plan
        self.plan_hash = plan_hash(plan)
        self.reason = reason
        self.risk = risk
        self.requested_by = requested_by
        self.requested_at = now
        self.expires_at = expires_at
        self.about = about
        self.approvers = approvers
        self.quorum = quorum
        self.votes: tuple[KeptVote, ...] = ()
        self.status = "pending"
        self.decided_by: str | None = None
        self.decided_at: float | None = None
        self.comment: str | None = None

    @property
    def targets(self) -> dict[str, JsonObject]:
        """The plan's targets by case; kept, because thousands of cases ask for theirs."""
        targets = self._v_targets
        if targets is None:
            targets = self._v_targets = {target["case_id"]: target for target in self.plan.get("targets", ())}
        return targets

    @property
    def assistant(self) -> Proposer | None:
        known = self.about.get("assistant")
        return None if known is None else Proposer(**known)

    def vote(self, ballot: Vote) -> None:
        self.votes += (KeptVote(username=ballot.username, vote=ballot.vote, at=ballot.at, comment=ballot.comment),)

    def ballots(self) -> list[Vote]:
        return [Vote(**vote) for vote in self.votes]

    def summary(self) -> RequestSummary:
        subjects = self.__parent__.subjects_of(self.__name__)
        return RequestSummary(
            request_id=self.__name__,
            kind=self.kind,
            subject=self.subject,
            plan=_capped(self.plan),
            reason=self.reason,
            risk=self.risk,
            requested_by=self.requested_by,
            requested_at=int(self.requested_at),
            expires_at=int(self.expires_at),
            approvers=self.approvers,
            quorum=self.quorum,
            votes=tuple(self.ballots()),
            status=self.status,
            decided_by=self.decided_by,
            decided_at=None if self.decided_at is None else int(self.decided_at),
            comment=self.comment,
            subjects=subjects if len(subjects) <= SHOWN else (),
            **{**self.about, "assistant": self.assistant},
        )

    def allow(self, root: Root, by: str, comment: str | None, now: float) -> None:
        """Approves the request by the yes to the proposal that this carries out."""
        self.vote(Vote(by, "approve", int(now), comment))
        self.close(root, "approved", by=by, now=now, comment=comment)

    def close(self, root: Root, status: str, *, by: str | None, now: float, comment: str | None = None) -> None:
        """Whoever comes second gets Conflict, through the store's own too."""
        if self.status != "pending":
            raise Conflict(f"This request is already {self.status}.", code="already_decided")
        self.__parent__.decide(self, status, now)
        self.status, self.decided_by, self.decided_at = status, by, now
        self.comment = comment or self.comment
        emit(root, "approval", plain(self.summary()))


def count_approvals(root: Root) -> None:
    """Evolve step."""
    folder = approvals_of(root)
    folder.counts = StoredCounts()
    for status, _, _ in folder.ordered:
        folder.counts.add(status)


def keep_subjects(root: Root) -> None:
    """Evolve step: nobody wrote down what older requests are about."""
    approvals_of(root).subjects = OOBTree()


def _capped(plan: JsonObject) -> JsonObject:
    """The plan with only the first of thousands of targets, and how many `more` there are. The digest is of all."""
    more = len(plan.get("targets", ())) - SHOWN
    return {**plan, "targets": plan["targets"][:SHOWN], "more": more} if more > 0 else plan


def request(
    root: Root,
    *,
    kind: Kind,
    subject: str,
    plan: JsonObject,
    reason: str,
    risk: str | None,
    requested_by: str,
    now: float,
    expiry_s: float,
    about: JsonObject,
    approvers: tuple[str, ...] = (),
    quorum: int = 1,
    name: str | None = None,
    subjects: Sequence[str] = (),
) -> Approval:
    """Makes a request, in the transaction that has to wait for its votes. `name`: what some wait for already.
    `subjects`: all hosts and monitors that it is about, by their ids; none where it is about more than these."""
    folder = approvals_of(root)
    approval = Approval(
        kind,
        subject,
        plan,
        reason=reason,
        risk=risk,
        requested_by=requested_by,
        now=now,
        expires_at=now + expiry_s,
        about=about,
        approvers=approvers,
        quorum=quorum,
    )
    folder.add(approval, name, subjects)
    emit(root, "approval", plain(approval.summary()))
    _tell(root, approval, now)
    return approval


def _tell(root: Root, approval: Approval, now: float) -> None:
    """No window keeps a question silent. Healing tells its own."""
    if approval.kind == "heal":
        return
    until = datetime.fromtimestamp(approval.expires_at, timezone.utc)
    lines = [approval.reason, f"Asked for by {approval.requested_by}, until {until:%Y-%m-%d %H:%M} UTC."]
    lines += [f"Risk: {approval.risk}."] if approval.risk else []
    lines += [f"Who may decide: {', '.join(approval.approvers)}."] if approval.approvers else []
    tell(
        root,
        now,
        key=f"approval:{approval.__name__}",
        kind="approval.asked",
        severity="warning",
        title=f"Approval wanted: {approval.kind} of {approval.subject}",
        text="\n".join(lines),
        tags=("approval",),
        ids={"approval": approval.__name__},
    )
