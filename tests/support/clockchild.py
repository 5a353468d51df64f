"""A process of its own that is killed while it moves cases with the clock; and what the next one finds.

`python -m tests.support.clockchild DIRECTORY CASES PIECES BY [MAIN HISTORY]` makes a store with so many open cases,
sets the clock and kills itself (9) after so many pieces.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from opsapp.healing.engine import clocks
from opsapp.healing.resources import clockmoves, healing_of
from opsapp.healing.resources.cases import case_of
from tests.support.app import Service
from tests.support.clock import FakeClock

EVENT = {"source": "alert", "condition": "c", "rule_id": "nginx", "severity": "critical"}
DUE_IN = 600.0


def addresses(main: str = "", history: str = "") -> dict[str, str]:
    """What a Service takes to be at a store that others use too."""
    if not main:
        return {}
    return {"zodbconn.uri": main, "zodbconn.uri.history": history, "opsapp.shared_store": "true"}


def open_cases(root: Any, count: int, now: float) -> None:
    for number in range(count):
        event = {**EVENT, "target": f"box-{number}/nginx", "at": now}
        healing_of(root).book.open(case_of(event), now + DUE_IN)


def take_lease(service: Any) -> None:
    """Also from one that is gone."""
    leases = service.node.leases
    leases.want(clocks.LEASE)
    leases.step()
    while clocks.LEASE not in leases.held:
        service.clock.advance(6)
        leases.step()


def main(directory: str, cases: str, pieces: str, by: str, *where: str) -> None:
    service = Service(Path(directory), FakeClock(), **addresses(*where))
    service.transact(open_cases, int(cases), service.clock.now())
    take_lease(service)
    whole, moved = clockmoves.go_on, []

    def go_on(book: Any, limit: int = clockmoves.AT_ONCE) -> bool:
        if len(moved) == int(pieces):
            os.kill(os.getpid(), signal.SIGKILL)
        moved.append(limit)
        return whole(book, limit)

    clockmoves.go_on = go_on
    service.clock.set_by(float(by))
    service.node.clock_steps.step()


if __name__ == "__main__":
    main(*sys.argv[1:])
