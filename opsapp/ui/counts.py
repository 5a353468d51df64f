"""The figures at the top of every page, reckoned once per change and node: what was committed moves the outbox, and
windows begin and end by the clock. Must not: tell a reader what the API would not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pyramid.request import Request

from opsapp.approvals.reach import decidable
from opsapp.approvals.resources import approvals_of
from opsapp.healing.places import healing_of
from opsapp.maintenance.engine import healing_windows
from opsapp.monitoring.engine import MonitorTally, tally
from opsapp.monitoring.resources import incidents_of
from opsapp.oncall.engine import names_on_call, seen_schedules

from . import builder

KEEP_S = 5.0
CACHE_KEY = "opsapp.ui.counts"
APPROVE = "POST /api/approvals/{request_id}/approve"


class ReaderPresence(NamedTuple):
    """`until`: None for who is on call and has not said "I am here"."""

    until: int | None


class Counts(NamedTuple):
    down: int
    degraded: int
    maintenance: int
    down_in_windows: int  # besides those in maintenance
    up: int
    unknown: int  # nobody knows how they are
    other: int  # paused, or not checked yet
    healing: int
    incidents: int
    approvals: int  # that the reader may decide
    on_call: tuple[str, ...] | None  # None: there is no schedule
    here: Mapping[str, int] = {}  # who says "I am here", until when

    def presence(self, username: str) -> ReaderPresence | None:
        """What the header shows of a person who has said to be here, or is on call; None for others."""
        until = self.here.get(username)
        return None if until is None and username not in (self.on_call or ()) else ReaderPresence(until)

    @property
    def worst(self) -> str:
        return "bad" if self.down or self.down_in_windows else "warn" if self.degraded or self.unknown else "ok"

    @property
    def title(self) -> str:
        """What is down, in the title of the browser's tab."""
        told = [str(self.down)] if self.down else []
        told += [f"{self.down_in_windows} down in maintenance"] if self.down_in_windows else []
        return f"({', '.join(told)}) " if told else ""

    @property
    def total(self) -> int:
        return self.down + self.degraded + self.maintenance + self.down_in_windows + self.up + self.unknown + self.other


def counts_of(request: Request) -> Counts:
    counts = _kept(request) if request.sight is None else _of_seen(request)
    decides = builder.known_of(request.registry).may(request.caller.role, APPROVE)
    return counts if decides else counts._replace(approvals=0)


def _kept(request: Request) -> Counts:
    """A page whose transaction began before the outbox moved there sees an older state: it counts for itself alone."""
    node, registry = request.node, request.registry
    if not node.hub.running:  # nobody follows the outbox
        return _reckoned(request)
    state = (node.events.positions, int(node.clock.now() / KEEP_S))
    held: tuple[object, Counts] | None = registry.get(CACHE_KEY)
    if held is not None and held[0] == state:
        return held[1]
    is_seen = node.events.is_seen_by(request.root)
    counts = _reckoned(request)
    if is_seen:
        registry[CACHE_KEY] = (state, counts)
    return counts


def _of_seen(request: Request) -> Counts:
    """Counts for who is in a team: only of what it sees, and of the schedules that call for it. From memory, for each
    page anew."""
    told, root = tally(request.node, request.root, request.sight), request.root
    on_call = names_on_call(root, request.now, seen_schedules(root, request.sight))
    approvals = decidable(root, request.sight)
    return _counted(told)._replace(incidents=told.incidents, approvals=approvals, on_call=on_call)


def _counted(told: MonitorTally) -> Counts:
    states, hidden = told.counts, told.down_in_windows
    down, degraded, kept, up, unknown = (
        states.get(name, 0) for name in ("down", "degraded", "maintenance", "up", "unknown")
    )
    other = sum(states.values()) - down - degraded - kept - up - unknown
    return Counts(down, degraded, kept - hidden, hidden, up, unknown, other, 0, 0, 0, None)


def _reckoned(request: Request) -> Counts:
    root: Any = request.root
    counted = _counted(tally(request.node, root))
    healing = len(healing_of(root).ledger.open)
    waiting = approvals_of(root).counts["pending"]
    on_call, incidents = names_on_call(root, request.now), len(incidents_of(root).open)
    windows = [window.record for window in healing_windows(root, request.now)]
    here = {record.created_by: int(record.expires_at) for record in windows if record.action == "here"}
    return counted._replace(healing=healing, incidents=incidents, approvals=waiting, on_call=on_call, here=here)
