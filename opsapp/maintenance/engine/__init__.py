"""What other rooms call of maintenance: the names below, `interfaces`, `resources`.

In a transaction: `active_windows`, `upcoming`, `silent`, `healing_windows`. On the hub, from memory: `board_of(node)`.
"""

from __future__ import annotations

from typing import Any

from opsapp.maintenance.interfaces import IScopeKind
from opsapp.maintenance.logic import HEALING, MAINTENANCE, Active, Span, active, covers, current, following
from opsapp.maintenance.resources import HealingWindow, plans_of, windows_of
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root

from .board import board_of
from .board import prepare as prepare_board

__all__ = ["active_windows", "board_of", "healing_windows", "prepare_board", "silent", "upcoming"]


def active_windows(root: Root, now: float) -> list[Active]:
    """Windows of both families that are on, as the transaction sees them."""
    return active(plans_of(root), now)


def healing_windows(root: Root, now: float) -> list[HealingWindow]:
    """The healing family's records that are on."""
    return [one for one in windows_of(root).of_family(HealingWindow) if one.fields["expires_at"] > now]


def upcoming(root: Root, now: float, within_s: float) -> list[dict[str, Any]]:
    """Maintenance that is on or begins soon, earliest first: {name, start, end, active, scope}; scope None: all."""
    found = []
    for plan in plans_of(root):
        on = current(plan, now)
        span: Span | None = on or following(plan, now)
        if plan.family == MAINTENANCE and span is not None and span.start <= now + within_s:
            about = {"name": plan.name, "start": int(span.start), "end": int(span.end)}
            found.append({**about, "active": on is not None, "scope": plan.scope})
    return sorted(found, key=lambda each: (each["start"], each["name"]))


def silent(root: Root, target: str, now: float) -> bool:
    """An `ISilence`: whether a maintenance window covers a target, which is an id or a name, or `host/NAME`."""
    node = node_of(root)
    plans = [each.plan for each in board_of(node).active(now) if each.plan.family != HEALING]
    if not plans:
        return False
    if any(plan.scope is None for plan in plans):
        return True
    names = {target, target.partition("/")[0]}
    kinds = [kind for _, kind in node.registry.getUtilitiesFor(IScopeKind)]
    ids = {each for name in names for kind in kinds for each in kind.named(root, name)}
    return any(covers(plan, names | ids) for plan in plans)
