"""Maintenance windows of both families over one store: /api/maintenance and /api/healing/maintenance.

Greenlets: `maintenance` keeps this node's memory of windows; `maintenance-purge` forgets old ones. It knows ids and
times only: what an id is, and what a window means, the rooms above say by `interfaces`.
"""


def includeme(config):
    from opsapp.notify.interfaces import ISilence
    from opsapp.runtime.deletions import Deletable

    from .config import MaintenanceSettings
    from .engine import reach, silent, windows
    from .engine.board import EVENT
    from .records import WindowAsCode
    from .resources import Window

    config.add_evolve_step("maintenance-1", "opsapp.maintenance.resources.set_up")
    config.add_section("maintenance", MaintenanceSettings)
    config.add_applier("opsapp.maintenance.engine.windows.declare")
    config.add_kind("windows", "opsapp.maintenance.engine.ascode", schema=WindowAsCode, names=True)
    config.registry.registerUtility(silent, ISilence)
    config.add_reach(Window, reach.tags_of_window)
    config.add_event_reach(EVENT, reach.tags_of_event)
    config.add_deletable(Deletable("window", "operator", "/maintenance/{}", windows.put_back))
    config.add_preparation("opsapp.maintenance.engine.board.prepare")
    config.add_engine("opsapp.maintenance.engine.board.start")
    config.scan("opsapp.maintenance.views")
