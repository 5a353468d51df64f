"""What an approval of a heal stands on, and what its decision sets off."""

from __future__ import annotations

from opsapp.approvals.records import TimesHelped
from opsapp.approvals.resources import Approval
from opsapp.automations.engine import accepted, written_by
from opsapp.healing.resources import healing_of
from opsapp.runtime.node import now_of
from opsapp.tree.root import Root

from .approvals import ground_gone
from .pipeline import world_now
from .proposed import record_of


class HealApproval:
    """The `heal` kind of `approvals.engine.ApprovalKind`."""

    def gone(self, root: Root, approval: Approval) -> str | None:
        """Checked again at the click. Of a whole outage one target is enough: each is checked for itself before it
        is acted on."""
        book, world = healing_of(root).book, world_now(root)
        gone = "the case is gone"
        for case_id in approval.targets or [approval.about["case_id"]]:
            case = book.find(case_id)
            why = gone if case is None else ground_gone(case.record, approval, world, root)
            if why is None:
                return None
            gone = why
        return gone

    def own(self, root: Root, approval: Approval, name: str) -> str | None:
        """Healing asks; but somebody may have written the automation that it would run."""
        reasons = (written_by(root, automation_id, name) for automation_id in approval.plan.get("automation", ()))
        return next((reason for reason in reasons if reason is not None), None)

    def record(self, root: Root, approval: Approval) -> TimesHelped | None:
        action, condition = approval.plan.get("action"), approval.plan.get("condition")
        return record_of(root, action, condition) if action and condition else None

    def decided(self, root: Root, approval: Approval) -> None:
        if approval.status == "approved":
            for automation_id in approval.plan.get("automation", ()):
                accepted(root, automation_id)
        book = healing_of(root).book
        if approval.targets:
            book.announce(root, approval.__name__)
        else:
            book.arrived(root, approval.__name__, now_of(root))
