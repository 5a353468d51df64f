"""Deciding: a vote is checked against its plan, settles once, and tells whoever waits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from zope.interface import Interface

from opsapp.approvals.config import ApprovalSettings
from opsapp.approvals.resources import approvals_of
from opsapp.auth.resources import users_of
from opsapp.lib.problems import Conflict, Forbidden
from opsapp.notify.interfaces import AfterAbort
from opsapp.runtime.clocks.pieces import ClockPieces, WaitingKind
from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import node_of
from opsapp.tree.acl import roles_from
from opsapp.tree.root import Root
from opsapp.wire.records import extended, plain

from . import logic
from .reach import barred
from .records import ApprovalRecord, Decided, TimesHelped, Verdict, Vote
from .resources import Approval

if TYPE_CHECKING:
    from opsapp.runtime.node import Node


LATE = "nobody decided in time"
AT_ONCE = 50  # requests that expire in one transaction
LEASE, REQUESTS = "housekeeping", "requests"


class IApprovalKind(Interface):
    """Registered under a kind's name by the room that asks."""


class ApprovalKind(Protocol):
    """Asked in the transaction of the decision."""

    def gone(self, root: Root, approval: Approval) -> str | None:
        """Why the request has lost its ground."""

    def own(self, root: Root, approval: Approval, name: str) -> str | None:
        """What this person has to do with it, so that somebody else has to approve."""

    def decided(self, root: Root, approval: Approval) -> None:
        """Go on, or give up."""

    def record(self, root: Root, approval: Approval) -> TimesHelped | None:
        """How often this was done, and helped; None: nobody counts."""


class Lapsed(Conflict):
    """`lapse` keeps the `status` after the refusal."""

    code = "lapsed"

    def __init__(self, status: str, why: str):
        super().__init__(f"This request is {status}: {why}", code=status)
        self.status = status
        self.why = why


class Voter(NamedTuple):
    """`person`: signed in, or with a link of their own; a program with a key is none."""

    name: str
    role: str | None
    person: bool = True


def kind_of(root: Root, approval: Approval) -> ApprovalKind:
    return node_of(root).registry.getUtility(IApprovalKind, approval.kind)


def own_of(root: Root, approval: Approval, name: str) -> str | None:
    """What makes it this person's own request."""
    if name == approval.requested_by:
        return "Nobody approves a request of their own."
    if approval.assistant and name == approval.assistant.username:
        return "Your own assistant has asked for this: somebody else has to approve it."
    return kind_of(root, approval).own(root, approval, name)


def refusal(root: Root, approval: Approval, voter: Voter, vote: Verdict = "approve") -> str | None:
    """Only what is known before the click."""
    if approval.status != "pending":
        return None
    if _has_voted(standing(root, approval), voter):
        return "You have voted already."
    forbidden = _forbidden(root, approval, voter, vote)
    return None if forbidden is None else forbidden.message


def standing(root: Root, approval: Approval) -> list[Vote]:
    """The votes of those who may decide to this day. Once it is decided: those that decided it."""
    votes = approval.ballots()
    return [vote for vote in votes if _stands(root, approval, vote)] if approval.status == "pending" else votes


def _stands(root: Root, approval: Approval, vote: Vote) -> bool:
    """Not so of who has got the name of a user that is gone."""
    user = users_of(root).find(vote.username)
    if user is None or user.disabled or user.role not in roles_from("operator") or user.created_at > vote.at:
        return False
    return _forbidden(root, approval, Voter(vote.username, user.role), vote.vote) is None


def _has_voted(votes: Iterable[Vote], voter: Voter) -> bool:
    return any(vote.username == voter.name for vote in votes)


def _forbidden(root: Root, approval: Approval, voter: Voter, vote: Verdict) -> Forbidden | None:
    approving = vote == "approve"
    stopped = barred(root, approval, voter.name) or (barrier(approval, voter) if approving else None)
    if stopped is not None:
        return stopped
    own, strict = own_of(root, approval, voter.name), node_of(root).config[ApprovalSettings].strict
    why = logic.may_decide(
        voter.name, voter.role, approvers=approval.approvers, own=own, approving=approving, strict=strict
    )
    return None if why is None else Forbidden(why)


