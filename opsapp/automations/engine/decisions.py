"""What a decision about a run sets off: the `run` kind of approvals."""

from __future__ import annotations

from opsapp.approvals.records import TimesHelped
from opsapp.approvals.resources import Approval
from opsapp.automations.resources import Run, automations_of, run_of, runs_of
from opsapp.lib.problems import Conflict
from opsapp.runtime.node import now_of
from opsapp.tree.root import Root

from . import flow
from .approval_requests import accepted, ground_gone, written_by
from .warroom import FAILED, LOOKED_AT, SUCCEEDED


class RunApproval:
    """The `run` kind of `approvals.engine.ApprovalKind`."""

    def gone(self, root: Root, approval: Approval) -> str | None:
        return ground_gone(root, run_of(root, approval.about["run_id"]), approval.plan_hash)

    def own(self, root: Root, approval: Approval, name: str) -> str | None:
        run = run_of(root, approval.about["run_id"])
        return None if run is None else written_by(root, run.automation_id, name)

    def record(self, root: Root, approval: Approval) -> TimesHelped | None:
        """Counts those of the automation's newest runs that have ended."""
        run = run_of(root, approval.about["run_id"])
        automation = None if run is None else automations_of(root).find(run.automation_id)
        if automation is None:
            return None
        newest = runs_of(root).some(automation.history.newest(LOOKED_AT))
        statuses = [ended.status for ended in newest]
        helped = sum(status in SUCCEEDED for status in statuses)
        return TimesHelped(helped + sum(status in FAILED for status in statuses), helped)

    def decided(self, root: Root, approval: Approval) -> None:
        """It goes on, or comes to its end, in the transaction of the decision."""
        run = run_of(root, approval.about["run_id"])
        if run is None or run.status != "pending_approval":
            return
        now = now_of(root)
        if approval.status == "approved":
            accepted(root, run.automation_id)
            _go_on(root, run, now)
        elif approval.status == "withdrawn":
            flow.end(root, run, "cancelled", now, reason=approval.comment or "withdrawn")
        else:
            who = f" by {approval.decided_by}" if approval.decided_by else ""
            comment = f": {approval.comment}" if approval.comment else ""
            flow.end(root, run, "rejected", now, reason=f"{approval.status}{who}{comment}")


def _go_on(root: Root, run: Run, now: float) -> None:
    try:
        flow.admit(root, run, flow.find(root, run.automation_id).state, run.settings.concurrency, now)
    except Conflict as busy:
        flow.end(root, run, "cancelled", now, reason=busy.message)
