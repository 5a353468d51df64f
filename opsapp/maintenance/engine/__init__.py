"""What other rooms call of maintenance. In a transaction, but for `board_of(node)`, which answers from memory on the
hub, and `active` and `occurrences`, which take plans."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.maintenance.logic import (
    HEALING,
    MAINTENANCE,
    Active,
    WindowPlan,
    active,
    covers,
    current,
    following,
    instant,
    occurrences,
)
from opsapp.maintenance.resources import HealingWindow, plans_of, windows_of
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from .board import Board, board_of
from .board import prepare as prepare_board
from .reach import kinds_of
from .windows import end_healing, move_healing, open_healing


def active_windows(root: Root, now: float) -> list[Active]:
    return active(plans_of(root, board_of(node_of(root)).long_over(now)), now)


def healing_windows(root: Root, now: float) -> list[HealingWindow]:
    """Those that are on."""
    windows = windows_of(root).of_family(HealingWindow, without=board_of(node_of(root)).long_over(now))
    return [window for window in windows if window.record.expires_at > now]


class UpcomingWindow(NamedTuple):
    id: str
    recurs: bool
    name: str
    start: int
    end: int
    active: bool
    scope: frozenset[str] | None  # None: everything


def upcoming(root: Root, now: float, within_s: float) -> list[UpcomingWindow]:
    """On, or soon, earliest first."""
    windows = []
    for plan in plans_of(root):
        on = current(plan, now)
        occurrence = on or following(plan, now)
        if plan.family == MAINTENANCE and occurrence is not None and occurrence.start <= now + within_s:
            start, end = int(occurrence.start), int(occurrence.end)
            windows.append(
                UpcomingWindow(plan.id, plan.cron is not None, plan.name, start, end, on is not None, plan.scope)
            )
    return sorted(windows, key=lambda window: (window.start, window.name))


def silent(root: Root, target: str, now: float) -> bool:
    """An `ISilence`: `target` is an id, a name, or `host/NAME`."""
    node = node_of(root)
    plans = [window.plan for window in board_of(node).active(now) if window.plan.family != HEALING]
    if not plans:
        return False
    if any(plan.scope is None for plan in plans):
        return True
    names = {target, target.partition("/")[0]}
    ids = {item_id for name in names for kind in kinds_of(node) for item_id in kind.named(root, name)}
    return any(covers(plan, names | ids) for plan in plans)
