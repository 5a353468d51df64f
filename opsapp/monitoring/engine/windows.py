"""What the maintenance room's windows mean for monitors: what a check is judged by, what the status page tells.

When a window begins or ends, each monitor in it is checked: status and SLA change then and not an interval later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from opsapp.maintenance.engine import board_of, upcoming
from opsapp.monitoring.engine.watch import watch_of
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.node import Node
from opsapp.runtime.projection import readable
from opsapp.runtime.wakes import node_of
from opsapp.tree.root import Root

if TYPE_CHECKING:
    from opsapp.monitoring.engine.checking import Checker

DAY_S = 86400.0
SPREAD_S = 5.0  # over which many monitors are checked when their window begins or ends
AT_ONCE = 50


class MonitorScope:
    """An `IScopeKind`."""

    def exists(self, root: Root, each: str) -> bool:
        return each in monitors_of(root)

    def named(self, root: Root, name: str) -> set[str]:
        """By id or name; from memory."""
        entries = watch_of(node_of(root)).entries(root)
        return {entry.id for entry in tuple(entries.values()) if name in (entry.id, entry.settings["name"])}

    def names(self, root: Root) -> Iterator[tuple[str, list[str]]]:
        for each, monitor in readable(monitors_of(root), "monitor"):
            yield each, [monitor.settings["name"]]


class Windows:
    """An `IWindows`: answered from memory."""

    def __init__(self, node: Node):
        self.node = node

    def covers(self, monitor_id: str, now: float) -> bool:
        return board_of(self.node).covers(monitor_id, now)


class PublicWindows:
    """An `IPublicWindows`."""

    def upcoming(self, root: Root, monitor_ids: list[str], now: float) -> list[dict[str, Any]]:
        within = node_of(root).config["maintenance"]["announce_days"] * DAY_S
        found = []
        for each in upcoming(root, now, within):
            scope = each.pop("scope")
            covered = [monitor_id for monitor_id in monitor_ids if scope is None or monitor_id in scope]
            if covered:
                found.append({**each, "monitors": covered})
        return found


class Turns:
    """Follows which monitors are covered, and has those checked for which that has changed."""

    def __init__(self, checker: Checker):
        self.checker = checker
        self.covered: frozenset[str] | None = None  # None: not looked yet
        self._looked: tuple[object, int] = (None, -1)  # at which windows, at which state of the register

    def step(self) -> bool:
        node, table = self.checker.node, self.checker.table
        is_covered, register = board_of(node).covered(node.clock.now()), self.checker.watch.register
        looked = (is_covered, register.version)
        if looked == self._looked:
            return False
        self._looked = looked
        covered = frozenset(each for each in tuple(register.entries) if is_covered(each))
        if self.covered is not None:
            turned = sorted(each for each in covered ^ self.covered if each in table)
            pace = SPREAD_S / len(turned) if len(turned) > AT_ONCE else 0.0
            for n, each in enumerate(turned):
                table.hurry(each, node.clock.monotonic() + n * pace)
        self.covered = covered
        return False
