"""Processes of their own that are killed while they move cases with the clock; and what the next one finds.

`python -m tests.support.clockchild` reads lines of [DIRECTORY, CASES, PIECES, BY, MAIN, HISTORY], the last two only for
a store that others use too. For each it forks a process, so that the program is read once; that makes a store with so
many open cases, sets the clock and kills itself (9) after so many pieces. The answer is a line with its exit code.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opsapp.healing.engine import clocks
from opsapp.healing.resources import clockmoves, healing_of
from opsapp.healing.resources.cases import case_of
from tests.support.app import Service, make_ready
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


class Children:
    """The test's side: starts processes, one after the other, and says how each has ended."""

    def __init__(self, server: subprocess.Popen[str]):
        self._server = server

    def exit_code(self, *arguments: object) -> int:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(list(map(str, arguments))) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


@contextmanager
def children(module: str = "tests.support.clockchild") -> Iterator[Children]:
    root = Path(__file__).resolve().parents[2]
    command, environ = [sys.executable, "-m", module], {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        command, cwd=root, env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        yield Children(server)


def serve(main: Callable[..., None]) -> None:
    make_ready()
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                main(*json.loads(line))
            finally:
                os._exit(1)  # it should have been killed
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    serve(main)
