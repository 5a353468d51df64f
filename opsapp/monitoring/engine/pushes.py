"""A push monitor is called: it is up, or its run begins, or has failed; and its next call is due anew.

A run that has begun is in the store, so no restart forgets it, and it moves with steps of the clock.
"""

from __future__ import annotations

import re
from dataclasses import replace

from opsapp.lib.durations import roughly
from opsapp.monitoring.engine import changes
from opsapp.monitoring.engine.watch import watch_of
from opsapp.monitoring.resources import Monitor, monitors_of, push_addresses
from opsapp.runtime.clocks.pieces import ClockPieces, WaitingKind
from opsapp.runtime.node import Node
from opsapp.tree.reading import is_sound
from opsapp.tree.root import Root
from opsapp.wire.probes import Outcome

START, FAIL = "start", "fail"
_CODE = re.compile(r"25[0-5]|2[0-4]\d|1?\d?\d", re.ASCII)
RUN_SECONDS = "run_seconds"
SAID_MOST = 200
WELL = ("", "up")  # what the `status` of a push address of Uptime Kuma says of a run that has ended well
LEASE, MONITORS = "housekeeping", "monitors"


def begin(root: Root, monitor_id: str, now: float) -> None:
    """A second start of a run that is under way says nothing; after one that never ended, it is a new run."""
    monitor = _with_the_clock(root, monitor_id)
    if monitor.state.run_started is None or monitor.state.down:
        monitor.state.run_started = now
        changes.tell(root, monitor, "run", now)


def end(root: Root, monitor_id: str, now: float) -> float | None:
    """End a run; the seconds it took, None where nobody said when it began."""
    monitor = _with_the_clock(root, monitor_id)
    started, monitor.state.run_started = monitor.state.run_started, None
    if started is None:
        return None
    changes.tell(root, monitor, "run", now)
    return max(0.0, round(now - started, 3))


def exit_code(signal: str) -> int | None:
    """That of 0 to 255 which a call names."""
    return int(signal) if _CODE.fullmatch(signal) else None


def ended(code: int | None, took: float | None, said: str = "") -> Outcome:
    """`code`: how the run ended, or None: it failed. `said`: why, in the words of who called."""
    after = "" if took is None else f" after {roughly(took)}"
    measured = (None, None) if took is None else ({RUN_SECONDS: took}, {RUN_SECONDS: "s"})
    if code == 0:
        return Outcome(True, 0.0, "called" + after, metrics=measured[0], units=measured[1])
    how = "it said that it failed" if code is None else f"it ended with exit code {code}"
    words = " ".join("".join(sign if sign.isprintable() else " " for sign in said).split())[:SAID_MOST]
    return Outcome(False, None, how + after + (f": {words}" if words else ""), metrics=measured[0], units=measured[1])


def called(node: Node, monitor_id: str, outcome: Outcome) -> None:
    """Runs on the hub (or in a thread, where there is none)."""
    watch = watch_of(node)
    entry = watch.register.entries.get(monitor_id)
    if entry is None or not entry.settings.enabled:
        return
    node.series.live.update(entry.subject, {"beat": 0.0}, node.clock.now())
    # A value goes into the journal with the call, because it is by values that other nodes hear of it.
    final = replace(entry.rules, retries=0)  # who calls has seen it: there is nothing to look at again
    watch.take(entry, entry.judged(outcome), node.clock.monotonic(), final)
    if watch.checker is not None:
        watch.checker.table.move(entry.id, watch.checker.measuring.next_deadline(entry))


def _with_the_clock(root: Root, monitor_id: str) -> Monitor:
    PIECES.settle(root, MONITORS, monitor_id)
    return monitors_of(root)[monitor_id]


def _shift(root: Root, monitor_id: str, by: float) -> int:
    monitors = monitors_of(root)
    for _, monitor in monitors.some_items([monitor_id]):
        if is_sound(monitors, "state", monitor_id, monitor.state) and monitor.state.run_started is not None:
            monitor.state.run_started += by
            changes.tell(root, monitor, "run", monitor.state.run_started)
            return 1
    return 0


PIECES = ClockPieces(
    LEASE, "push runs", {MONITORS: WaitingKind(lambda root, _: list(push_addresses(root).values()), _shift)}
)


def start(node: Node) -> None:
    PIECES.carry(node)
