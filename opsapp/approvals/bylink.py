"""A request decided by a link in a message (`notify.interfaces.LinkedAct`). Must not: decide otherwise than the API
(`engine.cast`)."""

from __future__ import annotations

from collections.abc import Mapping

from opsapp.approvals.resources import approvals_of
from opsapp.notify.interfaces import AfterAbort, Answerer, LinkTerms
from opsapp.runtime.node import now_of
from opsapp.tree.root import Root

from .engine import LATE, Voter, cast, refusal
from .reach import barred
from .records import Verdict

LABELS: dict[Verdict, str] = {"approve": "Approve", "reject": "Reject"}


class Decision:
    noun = "approval"

    def __init__(self, vote: Verdict):
        self.vote, self.label, self.audit = vote, LABELS[vote], f"approval.{vote}"

    def terms(self, root: Root, thing_id: str) -> LinkTerms | None:
        approval = approvals_of(root).find(thing_id)
        return None if approval is None else LinkTerms(approval.plan_hash, approval.expires_at)

    def refusal(self, root: Root, thing_id: str, by: Answerer) -> str | None:
        approval = approvals_of(root).find(thing_id)
        forbidden = barred(root, approval, by.name)
        if forbidden is not None:
            return forbidden.message
        if approval.status != "pending":
            whose = f" by {approval.decided_by}" if approval.decided_by else ""
            return f"This request is already {approval.status}{whose}."
        if approval.expires_at <= now_of(root):
            return f"This request is over: {LATE}."
        return refusal(root, approval, Voter(*by), self.vote)

    def done(
        self, root: Root, thing_id: str, by: Answerer, now: float, after_abort: AfterAbort
    ) -> Mapping[str, object]:
        return cast(root, thing_id, Voter(*by), self.vote, None, now, after_abort).told
