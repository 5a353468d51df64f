"""Who is called when something is down, and until when: /api/oncall.

Schedules say who is on call; policies whom an open incident calls, after how long, how often. Greenlets: `oncall`,
under its lease; `oncall-purge`. A call is a message of `opsapp.notify` to channels that answer as a person.
"""


def includeme(config):
    from opsapp.monitoring.interfaces import IIncidentTold
    from opsapp.runtime.deletions import Deletable

    from .engine import plans, reach
    from .engine.escalations import heard
    from .records import OverrideAsCode, PolicyRecord, ScheduleRecord
    from .resources import CallPolicy, Schedule

    config.registry.registerUtility(heard, IIncidentTold, "on call")
    config.add_evolve_step("oncall-1", "opsapp.oncall.resources.set_up", reversible=True)
    config.add_evolve_step("oncall-counts", "opsapp.oncall.resources.count_escalations")
    config.add_reach(Schedule, reach.tags_of_schedule)
    config.add_reach(CallPolicy, reach.tags_of_policy)
    config.add_deletable(Deletable("schedule", "admin", "/oncall/schedules/{}", plans.put_back_schedule))
    config.add_deletable(Deletable("policy", "admin", "/oncall/policies/{}", plans.put_back_policy))
    config.add_engine("opsapp.oncall.engine.escalations.start")
    code = "opsapp.oncall.engine"
    config.add_kind("schedules", f"{code}.schedulecode", schema=ScheduleRecord, names=True, audit="oncall.schedule")
    found_by = ("schedule", "user", "start")
    config.add_kind(
        "overrides", f"{code}.overridecode", schema=OverrideAsCode, key=found_by, names=True, audit="oncall.override"
    )
    config.add_kind("policies", f"{code}.policycode", schema=PolicyRecord, names=True, audit="oncall.policy")
    config.scan("opsapp.oncall.views")
