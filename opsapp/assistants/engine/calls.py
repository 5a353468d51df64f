"""How often assistants call, in memory of this node: the limit of a minute for each key, and the figures."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from opsapp.assistants.config import AssistantSettings
from opsapp.assistants.logic.tools import NAMES
from opsapp.lib.minutecounts import MinuteCounts
from opsapp.runtime.families import counter

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

KEY = "opsapp.assistants.calls"
UNKNOWN = "unknown"
RESULTS = ("ok", "refused")


class AssistantCalls:
    """Views of many threads write here."""

    def __init__(self) -> None:
        self.answered: Counter[tuple[str, str]] = Counter()  # by tool and result
        self.recent = MinuteCounts()  # by credential
        self._lock = threading.Lock()

    def count(self, tool: str, result: str) -> None:
        with self._lock:
            self.answered[tool if tool in NAMES else UNKNOWN, result] += 1


def calls_of(node: Node) -> AssistantCalls:
    calls: AssistantCalls = node.registry[KEY]
    return calls


def admit(node: Node, who: str) -> None:
    most = node.config[AssistantSettings].calls_per_minute
    calls_of(node).recent.admit(who, most, node.clock.monotonic(), "calls")


def prepare(node: Node) -> None:
    node.registry[KEY] = AssistantCalls()


def figures(node: Node) -> Iterable[Any]:
    told = "Calls of tools by assistants since the start."
    family = counter("opsapp_assistant_calls", told, labels=["tool", "result"])
    for (tool, result), count in sorted(calls_of(node).answered.copy().items()):
        family.add_metric([tool, result], count)
    yield family
