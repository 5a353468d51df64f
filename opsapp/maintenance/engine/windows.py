"""Windows made, changed and dropped: by API, YAML, as code. Transactions."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from opsapp.lib.durations import seconds
from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.maintenance import logic
from opsapp.maintenance.config import MaintenanceSettings
from opsapp.maintenance.interfaces import IScopeKind, IWindowEnded
from opsapp.maintenance.records import CalendarEntry, OccurrenceShown, WindowCoverage, WindowRecord
from opsapp.maintenance.resources import HealingWindow, Window, stored, windows_of, zone_of
from opsapp.runtime.config import Configuration
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of, now_of
from opsapp.runtime.wakes import after_commit
from opsapp.tree.root import Root
from opsapp.wire.records import changed, settings_of

from .board import EVENT, KEY
from .reach import kinds_of

log = logging.getLogger(__name__)

CONFIG = "config"
MOST_IN_CALENDAR = 100
NEXT_TIMES = 5
NAMED_DOWN = 10


def create(root: Root, record: WindowRecord, by: str) -> Window:
    """Invalid: it ends before it begins, or covers nothing that exists."""
    _refuse(root, record)
    return _add(root, record, by, "api")


def put_back(root: Root, window: Window) -> None:
    windows_of(root)[window.__name__] = window
    _tell(root, window, "created")


def _add(root: Root, record: WindowRecord, by: str, source: str) -> Window:
    window = Window(stored(replace(record, created_by=by, created_at=now_of(root))), source)
    windows_of(root)[new_id()] = window
    _tell(root, window, "created")
    return window


def change(root: Root, window: Window, record: WindowRecord) -> None:
    """What it covered may be gone by now."""
    _refuse(root, record, window.record.scope)
    _put(root, window, record, "api")


def _put(root: Root, window: Window, record: WindowRecord, source: str) -> None:
    if record != window.record or source != window.source:
        window.change(record)
        window.source = source
        _tell(root, window, "updated")


def activate(root: Root, window: Window) -> None:
    window.activate(now_of(root), zone_of(root))
    _tell(root, window, "activated")


def deactivate(root: Root, window: Window) -> None:
    window.deactivate(now_of(root), zone_of(root))
    _tell(root, window, "deactivated")


def delete(root: Root, window: Window) -> None:
    _tell(root, window, "deleted")
    del windows_of(root)[window.__name__]


def calendar(root: Root, since: float, until: float) -> list[CalendarEntry]:
    """The calendar's entries between two times, sorted by start."""
    entries = [
        _entry(window.__name__, window.record, span)
        for window in windows_of(root).of_family(Window)
        for span in logic.occurrences(window.plan(zone_of(root)), since, until, MOST_IN_CALENDAR)
    ]
    return sorted(entries, key=lambda entry: (entry.start, entry.name))


def _entry(window_id: str, of: WindowRecord, span: logic.Occurrence) -> CalendarEntry:
    at = int(span.start), int(span.end)
    return CalendarEntry(*at, window_id, of.name, of.recurring, of.scope, of.autonomy_override)


def preview(root: Root, record: WindowRecord) -> tuple[OccurrenceShown, ...]:
    """Invalid as `create`."""
    _refuse(root, record)
    plan = Window(stored(record), "api").plan(zone_of(root))
    spans = logic.occurrences(plan, now_of(root), float("inf"), NEXT_TIMES)
    return tuple(OccurrenceShown(int(span.start), int(span.end)) for span in spans)


def coverage(root: Root, wanted: Iterable[str] | None, seen: Collection[str] | None = None) -> WindowCoverage:
    """Counts what the named ids or names cover; None stands for everything. `seen`: of these alone."""
    counts: dict[str, tuple[int, int]] = {}
    down: list[str] = []
    for name, kind in node_of(root).registry.getUtilitiesFor(IScopeKind):
        ids = None if wanted is None else {item_id for text in wanted for item_id in kind.named(root, text)}
        count, names = kind.standing(root, ids if seen is None else seen if ids is None else ids.intersection(seen))
        counts[name], down = (count, len(names)), down + names
    return WindowCoverage(*counts["monitor"], *counts["agent"], tuple(sorted(down)[:NAMED_DOWN]))


