"""What is done when asked, on a schedule or by a webhook: automations and their runs. /api/automations, /api/secrets.

Greenlets: automations (takes runs up), automations-schedule, automations-answers (what agents have done),
automations-lost (what dead nodes had under way), automations-purge, and one per run in flight.

    logic/      settings, params by type, inputs, places and values, workflows, templates; pure
    records     automations and secrets as they are answered
    resources/  automations, runs, secrets, the queues of runs
    engine/     a run's way (`flow`) and who carries it out: this node (`carrier`), agents (`agent_commands`,
                `answers`), other runs (`parts`), after people have agreed (`approval_requests`, `decisions`);
                schedules; editing. What other rooms call is in its __init__
    views/      the HTTP surface

Must not: know why a room above asks for a run.
"""


def includeme(config):
    from opsapp.runtime.ascode.kinds import ISecretReader
    from opsapp.runtime.deletions import Deletable

    from .config import AutomationSettings, RunsRetention
    from .engine import edits, reach
    from .logic.settings import AutomationSettings as Declared
    from .records import SecretAsCode
    from .resources import Automation, Run, reseal, reveal

    config.add_evolve_step("automations-1", "opsapp.automations.resources.set_up")
    config.add_evolve_step("automations-counts", "opsapp.automations.resources.runs.count_runs")
    config.add_evolve_step("automations-endings", "opsapp.automations.resources.runs.index_runs")
    config.add_section("automations", AutomationSettings)
    config.add_section("retention.runs", RunsRetention)
    config.add_sealed(reseal)
    config.add_deletable(Deletable("automation", "operator", "/automations/{}", edits.put_back))
    config.add_kind("automations", "opsapp.automations.engine.ascode", schema=Declared, names=True, placeholders=True)
    config.add_kind("secrets", "opsapp.automations.engine.secretcode", schema=SecretAsCode, guarded=True)
    config.registry.registerUtility(reveal, ISecretReader)
    config.add_reach(Automation, reach.tags_of_automation)
    config.add_reach(Run, reach.tags_of_run)
    config.add_event_reach("run", reach.tags_of_event, reach.narrowed_event)
    config.add_metrics("opsapp.automations.engine.figures.figures")
    config.include("opsapp.automations.engine")
    config.include("opsapp.automations.views")
