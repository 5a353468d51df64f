"""What running commands write, for whoever watches them on this node: memory, on the hub."""

from __future__ import annotations

from collections.abc import Callable

from opsapp.runtime.node import Node

KEY = "opsapp.agents.outputs"

OutputWatcher = Callable[[int, str], None]


class OutputWatchers:
    """One per node."""

    def __init__(self) -> None:
        self._watchers: dict[str, list[OutputWatcher]] = {}

    def watch(self, command_id: str, watcher: OutputWatcher) -> Callable[[], None]:
        """Call `watcher(seq, text)` with each piece of output; the function returned ends it."""
        self._watchers.setdefault(command_id, []).append(watcher)

        def stop() -> None:
            left = self._watchers.get(command_id, [])
            if watcher in left:
                left.remove(watcher)
            if not left:
                self._watchers.pop(command_id, None)

        return stop

    def hand_on(self, command_id: str, seq: int, data: str) -> None:
        for watcher in tuple(self._watchers.get(command_id, ())):
            watcher(seq, data)

    def forget(self, command_id: str) -> None:
        self._watchers.pop(command_id, None)


def outputs_of(node: Node) -> OutputWatchers:
    return node.registry[KEY]


def prepare(node: Node) -> None:
    """Called before anything is served."""
    node.registry[KEY] = OutputWatchers()
