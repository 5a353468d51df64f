"""Maintenance windows of both families over one store: /api/maintenance, and what hangs at /api/healing/maintenance.

Greenlets: `maintenance` keeps this node's memory of the windows up to date; `maintenance-purge` forgets old ones.

    logic.py    when a window is on, and when it comes next: pure
    records.py  what a window is, for everybody
    resources.py what is stored
    engine/     making and changing windows, this node's memory of them, what other rooms ask
    views.py    both families

It knows ids and times only. What an id is, and what a window means for monitors, hosts and heals, the rooms above know:
they register the interfaces of `interfaces.py`, and ask `engine`.
"""


def includeme(config):
    from opsapp.notify.interfaces import ISilence
    from opsapp.runtime.deletions import Deletable

    from .config import MaintenanceSettings
    from .engine import silent, windows
    from .records import WindowAsCode

    config.add_evolve_step("maintenance-1", "opsapp.maintenance.resources.set_up")
    config.add_section("maintenance", MaintenanceSettings)
    config.add_applier("opsapp.maintenance.engine.windows.declare")
    config.add_kind("windows", "opsapp.maintenance.engine.ascode", schema=WindowAsCode, names=True)
    config.registry.registerUtility(silent, ISilence)
    config.add_deletable(Deletable("window", "operator", "/maintenance/{}", windows.put_back))
    config.add_preparation("opsapp.maintenance.engine.board.prepare")
    config.add_engine("opsapp.maintenance.engine.board.start")
    config.scan("opsapp.maintenance.views")
