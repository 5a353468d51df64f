"""A node's part in monitoring: its register, and how an outcome becomes a verdict, an observation and a commit.

Every node has one, whatever its roles: push addresses are called on any of them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from opsapp.lib.problems import NotFound
from opsapp.maintenance.engine import Board, board_of
from opsapp.monitoring.engine import metrics
from opsapp.monitoring.engine.register import Entry, Register
from opsapp.monitoring.engine.shownstates import ShownStates
from opsapp.monitoring.engine.verdicts import VerdictQueue
from opsapp.monitoring.logic.settings import MonitoringSettings
from opsapp.monitoring.logic.state import CheckVerdict, Seen, Thresholds, judge, steady
from opsapp.runtime.node import Node
from opsapp.series import CODES, NONE, Value
from opsapp.tree.root import Root
from opsapp.wire.probes import Outcome

KEY = "opsapp.monitoring"


class Watch:
    def __init__(self, node: Node):
        self.node = node
        self.register = Register(node.config[MonitoringSettings], node.series.live, node.clock)
        node.projections.add("monitors", self.register)
        node.clock_steps.follow(self.register.move)
        self.states = ShownStates(node, self.register)
        self.verdicts = VerdictQueue(node)
        self.checker: Any = None  # engine.checking.Checker, where this node makes checks
        self._seen_transaction: Any = None

    @cached_property
    def _board(self) -> Board:
        """Each check asks it; it is made before anything is checked."""
        return board_of(self.node)

    def entries(self, root: Root) -> dict[str, Entry]:
        """Entries as the transaction behind `root` sees them, or newer; as read last where it has written."""
        self.register.catch_up(root)
        return self.register.entries

    def entry(self, root: Root, monitor_id: str) -> Entry:
        """An entry, which may have been deleted since the transaction began: the memory is shared."""
        entry = self.entries(root).get(monitor_id)
        if entry is None:
            raise NotFound("There is no such monitor.")
        return entry

    def follow(self) -> bool:
        """Step, where checks are made; costs nothing while the store has not changed."""
        last = self.node.last_transaction()
        if last != self._seen_transaction:
            self.node.transact(self.register.catch_up)
            self._seen_transaction = last
        for monitor_id in self.register.take_changes():
            self.checker.apply(monitor_id, self.register.entries.get(monitor_id))
        return False

    def take(
        self, entry: Entry, outcome: Outcome, began: float, rules: Thresholds | None = None
    ) -> CheckVerdict | None:
        """Runs on the hub: an outcome is judged, observed, and committed when it changes what is stored. `began`: the
        check, in monotonic seconds. None: it is older than what was judged already, or the monitor is off."""
        if began < entry.judged_at or not entry.settings.enabled:
            return None
        now, before, revision = self.node.clock.now(), entry.standing, entry.revision
        took = self.node.clock.monotonic() - began
        entry.judged_at = began
        entry.measured(outcome)
        covered = self._board.covered(now)(entry.id)
        verdict = judge(before, seen_by(outcome), rules or entry.rules, now, in_window=covered, began=now - took)
        entry.standing = verdict.standing
        self._observe(entry, outcome, now)
        ends = entry.another_end(outcome.certificate_days, now)
        if verdict.changed or ends is not None:
            taken = self.verdicts.settle(entry.id, revision, verdict.standing, now, ends)
            if taken and ends is not None:
                entry.cert_ends = ends
            elif not taken and verdict.changed and entry.standing is verdict.standing:
                # The next check comes to the same verdict again. What was read anew meanwhile stays.
                entry.standing = before
        entry.tell(entry.standing)
        metrics.observe(self.node, entry, outcome, now)
        return verdict

    def take_steady(self, entry: Entry, outcome: Outcome, began: float) -> bool:
        """`take` for the usual case, in which all is as it was; it never waits. False: nothing was done."""
        days, took = outcome.certificate_days, outcome.response_time_ms
        if outcome.degraded or not steady(entry.standing, outcome.ok, took, days, entry.rules):
            return False
        now = self.node.clock.now()
        if days is not None and entry.another_end(days, now) is not None:
            return False
        if began < entry.judged_at or not entry.settings.enabled or self._board.covered(now)(entry.id):
            return False
        entry.judged_at = began
        entry.measured(outcome)
        self._observe(entry, outcome, now)
        return True

    def _observe(self, entry: Entry, outcome: Outcome, now: float) -> None:
        value = outcome.response_time_ms if outcome.ok else None
        settings, status = entry.settings, entry.standing.status
        self.node.series.journal.add(
            entry.series,
            int(now * 1000),
            None if value is None else round(value, 1),
            CODES.get(status, NONE),
            entry.hold_from(now, self.node.config.timezone) if settings.type == "push" else entry.hold_s,
        )
        live: dict[str, Value] = {"status": status, "last_check": int(now)}
        if value is not None:
            live["response_time_ms"] = value
        if outcome.certificate_days is not None:
            live["cert_days"] = outcome.certificate_days
        self.node.series.live.update(entry.subject, live, now)


def seen_by(outcome: Outcome) -> Seen:
    """What of an outcome is judged."""
    degraded = bool(outcome.degraded)
    return Seen(outcome.ok, outcome.response_time_ms, outcome.detail, outcome.certificate_days, degraded)


def watch_of(node: Node) -> Watch:
    return node.registry[KEY]


def register_of(node: Node) -> Register:
    return watch_of(node).register
