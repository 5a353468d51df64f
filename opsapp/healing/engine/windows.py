"""What maintenance windows mean for healing, and what their end means for the events that wait for it."""

from __future__ import annotations

from collections.abc import Iterable

from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.windows import ActiveWindow, effect_of
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.correlation import spread
from opsapp.maintenance.engine import Active, WindowPlan, active, active_windows
from opsapp.runtime.node import node_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root


def source(root: Root, now: float) -> list[ActiveWindow]:
    """An `IWindowSource`."""
    return _of_healing(active_windows(root, now))


def on_at(plans: Iterable[WindowPlan], at: float) -> list[ActiveWindow]:
    return _of_healing(active(plans, at))


def _of_healing(windows: Iterable[Active]) -> list[ActiveWindow]:
    return [
        ActiveWindow(plan.id, plan.scope, effect_of(plan.effect), span.end, plan.name, plan.by, plan.zone)
        for plan, span in windows
    ]


def ended(root: Root, now: float) -> None:
    """An `IWindowEnded`: what was queued is looked at again, spread over time; another window may hold it still."""
    book, settings = healing_of(root).book, node_of(root).config[HealingSettings]
    for case in book.all_open():
        if case.record.queued:
            book.schedule(case, now + spread(case.record.id, settings.queue_spread_s))
    wake_after_commit(root, "healing")
