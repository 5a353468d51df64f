"""Performs what a heal asks of the service itself: webhooks, and commands on its own machine, by the executor.

A commit marks the beginning, the effect happens outside of any transaction, another commit stores the answer. Must
not: do anything twice, decide, or start a program.
"""

from __future__ import annotations

import json
import logging
import shutil
from contextlib import nullcontext
from functools import lru_cache

import gevent

from opsapp.agents.config import ProtectedSettings
from opsapp.agents.engine import executor_of
from opsapp.automations.engine import webhook_sender_of
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.server_actions import ActionEnd, OwnCommand, ServerAction, WebhookCall
from opsapp.monitoring.engine import Reply
from opsapp.runtime.atwork import Work
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node
from opsapp.runtime.queue import until_stored
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.actions import ACTIONS
from opsapp.wire.reports import CommandResult

log = logging.getLogger(__name__)

LEASE, QUEUE = "healing", "healing-deeds"
AT_ONCE = 8
KEPT_BODY = 16 * 1024
STOP_S = 7.0  # for what is stopped with the service to be written down
STOPPED = "shutdown: the service was stopped while it did this, and nobody can tell how far it got"


@lru_cache(maxsize=1)
def own_tools() -> frozenset[str]:
    wanted = {tool for action in ACTIONS.values() for tool in action.tools()}
    return frozenset(tool for tool in wanted if shutil.which(tool))


class ServerActionRunner:
    """`under_way`: those whose answer is not stored yet."""

    def __init__(self, node: Node):
        self.node = node
        self.sender = webhook_sender_of(node)
        self.stopping = False
        self.under_way: set[str] = set()

    def step(self) -> bool:
        """Each action is a greenlet. Whether there was anything."""
        if self.stopping:
            return False
        begun = self.node.transact(begin, AT_ONCE - len(self.under_way))
        for action_id, action in begun:
            self.under_way.add(action_id)
            self.node.spawn(self._perform, action_id, action)
        return bool(begun)

    def begin_stop(self) -> None:
        """Commands are ended now. Webhooks go on until they are answered, or until the end."""
        self.stopping = True
        for action_id in self.under_way:
            executor_of(self.node).cancel(action_id)

    def finish_stop(self) -> None:
        with gevent.Timeout(STOP_S, False):
            while self.under_way:
                gevent.sleep(0.02)

    def _perform(self, action_id: str, action: ServerAction) -> None:
        wanted = action.wanted
        heal_id = wanted.heal_id if isinstance(wanted, WebhookCall) else ""
        with Work(self.node, "case", heal_id.partition(".")[0]) if heal_id else nullcontext():
            try:
                end = self._done(action_id, action)
            except Exception as broken:
                log.exception("action on the server failed kind=%s", action.kind)
                end = ActionEnd("lost", f"internal_error: {type(broken).__name__}")
            until_stored(self.node, finish, action_id, end)
            self.under_way.discard(action_id)

    def _done(self, action_id: str, action: ServerAction) -> ActionEnd:
        wanted = action.wanted
        if isinstance(wanted, WebhookCall):
            return self._send(wanted, action.timeout)
        return self._run(action_id, wanted, action.timeout)

    def _send(self, call: WebhookCall, timeout: float) -> ActionEnd:
        headers = {"Content-Type": "application/json", "Idempotency-Key": call.heal_id}
        body = "" if call.method == "GET" else json.dumps(call.body)
        try:
            reply, problem = self.sender.send(call.heal_id, call.method, call.url, body, headers, timeout, follow=False)
        except ValueError as unreadable:
            return ActionEnd("failed", f"webhook: this cannot be sent: {unreadable}")
        return called(reply, problem)

    def _run(self, action_id: str, command: OwnCommand, timeout: float) -> ActionEnd:
        job = {
            **command._asdict(),
            "name": action_id,
            "timeout": timeout,
            "umask": 0o022,
            "output": True,
            "protected": list(self.node.config[ProtectedSettings].processes),
        }
        return ran(executor_of(self.node).run(action_id, job), timeout, stopping=self.stopping)


def there_are(root: Root, _now: float) -> bool:
    return bool(healing_of(root).deeds.rows)


def begin(root: Root, limit: int) -> list[tuple[str, ServerAction]]:
    actions = healing_of(root).deeds
    return actions.begin(leases.check(root, LEASE), limit) if actions.rows else []


def finish(root: Root, action_id: str, end: ActionEnd) -> None:
    if healing_of(root).deeds.finish(action_id, end):
        wake_after_commit(root, "healing")


def called(reply: Reply, problem: str) -> ActionEnd:
    """A request that may have arrived is `lost`: it is not repeated."""
    output, data = reply.body[:KEPT_BODY].decode("utf-8", "replace"), {"http_status": reply.status}
    if 200 <= reply.status < 300 and not problem:
        return ActionEnd("done", None, 0, output, data)
    if reply.status == 0 and reply.sent:
        return ActionEnd("lost", f"sent, but no whole answer: {problem}", output=output)
    return ActionEnd("failed", f"webhook: {problem or f'HTTP {reply.status}'}", output=output, data=data)


def ran(result: CommandResult, timeout: float, *, stopping: bool) -> ActionEnd:
    end = ActionEnd(result.status, result.reason, result.exit_code, result.output)
    if end.status == "cancelled" and stopping:
        return end._replace(status="lost", reason=STOPPED)
    if end.status == "timeout":
        end = end._replace(reason=f"not done within {timeout:g} s")
    step = (result.data or {}).get("step")
    return end._replace(reason=f"{step}: {end.reason}") if end.reason and step else end
