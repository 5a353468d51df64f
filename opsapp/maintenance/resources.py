"""Windows of both families in one folder; each URL shows its own family. Methods keep what must be true of a window."""

from __future__ import annotations

from typing import Any, Literal

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.maintenance import logic
from opsapp.maintenance.logic import HEALING, MAINTENANCE, HealingWindowFields, WindowFields, WindowPlan
from opsapp.runtime.node import node_of
from opsapp.runtime.projection import readable
from opsapp.tree.damage import Damage
from opsapp.tree.folder import Facet, Folder, Record
from opsapp.tree.root import Root

KIND = "window"
TIMES: tuple[Literal["start", "end", "recurring"], ...] = ("start", "end", "recurring")


def set_up(root: Root) -> None:
    """Evolve step: no windows."""
    root["api"]["maintenance"] = Windows()


class Windows(Folder):
    """/api/maintenance. The store of both families; as a URL it shows the one."""

    url = "/api/maintenance"

    def __getitem__(self, name: str) -> Any:
        child = super().__getitem__(name)
        if isinstance(child, HealingWindow):
            raise KeyError(name)
        return child

    def of_family(self, cls: type, damaged: list[Damage] | None = None) -> list[Any]:
        """Windows of one family, in the order in which they were made; what cannot be read of any goes to `damaged`."""
        windows = [window for _, window in readable(self, KIND, damaged) if isinstance(window, cls)]
        return sorted(windows, key=lambda window: (window.fields["created_at"], window.__name__))


class Window(Record):
    """/api/maintenance/{id}. `fields` is replaced whole; `source` is `api` or `yaml`."""

    url = "/api/maintenance/{window_id}"
    family = MAINTENANCE

    def __init__(self, fields: WindowFields, source: str):
        self.fields = fields
        self.source = source
        self.forced: tuple[float, float] | None = None
        self.void_until = 0.0

    def plan(self, zone: str) -> WindowPlan:
        fields = self.fields
        return WindowPlan(
            id=self.__name__,
            family=MAINTENANCE,
            name=fields["name"],
            start=logic.instant(fields["start"], zone),
            end=logic.instant(fields["end"], zone),
            scope=frozenset(fields["scope"]) or None,
            effect=fields["autonomy_override"],
            cron=fields["recurring"],
            length=logic.length_of(fields["start"], fields["end"]),
            zone=zone,
            enabled=fields["enabled"],
            forced=self.forced,
            void_until=self.void_until,
        )

    def change(self, fields: WindowFields) -> None:
        """New fields; a window that is moved forgets what was done to it by hand."""
        if any(fields[name] != self.fields[name] for name in TIMES):
            self.forced, self.void_until = None, 0.0
        self.fields = fields

    def activate(self, now: float, zone: str) -> None:
        """On from now, for its own length."""
        plan = self.plan(zone)
        if logic.current(plan, now) is not None:
            raise Conflict("This window is active already.", code="already_active")
        self.forced = (now, now + (plan.end - plan.start))

    def deactivate(self, now: float, zone: str) -> None:
        """Over now, whatever it was to last."""
        if logic.current(self.plan(zone), now) is None:
            raise Conflict("This window is not active.", code="not_active")
        self.forced, self.void_until = None, now

    def plain(self, now: float, zone: str) -> JsonObject:
        plan = self.plan(zone)
        on = logic.current(plan, now)
        near = on or logic.following(plan, now)
        return {
            "id": self.__name__,
            **self.fields,
            "created_at": int(self.fields["created_at"]),
            "active": on is not None,
            "next_start": None if near is None else int(near.start),
            "next_end": None if near is None else int(near.end),
            "source": self.source,
        }


class HealingWindow(Record):
    """/api/healing/maintenance/{id}: from when it was made until `expires_at`."""

    url = "/api/healing/maintenance/{window_id}"
    family = HEALING

    def __init__(self, fields: HealingWindowFields):
        self.fields = fields

    def plan(self, zone: str) -> WindowPlan:
        fields = self.fields
        return WindowPlan(
            id=self.__name__,
            family=HEALING,
            name=fields["reason"],
            start=fields["created_at"],
            end=fields["expires_at"],
            scope=None if fields["target"] == "all" else frozenset((fields["target"],)),
            effect=fields["action"],
            zone=zone,
        )

    def end(self, now: float) -> None:
        if self.fields["expires_at"] <= now:
            raise Conflict("This window has ended already.", code="not_active")
        self.fields = {**self.fields, "expires_at": now}

    def plain(self, now: float) -> JsonObject:
        fields = self.fields
        return {
            "id": self.__name__,
            **fields,
            "created_at": int(fields["created_at"]),
            "expires_at": int(fields["expires_at"]),
            "active": fields["expires_at"] > now,
        }


class HealingWindows(Facet):
    """/api/healing/maintenance: the other family of the same store. The room of healing hangs it into its tree."""

    url = "/api/healing/maintenance"

    @property
    def store(self) -> Windows:
        node = self.__parent__
        while node.__parent__ is not None:
            node = node.__parent__
        return node["api"]["maintenance"]

    def __getitem__(self, name: str) -> Any:
        child = self.store.get(name)
        if not isinstance(child, HealingWindow):
            raise KeyError(name)
        return child


def windows_of(root: Root) -> Windows:
    return root["api"]["maintenance"]


def plans_of(root: Root) -> list[WindowPlan]:
    """Every window as the transaction behind `root` sees it. A tree from before this room was made has none."""
    store, zone = root["api"].get("maintenance"), zone_of(root)
    return [] if store is None else [window.plan(zone) for _, window in readable(store, KIND)]


def zone_of(root: Root) -> str:
    """The zone in which date-times without one are read."""
    return node_of(root).config.timezone
