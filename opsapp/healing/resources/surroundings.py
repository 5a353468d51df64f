"""What older stores hold under this module's name: the dependencies, and healing windows from before they moved into
the maintenance room."""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject
from opsapp.maintenance import resources as maintenance
from opsapp.maintenance.resources import windows_of
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root

from .dependencies import Dependencies

__all__ = ["Dependencies", "StoredHealingWindow", "StoredHealingWindows", "move_windows"]


class StoredHealingWindows(Folder):
    """Where healing windows were stored before the room of maintenance had them. Read by `move_windows` alone."""

    url = "/api/healing/maintenance"


class StoredHealingWindow(Record):
    """One of those; its `fields` are those of `opsapp.maintenance.resources.HealingWindow`."""

    url = "/api/healing/maintenance/{window_id}"

    def __init__(self, fields: JsonObject):
        self.fields = fields


HealingWindow, HealingWindows = StoredHealingWindow, StoredHealingWindows  # their names in older stores


def move_windows(root: Root) -> None:
    """Evolve step: into the one store of both families, under the ids that they had."""
    healing = root["api"]["healing"]
    old = healing.get("maintenance")
    if old is None:
        return
    for name, window in old.items():
        windows_of(root)[name] = maintenance.HealingWindow(window.fields)
    del healing["maintenance"]
