"""The readings that conditions are compared with: the live view and what is derived from it. In memory only.

`event.KEY.name`, which events from elsewhere say, is true until another word comes. `service.NAME.failed`,
`.restarts_5m` and `.crash_looping` are added here: only who has seen a unit run knows that it has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from opsapp.healing.stages.world import Reading
from opsapp.wire.conditions import Condition, without_event
from opsapp.wire.readings import EVENT, RUNS, STALE_AFTER_INTERVALS, STARTS_COUNTED, fresh, of_service

from .inventory import Member

ASKED_S = 60.0  # the longest that a check may take
Samples = Mapping[str, tuple[Any, float]]  # by name: what was reported, and when


class ToldReadings(NamedTuple):
    """What an event told, by the names after `event.`, and when it was told last."""

    values: Mapping[str, object]
    told_at: float


class LiveReadings:
    """`live`: the node's live view; `members`, by subject, is refreshed from the store."""

    def __init__(self, live: Any):
        self.live = live
        self.members: dict[str, Member] = {}
        self.checked: dict[str, float] = {}  # when the last check that healing asked for began, by monitor or agent
        self.asked: dict[str, float] = {}  # when healing asked for one last, by monitor or agent
        self.unseen: frozenset[str] = frozenset()  # of these something arrived that no rule was compared with yet
        self.events: dict[str, dict[str, ToldReadings]] = {}  # by agent or monitor: what each event about it says
        self.ran: set[tuple[str, str]] = set()  # (subject, state's name) that was active once

    def learn(self, subject: str, values: Mapping[str, object]) -> None:
        """A unit that never ran has not failed."""
        for name, value in values.items():
            if value in RUNS and name.startswith("service.") and name.endswith(".state"):
                self.ran.add((subject, name))

    def samples(self, subject: str) -> dict[str, tuple[Any, float]]:
        """Return the subject's readings under the names that conditions use, with the time of observation."""
        samples = dict(self.live.get(subject))
        if subject.startswith("monitor:"):
            samples.update({f"monitor.{name}": sample for name, sample in samples.items() if "." not in name})
        for key, event in self.events.get(subject, {}).items():
            samples.update({f"{EVENT}{key}.{name}": (value, event.told_at) for name, value in event.values.items()})
        for name in [name for name in samples if name.startswith("service.") and name.endswith(".state")]:
            at = samples[name][1]
            for attribute, value in _of_service(samples, name, (subject, name) in self.ran).items():
                samples[name.removesuffix("state") + attribute] = (value, at)
        return samples

    def told(self, events: dict[str, dict[str, ToldReadings]]) -> set[str]:
        """The subjects that another word came about."""
        before, self.events = self.events, events
        return {subject for subject in before.keys() | events.keys() if before.get(subject) != events.get(subject)}

    def newest(self, subject: str) -> float:
        return max((at for _, at in self.live.get(subject).values()), default=float("-inf"))

    def move(self, by: float) -> None:
        self.checked = {subject: at + by for subject, at in self.checked.items()}
        self.asked = {subject: at + by for subject, at in self.asked.items()}
        for events in self.events.values():
            events.update({key: told._replace(told_at=told.told_at + by) for key, told in events.items()})

    def is_asked(self, subject: str, now: float) -> bool:
        asked = self.asked.get(subject)
        return asked is not None and now - asked < ASKED_S and self.checked.get(subject, 0.0) < asked

    def look(self, subject: str, condition: Condition, now: float) -> Reading:
        """Read a bound condition. Whoever sent an event says once that it is over: that holds now."""
        member = self.members.get(subject)
        if member is None:
            return Reading(None, {}, None)
        reading = read(self.samples(subject), condition, now, member.interval)
        if member.is_agent or condition.only_told:
            return reading
        # A check that began before it was asked for may end after it: only the one that was asked for is fresh.
        return reading._replace(measured_at=self.checked.get(subject))


def _of_service(samples: Samples, name: str, ran: bool) -> dict[str, int]:
    """What belongs to it has the same time: another one means an earlier report."""
    state, at = samples[name]
    starts, started_at = samples.get(name.removesuffix("state") + "starts", (None, None))
    counted_s, counted_at = samples.get(STARTS_COUNTED, (None, None))
    starts, counted_s = starts if started_at == at else None, counted_s if counted_at == at else None
    return of_service(state, ran=ran, starts=starts, counted_s=counted_s)


def instances(condition: Condition, member: Member, names: Iterable[str]) -> list[Condition]:
    """Bind the condition to each service, container or mount with a reading; a monitor has none."""
    if condition.family is None:
        return [condition]
    return [bind(condition, name) for name in condition.bindings(names)] if member.is_agent else []


@lru_cache(maxsize=16384)
def bind(condition: Condition, name: str) -> Condition:
    return condition.bind(name)


def read(samples: Samples, condition: Condition, now: float, interval: float) -> Reading:
    if condition.reads_events:
        return _read_told(samples, condition, now, interval)
    oldest = now - STALE_AFTER_INTERVALS * interval
    used = {name: samples[name] for name in condition.names if name in samples and samples[name][1] >= oldest}
    verdict = condition.evaluate(fresh(used, now, interval))
    metrics = {name: value for name, (value, _) in used.items()}
    return Reading(verdict, metrics, min((at for _, at in used.values()), default=None))


def _read_told(samples: Samples, condition: Condition, now: float, interval: float) -> Reading:
    """What was told holds until another word comes. Where a condition names a measurement too, the time is that of
    the measurement: what others tell is no proof."""
    oldest = now - STALE_AFTER_INTERVALS * interval
    told = {name: samples[name] for name in condition.names if name.startswith(EVENT) and name in samples}
    others = [name for name in condition.names if not name.startswith(EVENT)]
    measured = {name: samples[name] for name in others if name in samples and samples[name][1] >= oldest}
    valid = measured | {name: (value, now) for name, (value, _) in told.items()}
    times = (measured if others else told).values()
    metrics = {without_event(name): value for name, (value, _) in valid.items()}
    return Reading(condition.evaluate(fresh(valid, now, interval)), metrics, min((at for _, at in times), default=None))
