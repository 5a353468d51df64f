"""What the public may see: the status document of the monitors tagged `public`. Read-only."""

from __future__ import annotations

from typing import Any

from opsapp.maintenance.engine import upcoming
from opsapp.monitoring.engine import listing
from opsapp.monitoring.engine.register import Entry, by_name
from opsapp.monitoring.engine.watch import watch_of
from opsapp.monitoring.interfaces import IRootCauses
from opsapp.monitoring.logic import statuspage
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.runtime.node import Node
from opsapp.runtime.projection import readable
from opsapp.series import DAY, FINE
from opsapp.tree.root import Root

TAG = "public"


def status_document(node: Node, root: Root) -> dict[str, Any]:
    now = node.clock.now()
    entries = [entry for entry in watch_of(node).entries(root).values() if TAG in entry.settings.tags]
    names = {entry.id: entry.name for entry in entries}
    return statuspage.document(
        _components(node, root, sorted(entries, key=by_name), now),
        _with_causes(node, root, _incidents(root, names, now), set(names.values()), now),
        _windows(node, root, names, now),
        int(now),
    )


def status_document_at(node: Node, root: Root, at: int, *, everything: bool) -> dict[str, Any]:
    """The same as it was when the second `at` ended: what the tree said then, and what was measured until then. Who is
    not signed in sees only what is public now: what was taken from the page since is not shown again."""
    public = {entry.id for entry in watch_of(node).entries(root).values() if TAG in entry.settings.tags}
    components, incidents, windows = node.transact_at(at, _published_then, node, at, None if everything else public)
    for component in components:
        component["days"] = _days_until(node, root, component.pop("series"), at)
    return statuspage.document(components, incidents, windows, at)


def _published_then(then: Root, node: Node, at: int, only: set[str] | None) -> tuple[list[dict[str, Any]], ...]:
    """Over the tree of that time; `only` these monitors."""
    published = [each for _, each in readable(monitors_of(then), "monitor") if TAG in each.settings["tags"]]
    published = [monitor for monitor in published if only is None or monitor.id in only]
    published.sort(key=lambda monitor: (monitor.settings["name"].casefold(), monitor.id))
    names = {monitor.id: monitor.settings["name"] for monitor in published}
    components = [
        {"id": each.id, "name": names[each.id], "status": each.state.status, "series": each.series}
        for each in published
    ]
    return components, _incidents(then, names, at), _windows(node, then, names, at)


def _days_until(node: Node, root: Root, series: int, at: int) -> dict[int, tuple[int, int]]:
    """The day of `at` is told as far as it had come; a sealed one knows only its whole."""
    end = (at + 1) * 1000
    today = end // DAY * DAY
    days = _days(node, root, series, today / 1000)
    days.pop(today // DAY, None)
    parts = node.series.reading(root).buckets(series, today, end, FINE)
    if parts:
        days[today // DAY] = (sum(part.up for part in parts), sum(part.down for part in parts))
    return days


def _components(node: Node, root: Root, entries: list[Entry], now: float) -> list[dict[str, Any]]:
    return [
        {
            "id": entry.id,
            "name": entry.name,
            "status": listing.current_status(node, entry, now),
            "days": _days(node, root, entry.series, now),
        }
        for entry in entries
    ]


def _days(node: Node, root: Root, series: int, now: float) -> dict[int, tuple[int, int]]:
    """{day number: (ms up, ms down)} of the days that the page shows."""
    end = int(now * 1000) + 1
    found = node.series.reading(root).daily(series, end - (statuspage.DAYS - 1) * DAY, end)
    return {day: (each.up, each.down) for day, each in found.items()}


def _incidents(root: Root, names: dict[str, str], now: float) -> list[dict[str, Any]]:
    """Newest first, under the monitor's present name."""
    since = now - statuspage.DAYS * statuspage.DAY_S
    found = [
        incident.record(now) | {"monitor_name": name}
        for monitor_id, name in names.items()
        for incident in incidents_of(root).touching(since, now + 1, monitor_id)
    ]
    return sorted(found, key=lambda record: record["id"], reverse=True)


def _with_causes(
    node: Node, root: Root, incidents: list[dict[str, Any]], published: set[str], now: float
) -> list[dict[str, Any]]:
    """What an open incident comes from, where that is published too; the public hears of nothing else."""
    causes_of = node.registry.queryUtility(IRootCauses)
    suffering = {each["monitor_name"] for each in incidents if each["status"] == "open"}
    causes = causes_of(root, suffering, now) if causes_of is not None and suffering else {}
    shown = {name: cause for name, cause in causes.items() if cause in published}
    return [
        each | {"part_of": shown.get(each["monitor_name"]) if each["status"] == "open" else None} for each in incidents
    ]


def _windows(node: Node, root: Root, names: dict[str, str], now: float) -> list[dict[str, Any]]:
    """Maintenance of what is published, on or to come; monitors by name, and none that is not published."""
    within = node.config["maintenance"]["announce_days"] * statuspage.DAY_S
    windows = []
    for window in upcoming(root, now, within):
        scope = window.pop("scope")
        covered = sorted(name for monitor_id, name in names.items() if scope is None or monitor_id in scope)
        if covered:
            windows.append({**window, "monitors": covered})
    return windows
