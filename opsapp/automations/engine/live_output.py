"""What runs on agents write while they run: watched by the node that asked for the command. Memory, on the hub.

Nothing depends on it: the agent's answer says all of the output, and what was seen is not written again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from opsapp.agents.engine import outputs_of
from opsapp.automations.logic.runs import FINAL
from opsapp.automations.resources import run_of
from opsapp.lib.problems import Unavailable
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.tree.root import Root

from .notices import write
from .output_writer import OutputWriter

log = logging.getLogger(__name__)

KEY = "opsapp.automations.listeners"


def write_streamed(root: Root, run_id: str, command_id: str, text: str) -> bool:
    """Write output while it is on its way; whether more is wanted."""
    run = run_of(root, run_id)
    if run is None or run.is_over or not any(row[2:] == (command_id, "") for row in run.commands):
        return False
    write(root, run, text, now_of(root))
    return not run.output.cut


class LiveOutput:
    """One command's output, as long as it comes without a gap."""

    def __init__(self, node: Node, run_id: str, command_id: str, secrets: list[str]):
        self._node, self._run_id, self._command_id = node, run_id, command_id
        self._next = 0
        self._pen = OutputWriter(self._store, secrets)
        self.stop: Callable[[], None] = outputs_of(node).watch(command_id, self._heard)

    def _heard(self, seq: int, text: str) -> None:
        if seq != self._next or not self._pen.offer(text):
            self.stop()
        self._next = seq + 1

    def _store(self, text: str) -> bool:
        try:
            return self._node.transact(write_streamed, self._run_id, self._command_id, text)
        except Unavailable as away:
            log.info("live output given up run=%s: %s", self._run_id, away)
            return False


class LiveOutputs:
    def __init__(self, node: Node):
        self._node = node
        self._by_run: dict[str, LiveOutput] = {}

    def begin(self, run_id: str, command_id: str, secrets: list[str]) -> None:
        """Called from any thread, after the commit of the command."""
        if self._node.hub.running:
            self._node.post(self._begin, run_id, command_id, secrets)

    def _begin(self, run_id: str, command_id: str, secrets: list[str]) -> None:
        self._end(run_id)
        self._by_run[run_id] = LiveOutput(self._node, run_id, command_id, secrets)

    def _end(self, run_id: str) -> None:
        listener = self._by_run.pop(run_id, None)
        if listener is not None:
            listener.stop()

    def on_event(self, event: Event) -> None:
        if event.kind == "run" and event.data["status"] in FINAL:
            self._end(event.data["run_id"])


def listeners_of(root: Root) -> LiveOutputs:
    return node_of(root).registry[KEY]
