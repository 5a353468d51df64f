"""When a maintenance window begins or ends, each monitor in it is checked: status and SLA change then and not an
interval later.
"""

from __future__ import annotations

from opsapp.maintenance.engine import board_of
from opsapp.monitoring.engine.register import Register
from opsapp.monitoring.logic.timetable import Timetable
from opsapp.runtime.node import Node

SPREAD_S = 5.0  # over which many monitors are checked when their window begins or ends
AT_ONCE = 50


class WindowEdges:
    """Schedules a check of each monitor that a window covers now and did not before, or the other way round."""

    def __init__(self, node: Node, register: Register, timetable: Timetable):
        self._node, self._register, self._timetable = node, register, timetable
        self._covered: frozenset[str] | None = None  # None: not looked yet
        self._looked: tuple[object, int] = (None, -1)  # at which windows, at which state of the register

    def step(self) -> bool:
        clock, register = self._node.clock, self._register
        is_covered = board_of(self._node).covered(clock.now())
        looked = (is_covered, register.version)
        if looked == self._looked:
            return False
        self._looked = looked
        covered = frozenset(filter(is_covered, tuple(register.entries)))
        if self._covered is not None:
            changed = sorted(monitor_id for monitor_id in covered ^ self._covered if monitor_id in self._timetable)
            pace = SPREAD_S / len(changed) if len(changed) > AT_ONCE else 0.0
            for n, monitor_id in enumerate(changed):
                self._timetable.hurry(monitor_id, clock.monotonic() + n * pace)
        self._covered = covered
        return False
