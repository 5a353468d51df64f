"""Overrides as code (`opsapp.runtime.ascode`), by schedule, user and start, by the service's clock. One that is over is
in no document, and is not made again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from opsapp.lib.problems import Invalid
from opsapp.maintenance.engine import instant
from opsapp.oncall.records import OverrideAsCode
from opsapp.oncall.resources import Override, Overrides, Schedule, by_name, oncall_of
from opsapp.oncall.schemas import OverrideGiven
from opsapp.runtime.ascode.kinds import Awaited, StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import settings_of

from . import plans

BY = "code"


def stored(node: Node, root: Root) -> Iterator[StoredEntry]:
    now, zone = node.clock.now(), node.config.timezone
    for record in sorted((schedule.record for schedule in oncall_of(root).schedules.whole()), key=by_name):
        for override in record.overrides:
            if override.end > now:
                start, end = (_wall(at, zone) for at in (override.start, override.end))
                fields = settings_of(OverrideAsCode(record.name, override.user, start, end))
                yield StoredEntry(f"{record.id}/{override.id}", fields)


def _wall(at: float, zone: str) -> str:
    return datetime.fromtimestamp(at, ZoneInfo(zone)).replace(tzinfo=None).isoformat(timespec="seconds")


def create(node: Node, root: Root, entry: OverrideAsCode) -> str:
    if instant(entry.end, node.config.timezone) <= node.clock.now():
        raise Awaited(f"was over at {entry.end}")
    schedule = _named(root, entry.schedule)
    return f"{schedule.__name__}/{plans.add_override(root, schedule, _given(entry), BY).id}"


def update(_node: Node, root: Root, entry_id: str, entry: OverrideAsCode) -> None:
    """Another end is all that can differ."""
    plans.change_override(root, _override(root, entry_id), _given(entry))


def delete(_node: Node, root: Root, entry_id: str) -> None:
    plans.delete_override(root, _override(root, entry_id))


def _given(entry: OverrideAsCode) -> OverrideGiven:
    return OverrideGiven(entry.user, entry.start, entry.end)


def _named(root: Root, name: str) -> Schedule:
    schedules = oncall_of(root).schedules
    known = {schedule.record.name: schedule for schedule in schedules.whole()}
    if name not in known:
        raise Invalid({"schedule": "there is no such schedule"})
    return known[name]


def _override(root: Root, entry_id: str) -> Override:
    schedule_id, _, override_id = entry_id.partition("/")
    return Overrides(oncall_of(root).schedules[schedule_id], "overrides")[override_id]
