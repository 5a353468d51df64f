"""What is stored of on call."""

from __future__ import annotations

import hmac
from dataclasses import replace
from itertools import islice
from typing import Any, Generic, TypeVar

from BTrees.OOBTree import OOBTree, OOTreeSet

from opsapp.lib.ids import digest, earliest_id, new_id
from opsapp.lib.problems import Conflict, NotFound
from opsapp.oncall.records import RUNNING, EscalationRecord, OverrideRecord, PolicyRecord, ScheduleRecord
from opsapp.runtime.queue import Agenda
from opsapp.tree.counted import LAST, StoredCounts, newest
from opsapp.tree.folder import Child, Facet, Folder, NamedFacets, Record, add_children, add_facet
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root
from opsapp.wire.records import made, plain

ALL = "all"
MOST = 200
MOST_OVERRIDES = 500
P = TypeVar("P", ScheduleRecord, PolicyRecord)


def by_name(record: ScheduleRecord | PolicyRecord) -> str:
    return record.name.casefold()


class NamedPlans(Folder):
    """Names are unique."""

    def records(self) -> list[Any]:
        """The plans' records sorted by name."""
        return sorted((child.record for child in self.values()), key=by_name)

    def add(self, child: Any) -> None:
        self.place(child, new_id())

    def place(self, child: Any, name: str) -> None:
        self.refuse_name(child.record.name, name)
        if len(self.keys()) >= MOST:
            raise Conflict(f"There are {MOST} already.", code="too_many_oncall")
        self[name] = child

    def refuse_name(self, name: str, own_id: str) -> None:
        if any(child.record.name == name and child.__name__ != own_id for child in self.values()):
            raise Conflict(f"The name {name!r} is taken.", code="name_taken")


class NamedPlan(Record, Generic[P]):
    """One of them. `fields` is replaced whole."""

    of: type[P]

    def __init__(self, record: P):
        self.fields = plain(record)

    @property
    def record(self) -> P:
        return made(self.of, {**self.fields, "id": self.__name__})

    def change(self, record: P) -> None:
        self.fields = plain(record)


class Schedules(NamedPlans):
    """/api/oncall/schedules"""

    url = "/api/oncall/schedules"
    holds = "schedule"


class Schedule(NamedPlan[ScheduleRecord]):
    """/api/oncall/schedules/{id}"""

    url = "/api/oncall/schedules/{schedule_id}"
    of = ScheduleRecord
    calendar_digest: str | None = None  # of the token of its calendar's address

    def add_override(self, override: OverrideRecord, now: float) -> None:
        """Those that are over are forgotten."""
        kept = tuple(other for other in self.record.overrides if other.end > now)
        if len(kept) >= MOST_OVERRIDES:
            raise Conflict(f"There are {MOST_OVERRIDES} overrides already.", code="too_many_oncall")
        self.change(replace(self.record, overrides=(*kept, override)))


class Overrides(Facet):
    """/api/oncall/schedules/{id}/overrides"""

    def __getitem__(self, name: str) -> Override:
        return Override(self, name)


class Override(Facet):
    """KeyError of another id."""

    url = "/api/oncall/schedules/{schedule_id}/overrides/{override_id}"

    def __init__(self, parent: Overrides, name: str):
        super().__init__(parent, name)
        self.schedule: Schedule = parent.__parent__
        rows = {override.id: override for override in self.schedule.record.overrides}
        self.record = rows[name]

    def change(self, override: OverrideRecord) -> None:
        record = self.schedule.record
        rows = (override if row == self.record else row for row in record.overrides)
        self.schedule.change(replace(record, overrides=tuple(rows)))

    def delete(self) -> None:
        record = self.schedule.record
        self.schedule.change(replace(record, overrides=tuple(row for row in record.overrides if row != self.record)))


class ScheduleCalendar(Facet):
    """/api/oncall/schedules/{id}/calendar"""

    url = "/api/oncall/schedules/{schedule_id}/calendar"


class CalendarFeed(Facet):
    """The token is in the path; a wrong one is an address too."""

    url = "/api/oncall/calendars/{token}"

    def schedule_in(self, schedules: Schedules) -> Schedule:
        """NotFound of a wrong token."""
        named = digest(self.__name__)
        for schedule in schedules.values():
            if schedule.calendar_digest is not None and hmac.compare_digest(named, schedule.calendar_digest):
                return schedule
        raise NotFound("There is nothing here.")


class CalendarFeeds(NamedFacets):
    """/api/oncall/calendars"""

    of = CalendarFeed


add_facet(Schedule, "overrides", Overrides)
add_facet(Schedule, "calendar", ScheduleCalendar)


class CallPolicies(NamedPlans):
    """/api/oncall/policies"""

    url = "/api/oncall/policies"
    holds = "policy"


class CallPolicy(NamedPlan[PolicyRecord]):
    """/api/oncall/policies/{id}"""

    url = "/api/oncall/policies/{policy_id}"
    of = PolicyRecord


