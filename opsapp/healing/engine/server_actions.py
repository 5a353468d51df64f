"""Performs what a heal asks of the service itself: webhooks, and commands on its own machine, by the executor.

A commit marks the beginning, the effect happens on the hub outside of any transaction, another commit stores the
answer. Must not: do anything twice, decide, or start a program.
"""

from __future__ import annotations

import json
import logging
import shutil
from functools import lru_cache
from typing import TYPE_CHECKING

import gevent

from opsapp.agents.config import ProtectedSettings
from opsapp.agents.engine import executor_of
from opsapp.automations.engine import webhook_sender_of
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.server_actions import ServerAction
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime import leases
from opsapp.runtime.queue import until_stored
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
    """Performs this node's server actions. `under_way` are those whose answer is not stored yet."""

    def __init__(self, node: Node):
        self.node = node
        self.sender = webhook_sender_of(node)
        self.stopping = False
        self.under_way: set[str] = set()

    def step(self) -> bool:
        """Begin what waits; each action is a greenlet of its own. Whether there was anything."""
        if self.stopping:
            return False
        begun = self.node.transact(begin, AT_ONCE - len(self.under_way))
        for action_id, action in begun:
            self.under_way.add(action_id)
            self.node.spawn(self._perform, action_id, action)
        return bool(begun)

    def begin_stop(self) -> None:
        """The service stops: its commands are ended now. Webhooks go on until they are answered, or until the end."""
        self.stopping = True
        for action_id in self.under_way:
            executor_of(self.node).cancel(action_id)

    def finish_stop(self) -> None:
        with gevent.Timeout(STOP_S, False):
            while self.under_way:
                gevent.sleep(0.02)

    def _perform(self, action_id: str, action: ServerAction) -> None:
        try:
            answer = self._send(action) if action.kind == "webhook" else self._run(action_id, action)
        except Exception as broken:
            log.exception("action on the server failed kind=%s", action.kind)
            answer = {"status": "lost", "reason": f"internal_error: {type(broken).__name__}"}
        until_stored(self.node, finish, action_id, answer)
        self.under_way.discard(action_id)

    def _send(self, action: ServerAction) -> JsonObject:
        params, heal_id = action.params, action.params["heal_id"]
        headers = {"Content-Type": "application/json", "Idempotency-Key": heal_id}
        body = "" if params["method"] == "GET" else json.dumps(params["body"])
        try:
            reply, problem = self.sender.send(
                heal_id, params["method"], params["url"], body, headers, action.timeout, follow=False
            )
        except ValueError as unreadable:
            return {"status": "failed", "reason": f"webhook: this cannot be sent: {unreadable}"}
        return called(reply, problem)

    def _run(self, action_id: str, action: ServerAction) -> JsonObject:
        job = {
            "name": action_id,
            "steps": action.params["steps"],
            "timeout": action.timeout,
            "umask": 0o022,
            "output": True,
            "action_type": action.params.get("action_type"),
            "params": action.params.get("params", {}),
            "protected": list(self.node.config[ProtectedSettings].processes),
        }
        result = executor_of(self.node).run(action_id, job)
        return ran(result, action.timeout, stopping=self.stopping)


def there_are(root: Root) -> bool:
    """Actions that wait, are under way, or whose answer was not read yet."""
    return bool(healing_of(root).deeds.rows)


def begin(root: Root, limit: int) -> list[tuple[str, ServerAction]]:
    actions = healing_of(root).deeds
    return actions.begin(leases.check(root, LEASE), limit) if actions.rows else []


def finish(root: Root, action_id: str, answer: JsonObject) -> None:
    if healing_of(root).deeds.finish(action_id, answer):
        wake_after_commit(root, "healing")


def called(reply: Reply, problem: str) -> JsonObject:
    """A webhook's reply as the answer to a heal. A request that may have arrived is `lost`: it is not repeated."""
    output = reply.body[:KEPT_BODY].decode("utf-8", "replace")
    if 200 <= reply.status < 300 and not problem:
        return {"status": "done", "exit_code": 0, "output": output, "data": {"http_status": reply.status}}
    if reply.status == 0 and reply.sent:
        return {"status": "lost", "output": output, "reason": f"sent, but no whole answer: {problem}"}
    result = problem or f"HTTP {reply.status}"
    return {"status": "failed", "output": output, "reason": f"webhook: {result}", "data": {"http_status": reply.status}}


def ran(result: JsonObject, timeout: float, *, stopping: bool) -> JsonObject:
    """The executor's result of a command, as the answer to a heal."""
    step = (result["data"] or {}).get("step")
    answer = {name: result[name] for name in ("status", "exit_code", "output", "reason")}
    if result["status"] == "cancelled" and stopping:
        return {**answer, "status": "lost", "reason": STOPPED}
    if result["status"] == "timeout":
        answer["reason"] = f"not done within {timeout:g} s"
    if answer["reason"] and step:
        answer["reason"] = f"{step}: {answer['reason']}"
    return answer
