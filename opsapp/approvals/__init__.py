"""Requests that people decide: /api/approvals. Greenlet: expiry. Must not: know what is decided about: the rooms above
register an `ApprovalKind` for theirs."""


def includeme(config):
    from opsapp.notify.interfaces import IAnswer

    from .bylink import LABELS, Decision
    from .config import ApprovalSettings
    from .reach import narrowed_event, tags_of_event, tags_of_request
    from .resources import Approval

    config.add_evolve_step("approvals-1", "opsapp.approvals.resources.set_up")
    config.add_evolve_step("approvals-counts", "opsapp.approvals.resources.count_approvals")
    config.add_evolve_step("approvals-subjects", "opsapp.approvals.resources.keep_subjects", reversible=True)
    config.add_reach(Approval, tags_of_request)
    config.add_event_reach("approval", tags_of_event, narrowed_event)
    config.add_section("approvals", ApprovalSettings)
    config.add_engine("opsapp.approvals.engine.start")
    for vote in LABELS:
        config.registry.registerUtility(Decision(vote), IAnswer, vote)
    config.scan("opsapp.approvals.views")