def barrier(approval: Approval, voter: Voter) -> Forbidden | None:
    """Why this voter, whatever the key's role, may not allow what an assistant proposes."""
    if approval.assistant is None:
        return None
    if not voter.person:
        return Forbidden("Only a person who is signed in allows what an assistant proposes.", code="person_required")
    if voter.role not in roles_from(approval.assistant.needs):
        return Forbidden("Only an admin may allow this.", code="role_too_low")
    return None


def shown(root: Root, approval: Approval, voter: Voter) -> ApprovalRecord:
    """The approval as one person sees it."""
    record = kind_of(root, approval).record(root, approval) if approval.status == "pending" else None
    why = refusal(root, approval, voter)
    summary = replace(approval.summary(), votes=tuple(standing(root, approval)))
    return extended(ApprovalRecord, summary, digest=approval.plan_hash, refusal=why, record=record)


class VoteCast(NamedTuple):
    """`told`: for the audit record."""

    decided: Decided
    told: Mapping[str, object]


def cast(
    root: Root, request_id: str, voter: Voter, vote: Verdict, comment: str | None, now: float, after_abort: AfterAbort
) -> VoteCast:
    """Casts a vote that came by whatever way. A request that can be decided no more is closed after the refusal."""
    own = own_of(root, approvals_of(root)[request_id], voter.name) is not None
    try:
        decided = decide(root, request_id, voter, vote, comment, now)
    except Lapsed as lapsed:
        after_abort(lapse, request_id, lapsed.status, lapsed.why, now)
        raise
    return VoteCast(decided, plain(decided) | ({"own_request": True} if own else {}))


def decide(root: Root, request_id: str, voter: Voter, vote: Verdict, comment: str | None, now: float) -> Decided:
    """Lapsed: the time is up, or its ground is gone."""
    approval = approvals_of(root)[request_id]
    if approval.status != "pending":
        raise Conflict(f"This request is already {approval.status}.", code="already_decided")
    forbidden = _forbidden(root, approval, voter, vote)
    if forbidden is not None:
        raise forbidden
    PIECES.settle(root, REQUESTS, request_id)
    if approval.expires_at <= now:
        raise Lapsed("expired", LATE)
    gone = kind_of(root, approval).gone(root, approval) if vote == "approve" else None
    if gone:
        raise Lapsed("withdrawn", gone)
    votes = standing(root, approval)
    if _has_voted(votes, voter):
        raise Conflict("You have voted already.", code="already_voted")
    approval.keep_votes((*votes, Vote(voter.name, vote, int(now), comment)))
    status = logic.settled(approval.ballots(), approval.quorum)
    if status:
        approval.close(root, status, by=voter.name, now=now, comment=comment)
        kind_of(root, approval).decided(root, approval)
    about = approval.about
    return Decided(approval.__name__, approval.status, about.get("run_id"), about.get("ledger_id"))


def lapse(root: Root, request_id: str, status: str, why: str, now: float) -> None:
    """No effect when somebody was faster."""
    approval = approvals_of(root).find(request_id)
    if approval is not None and approval.status == "pending":
        approval.close(root, status, by=None, now=now, comment=why)
        kind_of(root, approval).decided(root, approval)


def expire(root: Root, now: float) -> bool:
    """Close some; whether there were any. What a node left that was killed while it moved them with the clock comes
    first."""
    if PIECES.goes_on(root):
        return True
    folder = approvals_of(root)
    late = [request_id for request_id, _ in islice(folder.some_items(folder.due(now)), AT_ONCE)]
    for request_id in late:
        lapse(root, request_id, "expired", LATE, now)
    return bool(late)


def _shift(root: Root, request_id: str, by: float) -> int:
    folder = approvals_of(root)
    pending = [approval for _, approval in folder.some_items([request_id]) if approval.status == "pending"]
    for approval in pending:
        folder.move(approval, by)
    return len(pending)


PIECES = ClockPieces(LEASE, "approvals", {REQUESTS: WaitingKind(lambda root, _: approvals_of(root).asked(), _shift)})


def start(node: Node) -> None:
    PIECES.carry(node)

    def purge() -> bool:
        return node.transact(lambda root: approvals_of(root).purge(node.clock.now()))

    node.supervisor.add("approvals-purge", purge, every=3600.0, lease=LEASE, cleans=True)
    node.supervisor.add(
        "approvals-expiry",
        lambda: node.transact(expire, node.clock.now()),
        every=1.0,
        lease=LEASE,
        look=QueueLook(node, lambda root, now: PIECES.is_left(root) or approvals_of(root).due(now)),
    )
