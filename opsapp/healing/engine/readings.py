"""What this node sees: the live view through the eyes of conditions. In memory, rebuilt from what is reported.

`service.NAME.failed` is made here: 1 while a unit that was active before, or that its host calls failed, does not run;
0 while it runs; missing while it is on its way. So are `service.NAME.restarts_5m` and `.crash_looping`: a report names
only units that have started lately.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.agents.engine import STARTS_COUNTED
from opsapp.healing.stages.world import Reading
from opsapp.wire import restarts
from opsapp.wire.conditions import Condition
from opsapp.wire.readings import STALE_AFTER_INTERVALS, fresh

from .inventory import Member

RUNS = ("active", "reloading")
ASKED_S = 60.0  # the longest that a check may take
MOVES = ("activating", "deactivating", "unknown")


class LiveReadings:
    """`live` is the node's live view; `members` is refreshed from the store."""

    def __init__(self, live: Any):
        self.live = live
        self.members: dict[str, Member] = {}
        self.checked: dict[str, float] = {}  # when the last check that healing asked for began, by monitor or agent
        self.asked: dict[str, float] = {}  # when healing asked for one last, by monitor or agent
        self.unseen: frozenset[str] = frozenset()  # of these something arrived that no rule was compared with yet
        self.ran: set[tuple[str, str]] = set()  # (subject, state's name) that was active once

    def learn(self, subject: str, values: Mapping[str, Any]) -> None:
        """Remember which units have run: `was active` is part of what failed means."""
        for name, value in values.items():
            if value in RUNS and name.startswith("service.") and name.endswith(".state"):
                self.ran.add((subject, name))

    def samples(self, subject: str) -> dict[str, tuple[Any, float]]:
        """Everything reported of a subject, under the names that conditions use, with the time of observation."""
        found = dict(self.live.get(subject))
        if subject.startswith("monitor:"):
            found.update({f"monitor.{name}": sample for name, sample in found.items() if "." not in name})
        for name in [name for name in found if name.startswith("service.") and name.endswith(".state")]:
            state, at = found[name]
            made = {"failed": self._failed(subject, name, state), **_starts(found, name.removesuffix("state"))}
            for attribute, value in made.items():
                if value is not None:
                    found[name.removesuffix("state") + attribute] = (value, at)
        return found

    def _failed(self, subject: str, name: str, state: Any) -> int | None:
        if state in RUNS:
            return 0
        if state in MOVES:
            return None
        return int(state == "failed" or (subject, name) in self.ran)

    def newest(self, subject: str) -> float:
        """When something was reported of a subject last."""
        return max((at for _, at in self.live.get(subject).values()), default=float("-inf"))

    def is_asked(self, subject: str, now: float) -> bool:
        """Whether a check or a report was asked for and has not been answered."""
        asked = self.asked.get(subject)
        return asked is not None and now - asked < ASKED_S and self.checked.get(subject, 0.0) < asked

    def look(self, subject: str, condition: Condition, now: float) -> Reading:
        """A bound condition over what is fresh."""
        member = self.members.get(subject)
        if member is None:
            return Reading(None, {}, None)
        reading = read(self.samples(subject), condition, now, member.interval)
        if member.is_agent:
            return reading
        # A check that began before it was asked for may end after it: only the one that was asked for is fresh.
        return reading._replace(measured_at=self.checked.get(subject))


def _starts(found: Mapping[str, tuple[Any, float]], unit: str) -> dict[str, int | None]:
    """How often a unit has started lately. All three come from one report: another time means an earlier one."""
    state, at = found[f"{unit}state"]
    starts, started_at = found.get(f"{unit}starts", (None, None))
    counted_s, counted_at = found.get(STARTS_COUNTED, (None, None))
    count = restarts.restarts(starts if started_at == at else None, counted_s if counted_at == at else None)
    return {"restarts_5m": count, "crash_looping": restarts.crash_looping(state, count)}


def read(samples: Mapping[str, tuple[Any, float]], condition: Condition, now: float, interval: float) -> Reading:
    oldest = now - STALE_AFTER_INTERVALS * interval
    used = {name: samples[name] for name in condition.names if name in samples and samples[name][1] >= oldest}
    verdict = condition.evaluate(fresh(used, now, interval))
    metrics = {name: value for name, (value, _) in used.items()}
    return Reading(verdict, metrics, min((at for _, at in used.values()), default=None))
