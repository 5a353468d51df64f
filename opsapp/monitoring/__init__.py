"""Monitors, probes, incidents: /api/monitoring.

Greenlets: `monitors` follows the store, `checks` starts what is due, and one per check in flight.
"""


def includeme(config):
    from opsapp.auth.interfaces import IUserGone
    from opsapp.maintenance.interfaces import IScopeKind
    from opsapp.notify.interfaces import IAnswer
    from opsapp.runtime.deletions import Deletable

    from .earlier import EarlierDaysAsCode
    from .engine import bylink, changes, lateststatus, notices, reach
    from .engine.figures import figures, of_each
    from .engine.scope import MonitorScope
    from .engine.watch import KEY, Watch
    from .logic.settings import IncidentsRetention, MonitoringSettings, NewMonitor
    from .notices import NoticeSettings
    from .resources import Incident, Monitor

    config.registry.registerUtility(MonitorScope(), IScopeKind, "monitor")
    config.registry.registerUtility(bylink.TakenOver(), IAnswer, "acknowledge")
    config.registry.registerUtility(changes.give_back, IUserGone, "incidents")
    config.registry[KEY] = Watch(config.registry["opsapp.node"])
    config.registry[lateststatus.KEY] = lateststatus.LatestStatus(config.registry["opsapp.node"])
    config.add_reach(Monitor, reach.tags_of_monitor)
    config.add_reach(Incident, reach.tags_of_incident)
    config.add_event_reach("monitor", reach.tags_of_monitor_event)
    config.add_event_reach("incident", reach.tags_of_incident_event)
    config.add_section("monitoring", MonitoringSettings)
    config.add_section("retention.incidents", IncidentsRetention)
    config.add_metrics(figures)
    config.add_stored_metrics(of_each)
    config.add_evolve_step("monitoring-1-tree", "opsapp.monitoring.evolve.set_up")
    config.add_evolve_step("monitoring-2-notices", "opsapp.monitoring.notices.set_up", reversible=True)
    config.add_evolve_step("monitoring-3-earlier", "opsapp.monitoring.earlier.set_up", reversible=True)
    config.add_evolve_step("monitoring-counts", "opsapp.monitoring.evolve.count_incidents")
    config.add_evolve_step("monitoring-taken", "opsapp.monitoring.evolve.index_taken")
    config.add_kind("monitors", "opsapp.monitoring.engine.ascode", schema=NewMonitor)
    config.add_kind(
        "earlier_days", "opsapp.monitoring.engine.earlierdays", schema=EarlierDaysAsCode, key="monitor", names=True
    )
    config.add_kind("notices", "opsapp.monitoring.engine.noticecode", schema=NoticeSettings, key="title", names=2)
    config.add_deletable(Deletable("monitor", "admin", "/monitors/{}", changes.put_back, changes.let_go))
    config.add_deletable(Deletable("notice", "operator", "/incidents", notices.put_back))
    config.add_engine("opsapp.monitoring.engine.checks.start")
    config.add_engine("opsapp.monitoring.engine.pushes.start")
    config.add_engine("opsapp.monitoring.engine.retention.start")
    config.scan("opsapp.monitoring.views")
