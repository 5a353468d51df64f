"""It heals: rules, the six stages, the ledger, earned trust. /api/healing.

Greenlets: alerts (rules over what is reported), pipeline (cases take their steps, under the lease `healing`), governor
(trust each minute), ledger-check (every node, each hour), housekeeping of old cases.

    logic/      pure decisions, without the world
    stages/     the six stages, pure, one file each
    resources/  what is stored
    engine/     alerts, the pipeline's transaction, reaching hosts
    views/      /api/healing

Must not: reach a host other than through `engine.fleet_access`, decide anything outside `stages`.
"""


def includeme(config):
    from opsapp.auth.interfaces import IUserDeleted

    from .config import HealingSettings
    from .engine.inletcounts import figures
    from .engine.problems import give_back
    from .schemas import DeclaredRule

    config.registry.registerUtility(give_back, IUserDeleted, "problems")
    config.add_evolve_step("healing-1", "opsapp.healing.resources.set_up")
    config.add_evolve_step("healing-2", "opsapp.healing.resources.add_deeds")
    config.add_evolve_step("healing-3", "opsapp.healing.resources.add_injections")
    config.add_evolve_step("healing-4", "opsapp.healing.resources.add_given")
    config.add_evolve_step("healing-windows-moved", "opsapp.healing.resources.surroundings.move_windows")
    config.add_evolve_step("healing-5", "opsapp.healing.resources.index_failures")
    config.add_evolve_step("healing-6-closed", "opsapp.healing.resources.index_closed")
    config.add_evolve_step("healing-line", "opsapp.healing.resources.add_line")
    config.add_evolve_step("healing-alone", "opsapp.healing.resources.add_alone")
    config.add_evolve_step("healing-trials", "opsapp.healing.resources.add_trials")
    config.add_evolve_step("healing-unsure", "opsapp.healing.resources.withdraw_unsure")
    config.add_evolve_step("healing-queues", "opsapp.healing.resources.index_queues")
    config.add_evolve_step("healing-problems", "opsapp.healing.resources.add_problems")
    config.add_evolve_step("healing-edges", "opsapp.healing.resources.add_edges")
    config.add_evolve_step("healing-foresight", "opsapp.healing.resources.add_foresight")
    config.add_evolve_step("healing-inlets", "opsapp.healing.resources.add_inlets")
    config.add_evolve_step("healing-inlet-shares", "opsapp.healing.resources.part_events")
    config.add_metrics(figures)
    config.add_chain("opsapp.healing.resources.sign_ledger")
    config.add_section("healing", HealingSettings)
    config.add_kind("rules", "opsapp.healing.engine.ascode", schema=DeclaredRule, key="id")
    config.add_applier("opsapp.healing.engine.configured.declare")
    config.include("opsapp.healing.engine")
    config.include("opsapp.healing.views.eventbodies")
    config.scan("opsapp.healing.views")
