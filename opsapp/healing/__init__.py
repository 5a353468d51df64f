"""It heals: rules, the six stages, the ledger, earned trust. /api/healing. And the moment, with what was deployed:
/api/moment, /api/deployments.

Greenlets: alerts (rules over what is reported), pipeline (cases take their steps, under the lease `healing`), governor
(trust each minute), ledger-check (every node, each hour), housekeeping of old cases and ledger entries.

    logic/      pure decisions, without the world
    stages/     the six stages, pure, one file each
    resources/  what is stored
    engine/     alerts, the pipeline's transaction, reaching hosts
    views/      /api/healing

Must not: reach a host other than through `engine.inventory.FleetAccess`, decide anything outside `stages`.
"""


def includeme(config):
    from opsapp.approvals.reach import ISubjectTags
    from opsapp.auth.interfaces import IUserGone
    from opsapp.runtime.deletions import Deletable

    from .config import CasesRetention, DeploymentsRetention, HealingSettings, LedgerRetention
    from .deployments import Deployment
    from .engine import dependencies, deployments, health, inlets, memberviews, reach
    from .engine.problems import give_back
    from .letters import LetterAsCode
    from .logic.graph import Dependency
    from .records import DeclaredRule, InletAsCode
    from .resources import CaseView
    from .resources.rules import Rule, put_rule_back

    config.registry.registerUtility(reach.KnownSubjects(), ISubjectTags)
    config.add_reach(CaseView, reach.tags_of_case)
    config.add_reach(Rule, reach.tags_of_rule)
    config.add_event_reach("heal", reach.tags_of_heal_event, memberviews.event)
    config.registry.registerUtility(give_back, IUserGone, "problems")
    config.add_evolve_step("healing-1", "opsapp.healing.resources.set_up")
    config.add_evolve_step(
        "healing-ledger-filters", "opsapp.healing.resources.ledgerfilters.index_filters", reversible=True
    )
    config.add_evolve_step("healing-coin", "opsapp.healing.resources.trials.only_by_coin")
    config.add_evolve_step(
        "healing-ledger-counts", "opsapp.healing.resources.ledgerfilters.count_outcomes", reversible=True
    )
    config.add_evolve_step("healing-deed-members", "opsapp.healing.resources.waves.members_into_trees")
    config.add_evolve_step("healing-under-way", "opsapp.healing.resources.cases.rank_open")
    config.add_evolve_step("healing-deployments", "opsapp.healing.deployments.set_up", reversible=True)
    config.add_stored_metrics(inlets.figures)
    config.add_stored_metrics(health.figures)
    config.add_chain("opsapp.healing.resources.sign_ledger")
    config.add_chain("opsapp.healing.resources.signedtrust.sign_all")
    config.add_section("healing", HealingSettings)
    config.add_section("retention.cases", CasesRetention)
    config.add_section("retention.ledger", LedgerRetention)
    config.add_section("retention.deployments", DeploymentsRetention)
    config.add_kind("rules", "opsapp.healing.engine.ascode", schema=DeclaredRule, key="id", placeholders=True)
    config.add_kind("letter", "opsapp.healing.engine.lettercode", schema=LetterAsCode, key="letter", names=True)
    config.add_kind("inlets", "opsapp.healing.engine.inletcode", schema=InletAsCode, audit="healing.inlet")
    config.add_kind(
        "dependencies",
        "opsapp.healing.engine.dependencycode",
        schema=Dependency,
        key="target",
        names=True,
        audit="healing.dependency",
    )
    config.add_deletable(Deletable("rule", "admin", "/healing/rules/{}", put_rule_back))
    config.add_deletable(Deletable("dependency", "admin", "/healing/dependencies", dependencies.add_edge_back))
    config.add_reach(Deployment, deployments.tags_of_deployment)
    config.add_deletable(Deletable("deployment", "operator", "/deployments", deployments.put_back))
    config.add_deletable(Deletable("inlet", "admin", "/healing/inlets", inlets.put_back))
    config.add_applier("opsapp.healing.engine.default_rules.declare")
    config.include("opsapp.healing.engine")
    config.include("opsapp.healing.views.eventbodies")
    config.scan("opsapp.healing.views")
