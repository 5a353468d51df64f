"""Which windows a limited person (in a team) sees, and over what they may have one. A window is seen by who sees
something that it covers, and is in the hands of who may act on all of it; one over everything is in no team's.

Must not: know who is in a team.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from opsapp.maintenance.interfaces import IScopeKind
from opsapp.maintenance.logic import MAINTENANCE
from opsapp.maintenance.records import CalendarEntry, WindowRecord
from opsapp.maintenance.resources import Window
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node, node_of
from opsapp.tree.rights import Sight, TagsOfMany
from opsapp.tree.root import Root, root_above

from .board import board_of

CoveringRow = TypeVar("CoveringRow", WindowRecord, CalendarEntry)
UNTAGGED: tuple[str, ...] = ()
ON_ALL = "name what it covers: your team may not act on everything"


class ReachedIds(NamedTuple):
    """What a limited person sees, and of that, what they may act on: of all that a window can cover."""

    seen: frozenset[str]
    acted: frozenset[str]


def reached(root: Root, sight: Sight) -> ReachedIds:
    known = [tagged for kind in _caught_up(root) for tagged in kind.tagged(node_of(root))]
    seen = frozenset(item_id for item_id, tags in known if sight.sees(tags))
    return ReachedIds(seen, frozenset(item_id for item_id, tags in known if sight.may("act", tags)))


def narrowed(rows: Iterable[CoveringRow], root: Root, sight: Sight | None) -> list[CoveringRow]:
    """Those that cover something that is seen, and of their scope this alone."""
    if sight is None:
        return list(rows)
    seen = reached(root, sight).seen
    within = ((row, tuple(item_id for item_id in row.scope if item_id in seen)) for row in rows)
    return [replace(row, scope=scope) for row, scope in within if scope or (seen and not row.scope)]


def wrong_scope(root: Root, sight: Sight, scope: Collection[str], before: Collection[str] = ()) -> dict[str, str]:
    """Why a limited person may have no window over this. What they do not see is not there."""
    ids = reached(root, sight)
    missing = [item_id for item_id in scope if item_id not in ids.seen and item_id not in before]
    barred = [item_id for item_id in scope if item_id in ids.seen and item_id not in ids.acted]
    if missing:
        return {"scope": "no such monitor or agent: " + ", ".join(missing)}
    if barred:
        return {"scope": "your team may not act on these: " + ", ".join(barred)}
    return {} if scope else {"scope": ON_ALL}


def tags_of_window(window: Window) -> TagsOfMany:
    """What it covered and is gone tells nothing."""
    root = root_above(window)
    node, scope = node_of(root), window.record.scope
    kinds = _caught_up(root)
    if not scope:
        return _over_everything(node)
    present = [item_id for item_id in scope if any(kind.exists(root, item_id) for kind in kinds)]
    return TagsOfMany(tuple(_tags_of(node, item_id) for item_id in present))


def tags_of_event(node: Node, event: Event) -> TagsOfMany:
    """From memory, as it was read last."""
    plan = board_of(node).plans.get(event.data.get("id", ""))
    if plan is None or plan.family != MAINTENANCE:
        return TagsOfMany(())
    if plan.scope is None:
        return _over_everything(node)
    return TagsOfMany(tuple(_tags_of(node, item_id) for item_id in plan.scope))


def _over_everything(node: Node) -> TagsOfMany:
    """And over what will be: it is in no team's hands."""
    return TagsOfMany((*{frozenset(tags) for kind in kinds_of(node) for _, tags in kind.tagged(node)}, UNTAGGED))


def _caught_up(root: Root) -> list[Any]:
    kinds = kinds_of(node_of(root))
    for kind in kinds:
        kind.catch_up(root)
    return kinds


def _tags_of(node: Node, item_id: str) -> Collection[str]:
    told = (kind.tags_of(node, item_id) for kind in kinds_of(node))
    return next((tags for tags in told if tags is not None), UNTAGGED)


def kinds_of(node: Node) -> list[Any]:
    """Of what a window can cover: each an `IScopeKind`."""
    return [kind for _, kind in node.registry.getUtilitiesFor(IScopeKind)]
