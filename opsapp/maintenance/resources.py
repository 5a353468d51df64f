"""Windows of both families in one folder; each URL shows its own."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from opsapp.lib.problems import Conflict
from opsapp.maintenance import logic
from opsapp.maintenance.logic import HEALING, MAINTENANCE, WindowPlan
from opsapp.maintenance.records import HealingWindowRecord, WindowRecord
from opsapp.runtime.node import node_of
from opsapp.tree.damage import Damage
from opsapp.tree.folder import Facet, Folder, Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root, root_above
from opsapp.wire.records import made, settings_of

KIND = "window"
Stored = dict[str, object]  # a record as the store keeps it


def stored(window: WindowRecord) -> Stored:
    return {**settings_of(window), "created_by": window.created_by, "created_at": window.created_at}


def set_up(root: Root) -> None:
    """Evolve step: no windows."""
    windows_of.put(root, Windows())


class Windows(Folder):
    """/api/maintenance"""

    url = "/api/maintenance"
    holds = KIND

    def __getitem__(self, name: str) -> Any:
        child = super().__getitem__(name)
        if isinstance(child, HealingWindow):
            raise KeyError(name)
        return child

    def of_family(self, cls: type, without: Collection[str] = ()) -> list[Any]:
        """The windows of one class in the order in which they were made."""
        return self.parted_family(cls, without)[0]

    def parted_family(self, cls: type, without: Collection[str] = ()) -> tuple[list[Any], list[Damage]]:
        """The windows of one class, and what cannot be read of windows of any class."""
        windows, damaged = self.parted(without)
        of_family = [window for window in windows if isinstance(window, cls)]
        return sorted(of_family, key=lambda window: (window.fields["created_at"], window.__name__)), damaged


class Window(Record):
    """/api/maintenance/{id}. `fields` is replaced whole; `source`: `api` or `yaml`."""

    url = "/api/maintenance/{window_id}"
    family = MAINTENANCE

    def __init__(self, fields: Stored, source: str):
        self.fields = fields
        self.source = source
        self.forced: tuple[float, float] | None = None
        self.void_until = 0.0

    @property
    def record(self) -> WindowRecord:
        return made(WindowRecord, {**self.fields, "id": self.__name__, "source": self.source})

    def plan(self, zone: str) -> WindowPlan:
        record = self.record
        return WindowPlan(
            id=self.__name__,
            family=MAINTENANCE,
            name=record.name,
            start=logic.instant(record.start, zone),
            end=logic.instant(record.end, zone),
            scope=frozenset(record.scope) or None,
            effect=record.autonomy_override,
            cron=record.recurring,
            length=logic.length_of(record.start, record.end),
            zone=zone,
            enabled=record.enabled,
            forced=self.forced,
            void_until=self.void_until,
        )

    def change(self, record: WindowRecord) -> None:
        """One that is moved forgets what was done by hand."""
        before = self.record
        if (record.start, record.end, record.recurring) != (before.start, before.end, before.recurring):
            self.forced, self.void_until = None, 0.0
        self.fields = stored(record)

    def activate(self, now: float, zone: str) -> None:
        """Starts the window now, for its own length."""
        plan = self.plan(zone)
        if logic.current(plan, now) is not None:
            raise Conflict("This window is active already.", code="already_active")
        self.forced = (now, now + (plan.end - plan.start))

    def deactivate(self, now: float, zone: str) -> None:
        if logic.current(self.plan(zone), now) is None:
            raise Conflict("This window is not active.", code="not_active")
        self.forced, self.void_until = None, now

    def shown(self, now: float, zone: str) -> WindowRecord:
        plan = self.plan(zone)
        on = logic.current(plan, now)
        near = on or logic.following(plan, now)
        return replace(self.record, active=on is not None, next_start=near and near.start, next_end=near and near.end)


class HealingWindow(Record):
    """/api/healing/maintenance/{id}"""

    url = "/api/healing/maintenance/{window_id}"
    family = HEALING

    def __init__(self, fields: Stored):
        self.fields = fields

    @property
    def record(self) -> HealingWindowRecord:
        return made(HealingWindowRecord, {**self.fields, "id": self.__name__})

    def plan(self, zone: str) -> WindowPlan:
        record = self.record
        return WindowPlan(
            id=self.__name__,
            family=HEALING,
            name=record.reason,
            start=record.created_at,
            end=record.expires_at,
            scope=None if record.target == "all" else frozenset((record.target,)),
            effect=record.action,
            zone=zone,
            by=record.created_by,
        )

    def end(self, now: float) -> None:
        if self.record.expires_at <= now:
            raise Conflict("This window has ended already.", code="not_active")
        self.fields = {**self.fields, "expires_at": now}

    def move(self, by: float) -> None:
        """Moves the window's times by `by` seconds, so that it lasts as long as it would have."""
        record = self.record
        self.fields = {**self.fields, "created_at": record.created_at + by, "expires_at": record.expires_at + by}

    def shown(self, now: float) -> HealingWindowRecord:
        return replace(self.record, active=self.record.expires_at > now)


class HealingWindows(Facet):
    """/api/healing/maintenance. The room of healing hangs it into its tree."""

    url = "/api/healing/maintenance"

    def __getitem__(self, name: str) -> Any:
        child = windows_of(root_above(self)).get(name)
        if not isinstance(child, HealingWindow):
            raise KeyError(name)
        return child


windows_of = ApiPlace[Windows]("maintenance")


def plans_of(root: Root, without: Collection[str] = ()) -> list[WindowPlan]:
    """A tree from before this room was made has none."""
    store, zone = root["api"].get("maintenance"), zone_of(root)
    return [] if store is None else [window.plan(zone) for window in store.parted(without)[0]]


def zone_of(root: Root) -> str:
    """The time zone of date-times that name none."""
    return node_of(root).config.timezone
