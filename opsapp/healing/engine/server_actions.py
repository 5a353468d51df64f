"""What the service does itself for a heal: webhooks, and commands on the machine that it runs on, by its executor.

Begun by a commit, done on the hub outside of any transaction, answered by another commit. Must not: do anything twice,
or decide; start a program.
"""

from __future__ import annotations

import json
import logging
import shutil
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import gevent

from opsapp.agents.engine.executor import executor_of
from opsapp.automations.engine.webhook_sender import WebhookSender
from opsapp.healing.config import HealingSettings
from opsapp.healing.resources import healing_of
from opsapp.lib.problems import StoreAway
from opsapp.runtime import leases
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.actions import ACTIONS

if TYPE_CHECKING:
    from opsapp.monitoring.engine import Reply
    from opsapp.runtime.node import Node

log = logging.getLogger(__name__)

LEASE, QUEUE = "healing", "healing-deeds"
AT_ONCE = 8
KEPT_BODY = 16 * 1024
STOP_S = 7.0  # for what is stopped with the service to be written down
STOPPED = "shutdown: the service was stopped while it did this, and nobody can tell how far it got"


@lru_cache(maxsize=1)
def own_tools() -> frozenset[str]:
    """The tools of the action table that this machine has."""
    wanted = {tool for action in ACTIONS.values() for tool in action.tools()}
    return frozenset(tool for tool in wanted if shutil.which(tool))


class ServerActionRunner:
    """This node's hands. `answers` are those that are done and not yet written down."""

    def __init__(self, node: Node):
        self.node = node
        self.caller = WebhookSender(node)
        self.stopping = False
        self.under_way: set[str] = set()
        self.answers: dict[str, dict[str, Any]] = {}

    def step(self) -> bool:
        """Begin what waits; each deed is a greenlet of its own. Whether there was anything."""
        self._write()
        if self.stopping:
            return False
        begun = self.node.transact(begin, AT_ONCE - len(self.under_way))
        for deed_id, row in begun:
            self.under_way.add(deed_id)
            self.node.spawn(self._perform, deed_id, row)
        return bool(begun)

    def begin_stop(self) -> None:
        """The service stops: its commands are ended now. Calls to others are left to their answers, and to the end."""
        self.stopping = True
        for deed_id in self.under_way:
            executor_of(self.node).cancel(deed_id)

    def finish_stop(self) -> None:
        with gevent.Timeout(STOP_S, False):
            while self.under_way:
                gevent.sleep(0.02)

    def _perform(self, deed_id: str, row: dict[str, Any]) -> None:
        try:
            answer = self._call(row) if row["kind"] == "webhook" else self._run(deed_id, row)
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

    def _call(self, row: dict[str, Any]) -> dict[str, Any]:
        params = row["params"]
        headers = {"Content-Type": "application/json", "Idempotency-Key": params["heal_id"]}
        body = "" if params["method"] == "GET" else json.dumps(params["body"])
        try:
            reply, problem = self.caller.send(
                params["heal_id"], params["method"], params["url"], body, headers, row["timeout"], follow=False
            )
        except ValueError as unreadable:
            return {"status": "failed", "reason": f"webhook: this cannot be sent: {unreadable}"}
        return called(reply, problem)

    def _run(self, deed_id: str, row: dict[str, Any]) -> dict[str, Any]:
        params = row["params"]
        asked = {
            "name": deed_id,
            "steps": params["steps"],
            "timeout": row["timeout"],
            "umask": 0o022,
            "output": True,
            "action_type": params.get("action_type"),
            "params": params.get("params", {}),
            "protected": list(self.node.config[HealingSettings].protected.processes),
        }
        result = executor_of(self.node).run(deed_id, asked)
        return ran(result, row["timeout"], stopping=self.stopping)


def begin(root: Root, limit: int) -> list[tuple[str, dict[str, Any]]]:
    deeds = healing_of(root).deeds
    return deeds.begin(leases.check(root, LEASE), limit) if deeds.rows else []


def finish(root: Root, deed_id: str, answer: dict[str, Any]) -> None:
    if healing_of(root).deeds.finish(deed_id, answer):
        wake_after_commit(root, "healing")


def called(reply: Reply, problem: str) -> dict[str, Any]:
    """A webhook's reply as the answer to a heal: only a success is one, and what may have arrived is not repeated."""
    output = reply.body[:KEPT_BODY].decode("utf-8", "replace")
    if 200 <= reply.status < 300 and not problem:
        return {"status": "done", "exit_code": 0, "output": output, "data": {"http_status": reply.status}}
    if reply.status == 0 and reply.sent:
        return {"status": "lost", "output": output, "reason": f"sent, but no whole answer: {problem}"}
    said = problem or f"HTTP {reply.status}"
    return {"status": "failed", "output": output, "reason": f"webhook: {said}", "data": {"http_status": reply.status}}


def ran(result: dict[str, Any], timeout: float, *, stopping: bool) -> dict[str, Any]:
    """What the executor says of a command."""
    step = (result["data"] or {}).get("step")
    answer = {name: result[name] for name in ("status", "exit_code", "output", "reason")}
    if result["status"] == "cancelled" and stopping:
        return {**answer, "status": "lost", "reason": STOPPED}
    if result["status"] == "timeout":
        answer["reason"] = f"not done within {timeout:g} s"
    if answer["reason"] and step:
        answer["reason"] = f"{step}: {answer['reason']}"
    return answer
