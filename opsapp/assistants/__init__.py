"""The door for assistants: /api/mcp (Model Context Protocol, streamable HTTP). They read, ask why, and propose. A
proposal is a request that a person decides, and goes through the healing pipeline or an automation's run, with all
their gates. Reading tools are GETs of the API, asked as whoever calls.

Greenlet: assistants-end. Must not: approve, acknowledge, decide, or change anything by itself.
"""


def includeme(config):
    from opsapp.approvals.engine import IApprovalKind
    from opsapp.healing.granted import IAllowance

    from .config import AssistantSettings
    from .engine import ProposalApproval, allowed

    config.registry.registerUtility(ProposalApproval(), IApprovalKind, "proposal")
    config.registry.registerUtility(allowed, IAllowance)
    config.add_evolve_step("assistants-1", "opsapp.assistants.resources.set_up", reversible=True)
    config.add_section("assistants", AssistantSettings)
    config.add_metrics("opsapp.assistants.engine.calls.figures")
    config.add_preparation("opsapp.assistants.engine.calls.prepare")
    config.add_engine("opsapp.assistants.engine.start")
    config.add_body_limit("POST", "/api/mcp", 256 << 10)
    config.scan("opsapp.assistants.views")
