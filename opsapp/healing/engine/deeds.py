"""The service's own hands: webhooks, and commands on the machine that it runs on. Outside any transaction.

Begun by a commit, done in a lane of native threads, answered by another commit. A command carries the marks of programs
that automations start, so that the next start on this machine ends what a killed service has left of it. Must not: do
anything twice, or decide.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import gevent

from opsapp.automations.engine.programs import MARK, SERVER, end_stragglers, this_server
from opsapp.healing.resources import healing_of
from opsapp.lib.ids import new_id
from opsapp.lib.networks import AddressPolicy
from opsapp.lib.problems import StoreAway
from opsapp.monitoring.logic.settings import options
from opsapp.runtime import leases
from opsapp.runtime.outbound import request
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.actions import ACTIONS
from opsapp.wire.version import VERSION

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

log = logging.getLogger(__name__)

LEASE, QUEUE = "healing", "healing-deeds"
AT_ONCE = 8
KEPT_OUTPUT = 64 * 1024
STOP_S = 3.0  # for what is stopped with the service to be written down
STOPPED = "shutdown: the service was stopped while it did this, and nobody can tell how far it got"
NEVER = threading.Event()


@lru_cache(maxsize=1)
def own_tools() -> frozenset[str]:
    """The tools of the action table that this machine has."""
    wanted = {tool for action in ACTIONS.values() for tool in action.tools()}
    return frozenset(tool for tool in wanted if shutil.which(tool))


class Hands:
    """This node's hands. `answers` are those that are done and not yet written down."""

    def __init__(self, node: Node):
        self.node = node
        self.stopping = threading.Event()
        self.under_way: set[str] = set()
        self.answers: dict[str, dict[str, Any]] = {}

    def step(self) -> bool:
        """Begin what waits; each deed is a greenlet of its own. Whether there was anything."""
        self._write()
        if self.stopping.is_set():
            return False
        begun = self.node.transact(begin, AT_ONCE - len(self.under_way))
        for deed_id, row in begun:
            self.under_way.add(deed_id)
            self.node.spawn(self._perform, deed_id, row)
        return bool(begun)

    def begin_stop(self) -> None:
        """The service stops: its commands are ended now. Calls to others are left to their answers, and to the end."""
        self.stopping.set()

    def finish_stop(self) -> None:
        with gevent.Timeout(STOP_S, False):
            while self.under_way:
                gevent.sleep(0.02)

    def _perform(self, deed_id: str, row: dict[str, Any]) -> None:
        try:
            answer = self.node.lane("deeds", AT_ONCE).run(perform, row, self.node.config, deed_id, self.stopping)
        except Exception as broken:
            log.exception("deed failed kind=%s", row["kind"])
            answer = {"status": "lost", "reason": f"internal_error: {type(broken).__name__}"}
        self.answers[deed_id] = answer
        self._write()

    def _write(self) -> None:
        """What came of it. With the store away it is kept, and written by the next step."""
        for deed_id, answer in list(self.answers.items()):
            try:
                self.node.transact(finish, deed_id, answer)
            except StoreAway:
                return
            self.answers.pop(deed_id, None)
            self.under_way.discard(deed_id)


def begin(root: Root, limit: int) -> list[tuple[str, dict[str, Any]]]:
    deeds = healing_of(root).deeds
    return deeds.begin(leases.check(root, LEASE), limit) if deeds.rows else []


def finish(root: Root, deed_id: str, answer: dict[str, Any]) -> None:
    if healing_of(root).deeds.finish(deed_id, answer):
        wake_after_commit(root, "healing")


# -- doing -------------------------------------------------------------------------------------------------------------


def perform(
    row: dict[str, Any], config: dict[str, Any], deed_id: str | None = None, stopping: threading.Event = NEVER
) -> dict[str, Any]:
    """In a lane's thread: the deed itself, and a command's answer for it."""
    if row["kind"] == "webhook":
        return _call(row, config)
    return _run(row["params"]["steps"], row["timeout"], deed_id or new_id(), stopping)


def _call(row: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    params, section = row["params"], options(config)
    body = b"" if params["method"] == "GET" else json.dumps(params["body"]).encode()
    headers = {
        "User-Agent": f"opsapp/{VERSION}",
        "Content-Type": "application/json",
        "Idempotency-Key": params["heal_id"],
    }
    sent = request(
        params["method"],
        params["url"],
        policy=AddressPolicy(section["allow_networks"], section["deny_networks"]),
        timeout=row["timeout"],
        headers=headers,
        body=body,
        ca_file=section["ca_file"],
    )
    output = sent.body.decode("utf-8", "replace")
    if sent.ok:
        return {"status": "done", "exit_code": 0, "output": output, "data": {"http_status": sent.status}}
    if sent.status == 0 and sent.left:
        return {"status": "lost", "output": output, "reason": f"sent, but no whole answer: {sent.error}"}
    said = sent.error or f"HTTP {sent.status}"
    return {"status": "failed", "output": output, "reason": f"webhook: {said}", "data": {"http_status": sent.status}}


def _run(steps: list[list[str]], timeout: float, deed_id: str, stopping: threading.Event) -> dict[str, Any]:
    """Argument lists in order until one fails, all within one time-out."""
    deadline, output = time.monotonic() + timeout, b""
    for argv in steps:
        try:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=_environment(deed_id),
                start_new_session=True,
            )
        except OSError as problem:
            return _said("failed", output, f"{argv[0]}: {problem.strerror}")
        with child:
            code = _finish(child, deadline, stopping, kept := bytearray())
        output = (output + bytes(kept))[:KEPT_OUTPUT]
        if code is None:
            end_stragglers({deed_id})
            if stopping.is_set():
                return _said("lost", output, STOPPED)
            return _said("timeout", output, f"{argv[0]}: not done within {timeout:g} s")
        if code:
            return {**_said("failed", output, f"{argv[0]}: exit code {code}"), "exit_code": code}
    return {**_said("done", output, None), "exit_code": 0}


def _environment(deed_id: str) -> dict[str, str]:
    """The service's own without what is meant for the service alone (passwords among it), and the marks."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OPSAPP_")}
    return {**inherited, MARK: deed_id, SERVER: this_server()}


def _said(status: str, output: bytes, reason: str | None) -> dict[str, Any]:
    return {"status": status, "output": output.decode("utf-8", "replace"), "reason": reason}


def _finish(
    child: subprocess.Popen[bytes], deadline: float, stopping: threading.Event, kept: bytearray
) -> int | None:
    """The exit code, or None when it was ended, with its whole process group: its time is up, or the service stops.
    Output past the limit is dropped."""
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0 and not stopping.is_set():
            if not selector.select(min(left, 0.1)):
                if child.poll() is not None:  # what it left behind may hold the pipe open for ever
                    return child.returncode
                continue
            data = os.read(child.stdout.fileno(), 65536)
            if not data:
                return _closed(child, deadline, stopping)
            kept += data[: KEPT_OUTPUT - len(kept)]
    _end(child)
    return None


def _closed(child: subprocess.Popen[bytes], deadline: float, stopping: threading.Event) -> int | None:
    """It writes no more, and may go on all the same."""
    while (left := deadline - time.monotonic()) > 0 and not stopping.is_set():
        try:
            return child.wait(min(left, 0.1))
        except subprocess.TimeoutExpired:
            continue
    _end(child)
    return None


def _end(child: subprocess.Popen[bytes]) -> None:
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
