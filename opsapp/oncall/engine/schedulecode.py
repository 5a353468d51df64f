"""On-call schedules as code (`opsapp.runtime.ascode`), by name; overrides are another kind."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.oncall.records import ScheduleRecord
from opsapp.oncall.resources import by_name, oncall_of
from opsapp.runtime.ascode.kinds import StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import changed, settings_of

from . import plans


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    for record in sorted((schedule.record for schedule in oncall_of(root).schedules.whole()), key=by_name):
        yield StoredEntry(record.id, settings_of(record))


def create(_node: Node, root: Root, entry: ScheduleRecord) -> str:
    return plans.create_schedule(root, entry).__name__


def update(_node: Node, root: Root, schedule_id: str, entry: ScheduleRecord) -> None:
    schedule = oncall_of(root).schedules[schedule_id]
    plans.change_schedule(root, schedule, changed(schedule.record, settings_of(entry)))


def delete(_node: Node, root: Root, schedule_id: str) -> None:
    plans.delete_schedule(root, oncall_of(root).schedules[schedule_id])
