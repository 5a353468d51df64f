"""Checks that somebody asks for: of settings that are not stored yet, and of a monitor before its time.

Settings that are tried go the way of a real check: the same probes, the same guards of addresses, the same agents. Must
not: store anything of them.
"""

from __future__ import annotations

from dataclasses import replace

from opsapp.lib.problems import Unavailable
from opsapp.monitoring.engine import metrics
from opsapp.monitoring.engine.checks import request_check
from opsapp.monitoring.engine.register import Entry, StoredMonitor
from opsapp.monitoring.engine.watch import seen_by, watch_of
from opsapp.monitoring.logic.settings import MonitoringSettings, MonitorSettings
from opsapp.monitoring.logic.state import Standing, judge
from opsapp.monitoring.records import TriedMonitor
from opsapp.runtime.node import Node
from opsapp.wire.probes import Outcome

WAITS = "It waits to be called at its own address; there is nothing to look at."


def try_out(node: Node, settings: MonitorSettings) -> TriedMonitor:
    """What one check with these settings finds. On the hub of an engine node."""
    checker = watch_of(node).checker
    if checker is None:
        raise Unavailable("This node makes no checks.", retry_after=5)
    now = node.clock.now()
    stored = StoredMonitor("", int(now), 0, 1, None, settings.name, settings.url, settings, Standing(), None, None)
    entry = Entry(stored, node.config[MonitoringSettings])
    if entry.target.type == "push":
        return told("pending", WAITS, Outcome(None), now)
    outcome = checker.measuring.measure(entry) or Outcome(None)
    standing = judge(Standing(), seen_by(outcome), replace(entry.rules, retries=0), now).standing
    return told(standing.status, standing.cause, outcome, now)


def check_now(node: Node, monitor_id: str) -> TriedMonitor:
    """One check of a monitor, which counts like any other."""
    fresh = request_check(node, monitor_id)
    seen = seen_by(fresh.outcome)
    cause = seen.detail if seen.degraded or seen.ok is not True else ""
    return told(fresh.status, cause, fresh.outcome, fresh.time)


def told(status: str, cause: str, outcome: Outcome, now: float) -> TriedMonitor:
    return TriedMonitor(
        status,
        cause,
        outcome.response_time_ms,
        outcome.http_status,
        outcome.protocol,
        outcome.phases,
        outcome.certificate_days,
        outcome.detail,
        metrics.shown(outcome, now),
    )
