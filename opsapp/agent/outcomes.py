"""Outcomes of heals that the agent did alone: intent on the disk before the effect, the outcome until thanked for.

Must not: heal. They are told to the server once each and in order.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from dataclasses import replace
from typing import Dict, List, NamedTuple, Optional

from opsapp.wire.fields import WireError, dumps, loads
from opsapp.wire.records import made, plain
from opsapp.wire.reports import LocalOutcome

from .disk import LineFile
from .processes import ProcessGroup, end_orphans
from .steady import HostMoment, SteadyClock

log = logging.getLogger("outcomes")
BEGUN, DONE, THANKED, PROCESS, PAST = "begun", "done", "thanked", "process", "past"
MOST_PAST, PAST_S = 1000, 7 * 86400.0  # heals that are remembered after they were told, for budget and cooldowns


class HealStart(NamedTuple):
    at: HostMoment
    rule_id: str
    name: str  # of the service, container or mount; empty for the host itself


class Outcomes:
    def __init__(self, directory: str, clock: Optional[SteadyClock] = None):
        self.clock = clock or SteadyClock()
        self._lock = threading.Lock()
        self._lines = LineFile(os.path.join(directory, "outcomes.jsonl"))
        self._kept: Dict[str, LocalOutcome] = {}  # in order of their beginning
        self._state: Dict[str, str] = {}
        self._at: Dict[str, HostMoment] = {}  # when those that are kept began
        self._groups: Dict[str, ProcessGroup] = {}  # of those begun: what a kill would leave running
        self._begun: List[HealStart] = []  # thanked for or not: they are spent all the same
        self._cases: List[HostMoment] = []  # when the first step of each of their cases began
        self._case: Optional[str] = None  # the last one
        for line in self._lines:
            with contextlib.suppress(WireError):  # a line damaged by the disk: the others still count
                self._replay(loads(line))
        self._lose_open()

    def begin(self, outcome: LocalOutcome) -> None:
        """Store the outcome as it will be told if nothing more becomes known."""
        self._note(BEGUN, outcome, moment=self.clock.kept(self.clock.now()))

    def process(self, name: str, group: ProcessGroup) -> None:
        """Note the process group so that a later agent can stop what was left of it."""
        with self._lock:
            record = {"did": PROCESS, "id": name, "group": list(group)}
            self._lines.append(dumps(record), sync=False)
            self._replay(record)

    def finish(self, outcome: LocalOutcome) -> None:
        self._note(DONE, outcome)

    def thank(self, name: str) -> None:
        with self._lock:
            if self._state.get(name) != DONE:
                return
            try:
                self._lines.append(dumps({"did": THANKED, "id": name}), sync=False)
                del self._kept[name], self._state[name]
                self._at.pop(name, None)
                if not self._kept:
                    self._forget_old()
                    self._lines.replace([dumps(self._past())] if self._begun else [])
            except OSError as error:  # told again, or written shorter next time
                log.warning("it cannot be noted that the server has outcome %s: %s", name, error)

    def waiting(self, most: int = 50) -> List[LocalOutcome]:
        """The oldest that are done; an open one holds up those behind it, so that the order stays. When they began, by
        the clock as it is set now: the server knows by how much that one is off."""
        outcomes: List[LocalOutcome] = []
        with self._lock:
            for name, outcome in self._kept.items():
                if self._state[name] != DONE or len(outcomes) >= most:
                    break
                outcomes.append(replace(outcome, created_at=self.clock.shown(self._at[name])))
        return outcomes

    def within(self, seconds: float) -> int:
        """How many cases began lately, whatever the server has been told meanwhile."""
        with self._lock:
            return sum(self.clock.age(at) < seconds for at in self._cases)

    def last(self, rule_id: str, name: str) -> float:
        """How many seconds ago the rule was last begun for it."""
        with self._lock:
            alike = [start.at for start in self._begun if (start.rule_id, start.name) == (rule_id, name)]
            return min(map(self.clock.age, alike), default=float("inf"))

    def close(self) -> None:
        self._lines.close()

    def _note(self, did: str, outcome: LocalOutcome, **more: object) -> None:
        with self._lock:
            record = {"did": did, "id": outcome.outcome_id, "outcome": plain(outcome), **more}
            self._lines.append(dumps(record))
            self._replay(record)

    def _replay(self, record: dict) -> None:
        did, name = record["did"], record.get("id", "")
        if did == PROCESS:
            self._groups[name] = ProcessGroup(*record["group"])
            return
        if did == PAST:
            self._replay_past(record)
            return
        if did != BEGUN:
            self._groups.pop(name, None)
        if did == THANKED:
            for kept in (self._kept, self._state, self._at):
                kept.pop(name, None)
            return
        outcome = self._kept[name] = made(LocalOutcome, record["outcome"])
        self._state[name] = did
        if did == BEGUN:
            at = self._at[name] = self.clock.read(record.get("moment"), outcome.created_at)
            self._begun.append(HealStart(at, outcome.rule_id, outcome.target.partition("/")[2]))
            if outcome.case_id is None or outcome.case_id != self._case:
                self._cases.append(at)
            self._case = outcome.case_id

    def _past(self) -> Dict[str, object]:
        """What older agents read, and beside it what they do not know."""
        kept = self.clock.kept
        return {
            "did": PAST,
            "begun": [(start.at.wall, start.rule_id, start.name) for start in self._begun],
            "cases": [at.wall for at in self._cases],
            "case": self._case,
            "moments": {"begun": [kept(start.at) for start in self._begun], "cases": [kept(at) for at in self._cases]},
        }

    def _replay_past(self, record: dict) -> None:
        begun, moments = record["begun"], record.get("moments") or {}
        cases = record.get("cases") or [start[0] for start in begun]
        starts, known = dict(enumerate(moments.get("begun") or ())), dict(enumerate(moments.get("cases") or ()))
        read = self.clock.read
        self._begun = [HealStart(read(starts.get(n), at), rule, name) for n, (at, rule, name) in enumerate(begun)]
        self._cases = [read(known.get(n), at) for n, at in enumerate(cases)]
        self._case = record.get("case")

    def _forget_old(self) -> None:
        age = self.clock.age
        self._begun = [start for start in self._begun[-MOST_PAST:] if age(start.at) < PAST_S]
        self._cases = [at for at in self._cases[-MOST_PAST:] if age(at) < PAST_S]

    def _lose_open(self) -> None:
        """After a kill nobody knows what became of a heal that had begun: it is lost."""
        for name in [name for name, state in self._state.items() if state == BEGUN]:
            stopped = name in self._groups and end_orphans(self._groups[name])
            left = "; what was left of it was stopped" if stopped else ""
            self.finish(replace(self._kept[name], outcome="lost", reason=f"the agent ended while it healed{left}"))
