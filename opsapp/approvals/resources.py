"""Approvals: the folder of requests, and a request that is decided once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from itertools import islice

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.notify.engine import tell
from opsapp.runtime.events import emit
from opsapp.runtime.queue import Agenda
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.tree.counted import LAST, StoredCounts, newest
from opsapp.tree.folder import Folder, Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root
from opsapp.wire.records import made, plain

from .logic import plan_hash
from .records import NewRequest, Proposer, RequestSummary, Vote

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

    def asked(self, most: int | None = None) -> list[str]:
        """Ids of the requests that people have not decided; the first to expire come first."""
        return [request_id for _, request_id in islice(self.pending, most)]

    def waiting(self) -> list[str]:
        """The first 2,000."""
        return self.asked(LOOKED_AT)

    def add(self, approval: Approval, wanted: NewRequest) -> None:
        self[wanted.name or new_id()] = approval
        if wanted.subjects:
            told = tuple(sorted(set(wanted.subjects)))
            self.subjects[approval.__name__] = told if len(told) <= SHOWN else ManySubjects(told)
        Agenda(self.pending).add(approval.expires_at, approval.__name__)
        for status in (ANY, approval.status):
            self.ordered.add((status, approval.requested_at, approval.__name__))
        self.counts.add(ANY, approval.status)

    def move(self, approval: Approval, by: float) -> None:
        """The clock was set by so many seconds: people have as long to decide as before."""
        Agenda(self.pending).discard(approval.expires_at, approval.__name__)
        approval.expires_at += by
        Agenda(self.pending).add(approval.expires_at, approval.__name__)

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

        def ids(skipped: int, most: int) -> list[str]:
            if order == "oldest":
                return [key[-1] for key in islice(tree.keys(low, high), skipped, skipped + most)]
            return [key[-1] for key in newest(tree, low, high, skipped, most)]

        if seen is None:
            return ids(offset, limit), count
        own = [request_id for request_id in ids(0, LOOKED_AT) if seen(request_id)]
        return own[offset : offset + limit], len(own)

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


class Approval(SealedFields, Record):
    """`about`: what it stands for, and the `assistant` that proposed it."""

    url = "/api/approvals/{request_id}"
    sealed_fields = ("plan",)
    _v_targets: dict[str, JsonObject] | None = None

    def __init__(self, wanted: NewRequest, now: float):
        self.kind = wanted.kind
        self.subject = wanted.subject
        self.plan = wanted.plan
        self.plan_hash = plan_hash(wanted.plan)
        self.reason = wanted.reason
        self.risk = wanted.risk
        self.requested_by = wanted.requested_by
        self.requested_at = now
        self.expires_at = now + wanted.expiry_s
        self.about = wanted.about
        self.approvers = wanted.approvers
        self.quorum = wanted.quorum
        self.votes: tuple[Mapping[str, object], ...] = ()  # each a `Vote`
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

    def keep_votes(self, votes: Iterable[Vote]) -> None:
        """These, and no other."""
        self.votes = tuple(plain(vote) for vote in votes)

    def ballots(self) -> list[Vote]:
        return [made(Vote, vote) for vote in self.votes]

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
            **{**self.about, "assistant": self.assistant},  # type: ignore[arg-type]
        )

    def allow(self, root: Root, by: str, comment: str | None, now: float) -> None:
        """Approves the request by the yes to the proposal that this carries out."""
        self.keep_votes([Vote(by, "approve", int(now), comment)])
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


def request(root: Root, wanted: NewRequest, now: float) -> Approval:
    """Makes a request, in the transaction that has to wait for its votes."""
    approval = Approval(wanted, now)
    approvals_of(root).add(approval, wanted)
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