class Escalations(Folder):
    """/api/oncall/escalations. Ids begin with their incident's, in its order. `agenda`: (time, id); `running`: incident
    -> ids that are not over; `by_status`: status/id."""

    url = "/api/oncall/escalations"
    holds = "escalation"

    def __init__(self) -> None:
        super().__init__()
        self.agenda = OOTreeSet()
        self.running = OOBTree()
        self.by_status = OOTreeSet()
        self.counts = StoredCounts()

    def __delitem__(self, name: str) -> None:
        self._count(name, self[name].record.status, -1)
        super().__delitem__(name)

    def _count(self, name: str, status: str, by: int) -> None:
        (self.by_status.insert if by > 0 else self.by_status.remove)(f"{status}/{name}")
        self.counts.add(ALL, status, by=by)

    def index(self) -> None:
        """Counts the escalations anew by status, as far as they can be read."""
        self.by_status, self.counts = OOTreeSet(), StoredCounts()
        for name, escalation in self.items():
            self._count(name, escalation.record.status, 1)

    def begin(self, record: EscalationRecord, due: float) -> None:
        escalation = Escalation(record, due)
        self[record.id] = escalation
        self._count(record.id, record.status, 1)
        self.running[record.incident_id] = (*self.running.get(record.incident_id, ()), record.id)
        Agenda(self.agenda).add(due, record.id)

    def next_number(self, incident_id: str) -> int:
        """After those that are left: an earlier one may have been forgotten."""
        names = self.tree.keys(f"{incident_id}-", f"{incident_id}-{LAST}")
        return 1 + max((int(name.rpartition("-")[2]) for name in names), default=0)

    def of_incident(self, incident_id: str) -> list[Escalation]:
        """Not over."""
        ids = self.running.get(incident_id, ())
        return [escalation for name in ids if (escalation := self.find(name)) is not None]

    def due(self, now: float, most: int) -> list[Escalation]:
        rows = Agenda(self.agenda).due(now, most)
        return [escalation for _, name in rows if (escalation := self.find(name)) is not None]

    def wait(self, escalation: Escalation, due: float) -> None:
        self._off_the_agenda(escalation)
        escalation.due = due
        Agenda(self.agenda).add(due, escalation.__name__)

    def end(self, escalation: Escalation, status: str, why: str, now: float) -> None:
        self._off_the_agenda(escalation)
        record = escalation.record
        escalation.record = replace(record, status=status, why=why, ended=now)
        self._count(record.id, record.status, -1)
        self._count(record.id, status, 1)
        left = tuple(name for name in self.running.get(record.incident_id, ()) if name != record.id)
        if left:
            self.running[record.incident_id] = left
        else:
            self.running.pop(record.incident_id, None)

    def _off_the_agenda(self, escalation: Escalation) -> None:
        Agenda(self.agenda).discard(escalation.due, escalation.__name__)

    def shift(self, name: str, by: float) -> int:
        """The clock was set: one that runs still waits as long as before. How many were moved."""
        escalation: Escalation | None = self.find(name)
        if escalation is None or (escalation.due, name) not in self.agenda:
            return 0
        self.wait(escalation, escalation.due + by)
        return 1

    def page(self, status: str, limit: int, offset: int) -> tuple[list[Escalation], int]:
        """Newest first, and how many."""
        if status == ALL:
            names = newest(self.tree, None, LAST, offset, limit)
        else:
            of_status = newest(self.by_status, f"{status}/", f"{status}/{LAST}", offset, limit)
            names = [key.partition("/")[2] for key in of_status]
        return list(self.some(names)), self.counts[status]

    def forget(self, before: float, most: int) -> bool:
        """A page of what ended before; whether there may be more."""
        old = self.some_items(list(self.tree.keys(None, earliest_id(before))))
        over = list(islice((name for name, row in old if _ended_before(row.record, before)), most))
        for name in over:
            del self[name]
        return len(over) == most


class Escalation(Record):
    """`due`: as long as it runs."""

    url = "/api/oncall/escalations/{escalation_id}"

    def __init__(self, record: EscalationRecord, due: float):
        self.fields = plain(record)
        self.due = due

    @property
    def record(self) -> EscalationRecord:
        return made(EscalationRecord, self.fields)

    @record.setter
    def record(self, record: EscalationRecord) -> None:
        self.fields = plain(record)

    @property
    def shown(self) -> EscalationRecord:
        record = self.record
        return replace(record, next_at=self.due) if record.status == RUNNING else record


def _ended_before(record: EscalationRecord, before: float) -> bool:
    return record.status != RUNNING and (record.ended or 0.0) < before


class OnCall(Folder):
    """/api/oncall"""

    url = "/api/oncall"
    schedules = Child(Schedules)
    policies = Child(CallPolicies)
    escalations = Child(Escalations)


add_facet(OnCall, "calendars", CalendarFeeds)


def set_up(root: Root) -> None:
    """Evolve step."""
    oncall = oncall_of.put(root, OnCall())
    add_children(oncall)


def count_escalations(root: Root) -> None:
    """Evolve step."""
    oncall_of(root).escalations.index()


oncall_of = ApiPlace[OnCall]("oncall")
