"""Every projection of a node with what a test needs of it: how an item comes, changes and goes, and what the memory
shows of it. A projection that is not here fails the suite."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from opsapp.agents.engine import lifecycle
from opsapp.agents.engine.directory import touched
from opsapp.agents.resources import find_agent
from opsapp.automations.engine import edits
from opsapp.automations.engine.schedules import CHANGED, Scheduler
from opsapp.automations.resources import automations_of
from opsapp.maintenance.engine import windows
from opsapp.maintenance.resources import windows_of
from opsapp.monitoring.engine import changes
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.events import emit
from opsapp.wire.records import changed

WINDOW = {
    "name": "first",
    "start": "2058-01-01T00:00:00",
    "end": "2058-01-01T01:00:00",
    "recurring": None,
    "scope": [],
    "autonomy_override": "disabled",
    "enabled": True,
}
MONITOR = {"name": "first", "type": "http", "url": "http://first.example/"}
TICKS = {"name": "first", "type": "notification", "params": {"title": "x"}, "schedule": "0 1 * * *"}
HOURS = {"first": "0 1 * * *", "second": "0 2 * * *", "third": "0 3 * * *"}


class Sample(NamedTuple):
    """`call` gives the item another name, `shown` is the name in the memory (None: it is not there)."""

    make: Callable[[Any], str]  # of a service; the item's name is "first"
    call: Callable[[Any, str, str], None]  # in a transaction
    remove: Callable[[Any, str], None]
    shown: Callable[[Any, str], str | None]
    stored: Callable[[Any, str], Any]  # the persistent object of the item


def _make_agent(service: Any) -> str:
    return service.transact(lambda root: lifecycle.create(root, "first", [])[0])


def _call_agent(root: Any, agent_id: str, name: str) -> None:
    find_agent(root, agent_id).label = name
    touched(root, agent_id)


def _call_monitor(root: Any, monitor_id: str, name: str) -> None:
    monitor = monitors_of(root)[monitor_id]
    changes.update(root, monitor, replace(monitor.record, name=name), 1.0)


def _call_window(root: Any, window_id: str, name: str) -> None:
    window = windows_of(root)[window_id]
    windows.change(root, window, changed(window.record, {"name": name}))


def _call_schedule(root: Any, automation_id: str, name: str) -> None:
    automation = automations_of(root)[automation_id]
    if automation.redefine(replace(automation.settings, schedule=HOURS[name]), 1.0):
        emit(root, CHANGED, {"id": automation_id})


def _shown_monitor(register: Any, monitor_id: str) -> str | None:
    entry = register.entries.get(monitor_id)
    return entry and entry.name


def _shown_window(board: Any, window_id: str) -> str | None:
    plan = board.plans.get(window_id)
    return plan and plan.name


def _shown_agent(directory: Any, agent_id: str) -> str | None:
    return next((facts.label for facts in directory.all_known() if facts.id == agent_id), None)


def _shown_schedule(scheduler: Any, automation_id: str) -> str | None:
    row = scheduler.rows.get(automation_id)
    return row and list(HOURS)[int(row.at % 86400 // 3600) - 1]


SAMPLES = {
    "monitors": Sample(
        lambda service: service.otto.post_json("/api/monitoring/endpoints", MONITOR).json["id"],
        _call_monitor,
        lambda root, item_id: changes.delete(root, monitors_of(root)[item_id], 1.0),
        _shown_monitor,
        lambda root, item_id: monitors_of(root)[item_id],
    ),
    "windows": Sample(
        lambda service: service.otto.post_json("/api/maintenance", WINDOW).json["id"],
        _call_window,
        lambda root, item_id: windows.delete(root, windows_of(root).get(item_id)),
        _shown_window,
        lambda root, item_id: windows_of(root).get(item_id),
    ),
    "agents": Sample(
        _make_agent,
        _call_agent,
        lambda root, item_id: lifecycle.delete(root, find_agent(root, item_id)),
        _shown_agent,
        find_agent,
    ),
    "schedules": Sample(
        lambda service: service.otto.post_json("/api/automations", TICKS).json["id"],
        _call_schedule,
        lambda root, item_id: edits.remove(root, automations_of(root)[item_id], 1.0),
        _shown_schedule,
        lambda root, item_id: automations_of(root).plans,
    ),
}


class Followed:
    """One projection of a service and one item of it."""

    def __init__(self, service: Any, name: str):
        self.service, self.sample = service, SAMPLES[name]
        self.projection = projections_of(service)[name]
        self.id = self.sample.make(service)
        self.catch_up()

    def catch_up(self) -> None:
        self.service.transact(self.projection.catch_up)

    def call(self, name: str) -> None:
        """Commit another name, as another node would: what this one does right after a commit is undone."""
        self.service.transact(self.sample.call, self.id, name)

    @property
    def shown(self) -> str | None:
        return self.sample.shown(self.projection, self.id)


def projections_of(service: Any) -> dict[str, Any]:
    node = service.node
    if "schedules" not in node.projections.all():
        Scheduler(node)
    return node.projections.all()


@contextmanager
def failing_load(root: Any, number: int, problem: BaseException) -> Any:
    """The n-th object that the transaction loads cannot be had. Answers a list of what was loaded."""
    connection, loaded = root._p_jar, []
    connection.cacheMinimize()
    real = connection.setstate

    def setstate(item: Any) -> None:
        loaded.append(item)
        if len(loaded) == number:
            raise problem
        real(item)

    connection.setstate = setstate
    try:
        yield loaded
    finally:
        del connection.setstate
