"""Windows made, changed, switched and dropped: by the API, by the YAML, as code. Transactions."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, cast, get_type_hints

from opsapp.lib.durations import seconds
from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.maintenance import logic
from opsapp.maintenance.config import MaintenanceSettings
from opsapp.maintenance.interfaces import IScopeKind, IWindowEnded
from opsapp.maintenance.logic import HealingWindowFields, WindowFields, WindowSettings
from opsapp.maintenance.resources import HealingWindow, Window, windows_of, zone_of
from opsapp.runtime.config import Configuration
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.runtime.wakes import after_commit
from opsapp.tree.root import Root

from .board import EVENT, KEY

log = logging.getLogger(__name__)

GIVEN = tuple(get_type_hints(logic.WindowSettings))
CONFIG = "config"
MOST_IN_CALENDAR = 100
NEXT_TIMES = 5


def create(root: Root, given: JsonObject, by: str) -> Window:
    """`given` as the schema makes it. Invalid: it ends before it begins, or covers things that do not exist."""
    fields = cast(WindowSettings, fields_of(given))
    refuse_wrong(fields, zone_of(root), _missing(root, fields["scope"]))
    return _add(root, fields, by, "api")


def _add(root: Root, fields: WindowSettings, by: str, source: str) -> Window:
    now = node_of(root).clock.now()
    window = Window({**fields, "created_by": by, "created_at": now}, source)
    windows_of(root)[new_id()] = window
    _tell(root, window, "created")
    return window


def change(root: Root, window: Window, given: JsonObject) -> None:
    """What is given over what is stored. What it covered already may be gone by now."""
    fields = cast(WindowFields, {**window.fields, **fields_of(given)})
    fresh = [item_id for item_id in fields["scope"] if item_id not in window.fields["scope"]]
    refuse_wrong(fields, zone_of(root), _missing(root, fresh))
    _put(root, window, fields, "api")


def _put(root: Root, window: Window, fields: WindowFields, source: str) -> None:
    if fields != window.fields or source != window.source:
        window.change(fields)
        window.source = source
        _tell(root, window, "updated")


def activate(root: Root, window: Window) -> None:
    window.activate(node_of(root).clock.now(), zone_of(root))
    _tell(root, window, "activated")


def deactivate(root: Root, window: Window) -> None:
    window.deactivate(node_of(root).clock.now(), zone_of(root))
    _tell(root, window, "deactivated")


def delete(root: Root, window: Window) -> None:
    _tell(root, window, "deleted")
    del windows_of(root)[window.__name__]


def calendar(root: Root, since: float, until: float) -> list[JsonObject]:
    """When the windows are on between these moments, by start."""
    entries = [
        {**_shown(span), "window_id": window.__name__, **{name: window.fields[name] for name in logic.IN_CALENDAR}}
        for window in windows_of(root).of_family(Window)
        for span in logic.occurrences(window.plan(zone_of(root)), since, until, MOST_IN_CALENDAR)
    ]
    return sorted(entries, key=lambda entry: (entry["start"], entry["name"]))


def preview(root: Root, given: JsonObject) -> list[JsonObject]:
    """The next times of a window that is not made yet. Invalid as it is when it is made."""
    fields, now = cast(WindowFields, fields_of(given)), node_of(root).clock.now()
    refuse_wrong(fields, zone_of(root), _missing(root, fields["scope"]))
    plan = Window(fields, "api").plan(zone_of(root))
    return [_shown(span) for span in logic.occurrences(plan, now, float("inf"), NEXT_TIMES)]


def _shown(span: logic.Occurrence) -> JsonObject:
    return {"start": int(span.start), "end": int(span.end)}


def open_healing(root: Root, given: JsonObject, by: str) -> HealingWindow:
    now, name = node_of(root).clock.now(), new_id()
    about = {"created_by": by, "created_at": now, "expires_at": now + seconds(given["duration"])}
    windows_of(root)[name] = HealingWindow(cast(HealingWindowFields, {**given, **about}))
    window = windows_of(root).get(name)
    _tell(root, window, "created")
    return window


def end_healing(root: Root, window: HealingWindow) -> None:
    window.end(node_of(root).clock.now())
    _tell(root, window, "ended")


def fields_of(given: JsonObject) -> JsonObject:
    """In one form whether it came from JSON, YAML or a schema's default."""
    fields = {name: given[name] for name in GIVEN if name in given}
    return fields | ({"scope": list(given["scope"])} if "scope" in given else {})


def refuse_wrong(fields: WindowSettings, zone: str, missing: Iterable[str] = ()) -> None:
    """What no single field shows."""
    wrong = wrong_scope(missing)
    length = logic.instant(fields["end"], zone) - logic.instant(fields["start"], zone)
    message = logic.wrong_span(min(length, logic.length_of(fields["start"], fields["end"])), fields["recurring"])
    if message:
        wrong["end"] = message
    if wrong:
        raise Invalid(wrong)


def wrong_scope(missing: Iterable[str]) -> dict[str, str]:
    return {"scope": "no such monitor or agent: " + ", ".join(missing)} if missing else {}


def unknown_in(root: Root, given: JsonObject, before: Iterable[str] = ()) -> dict[str, str]:
    """What is wrong with the scope that is given, but for what it covered already."""
    return wrong_scope(_missing(root, [item_id for item_id in given.get("scope", ()) if item_id not in before]))


def _missing(root: Root, scope: Iterable[str]) -> list[str]:
    """Ids that nothing has which a window may cover."""
    kinds = [kind for _, kind in node_of(root).registry.getUtilitiesFor(IScopeKind)]
    return [item_id for item_id in scope if not any(kind.exists(root, item_id) for kind in kinds)]


def _tell(root: Root, window: Any, change: str) -> None:
    """Every node, whoever follows /api/stream, and whoever waits for the window's end."""
    node = node_of(root)
    emit(root, EVENT, {"id": window.__name__, "family": window.family, "change": change})
    board = node.registry.get(KEY)
    if board is not None:  # the YAML is applied before the board is made
        after_commit(root, board.put, window.__name__, None if change == "deleted" else window.plan(zone_of(root)))
    for _, ended in node.registry.getUtilitiesFor(IWindowEnded):
        if change != "created":
            ended(root, node.clock.now())


def declare(root: Root, config: Configuration) -> None:
    """Applier: the windows of the YAML, by name. One that the API has changed stays changed; one that is in the file no
    more goes. A scope may name what was deleted since: that must not keep the service from starting."""
    wanted = {given["name"]: given for given in config[MaintenanceSettings].windows}
    present = {window.fields["name"]: window for window in windows_of(root).of_family(Window)}
    for window in windows_of(root).of_family(Window):
        if window.source == "yaml" and window.fields["name"] not in wanted:
            delete(root, window)
    for name, given in wanted.items():
        fields = cast(WindowSettings, fields_of(given))
        refuse_wrong(fields, config.timezone)
        gone = _missing(root, fields["scope"])
        if gone:
            log.warning("window %r covers things that do not exist: %s", name, ", ".join(gone))
        if name not in present:
            _add(root, fields, CONFIG, "yaml")
        elif present[name].source == "yaml":
            _put(root, present[name], cast(WindowFields, {**present[name].fields, **fields}), "yaml")