def open_healing(root: Root, given: JsonObject, by: str, until: float | None = None) -> HealingWindow:
    now = now_of(root)
    about = {"created_by": by, "created_at": now, "expires_at": until or now + seconds(given["duration"])}
    window = HealingWindow({**given, **about})
    windows_of(root)[new_id()] = window
    _tell(root, window, "created")
    return window


def end_healing(root: Root, window: HealingWindow) -> None:
    window.end(now_of(root))
    _tell(root, window, "ended")


def move_healing(root: Root, by: float) -> None:
    """They last as long as they would have."""
    now = now_of(root)
    windows = windows_of(root).of_family(HealingWindow)
    moved = [window for window in windows if window.record.expires_at + min(by, 0.0) > now]
    for window in moved:
        window.move(by)
        _show(root, window, "updated")
    if moved:
        _look_again(root)


def _refuse(root: Root, record: WindowRecord, before: Iterable[str] = ()) -> None:
    refuse_wrong(record, zone_of(root), unknown_in(root, record.scope, before))


def refuse_wrong(record: WindowRecord, zone: str, unknown: dict[str, str]) -> None:
    """What no single field shows."""
    length = logic.instant(record.end, zone) - logic.instant(record.start, zone)
    message = logic.wrong_span(min(length, logic.length_of(record.start, record.end)), record.recurring)
    wrong = unknown | ({"end": message} if message else {})
    if wrong:
        raise Invalid(wrong)


def unknown_in(root: Root, scope: Iterable[str], before: Iterable[str] = ()) -> dict[str, str]:
    """The mistake to tell where a scope names what does not exist, but for what it covered already."""
    missing = _missing(root, [item_id for item_id in scope if item_id not in before])
    return {"scope": "no such monitor or agent: " + ", ".join(missing)} if missing else {}


def _missing(root: Root, scope: Iterable[str]) -> list[str]:
    kinds = kinds_of(node_of(root))
    return [item_id for item_id in scope if not any(kind.exists(root, item_id) for kind in kinds)]


def _tell(root: Root, window: Any, change: str) -> None:
    """Nodes, /api/stream, and whoever waits for the end."""
    _show(root, window, change)
    if change != "created":
        _look_again(root)


def _show(root: Root, window: Any, change: str) -> None:
    node = node_of(root)
    emit(root, EVENT, {"id": window.__name__, "family": window.family, "change": change})
    board = node.registry.get(KEY)
    if board is not None:  # the YAML is applied before the board is made
        after_commit(root, board.put, window.__name__, None if change == "deleted" else window.plan(zone_of(root)))


def _look_again(root: Root) -> None:
    node = node_of(root)
    for _, ended in node.registry.getUtilitiesFor(IWindowEnded):
        ended(root, node.clock.now())


def declare(root: Root, config: Configuration) -> None:
    """Applier, by name. What the API has changed stays; what left the file goes. A scope may name what was deleted:
    that must not keep the service from starting."""
    wanted = {record.name: record for record in config[MaintenanceSettings].windows}
    present = {window.record.name: window for window in windows_of(root).of_family(Window)}
    for window in windows_of(root).of_family(Window):
        if window.source == "yaml" and window.record.name not in wanted:
            delete(root, window)
    for name, record in wanted.items():
        refuse_wrong(record, config.timezone, {})
        gone = _missing(root, record.scope)
        if gone:
            log.warning("window %r covers things that do not exist: %s", name, ", ".join(gone))
        if name not in present:
            _add(root, record, CONFIG, "yaml")
        elif present[name].source == "yaml":
            _put(root, present[name], changed(present[name].record, settings_of(record)), "yaml")
