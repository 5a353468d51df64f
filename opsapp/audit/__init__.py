"""Who did what: an append-only record of every change and every login, refused or not. /api/audit. Greenlets:
audit-refusals (every node), audit-retention, audit-forwarding.

The view deriver leaves no change without an entry; a view adds what it knows: `request.audit("user.update", name,
before=…, after=…)`. Must not: decide anything.
"""

from pyramid.config import Configurator


def includeme(config: Configurator) -> None:
    from opsapp.runtime.findings import IStoreFinder

    from .config import AuditRetention, ForwardSettings
    from .engine import TALLY, forwarding
    from .logic.tally import Tally

    config.registry[TALLY] = Tally()
    config.add_section("retention.audit", AuditRetention)
    config.add_section("audit.forward", ForwardSettings)
    config.registry.registerUtility(forwarding.standing, IStoreFinder, "audit forwarding")
    config.add_metrics("opsapp.audit.engine.forwarding.figures")
    config.add_stored_metrics("opsapp.audit.engine.forwarding.backlog_figures")
    config.add_evolve_step("audit-1", "opsapp.audit.resources.set_up")
    config.add_chain("opsapp.audit.resources.begin_chains")
    config.add_preparation("opsapp.audit.engine.prepare")
    config.add_engine("opsapp.audit.engine.start")
    config.add_engine("opsapp.audit.engine.start_everywhere", everywhere=True)
    config.add_farewell("opsapp.audit.engine.stop")
    config.include("opsapp.audit.requests")
    config.scan("opsapp.audit.views")
