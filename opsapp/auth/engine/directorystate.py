"""Keeps whether the directory answered this node last, and how many requests to it are under way."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from opsapp.lib.problems import Unavailable
from opsapp.runtime.node import Node
from opsapp.runtime.threads.fair import Whose

KEY = "opsapp.directory"
RETRY_S = 10
UNREACHED_S = 15.0  # so long nobody waits for a directory that did not answer, unless a look meets it before
LONG_S = 12.0  # a question that takes so long is no good sign, whatever comes of it
MOST_OF_A_GROUP = 16  # that ask or wait: who comes behind them is asked to come again


class DirectoryUnreachable(Unavailable):
    """Whether the password is right is not known."""

    code = "directory_unreachable"

    def __init__(self) -> None:
        text = "The directory cannot be reached: its users cannot sign in now. Local users can."
        super().__init__(text, retry_after=RETRY_S)


class DirectoryBusy(Unavailable):
    """Nothing was asked, and nothing was counted."""

    code = "directory_busy"

    def __init__(self) -> None:
        super().__init__("Too many people sign in with the directory now. Try again in a moment.", retry_after=5)


class DirectoryState:
    """`trouble`: why it gave no answer. `unbelieved`: what the last check could not believe."""

    def __init__(self) -> None:
        self.trouble = ""
        self.unbelieved = ""
        self.was_asked = False
        self.check_failed = False
        self._until = 0.0
        self._looks_since: float | None = None
        self._under_way: Counter[str] = Counter()
        self._lock = threading.Lock()

    def answers(self) -> None:
        self.was_asked, self.trouble = True, ""

    def is_silent(self, why: str, now: float) -> None:
        self.was_asked, self.trouble, self._until = True, why, now + UNREACHED_S

    def forget(self) -> None:
        self.was_asked, self.trouble, self.unbelieved = False, "", ""

    def is_known_silent(self, now: float) -> bool:
        return bool(self.trouble) and now < self._until

    @contextmanager
    def looking(self, now: float) -> Iterator[None]:
        self._looks_since = now
        try:
            yield
        finally:
            self._looks_since = None

    def looks_for(self, now: float) -> float:
        since = self._looks_since
        return 0.0 if since is None else now - since

    @contextmanager
    def admitted(self, whose: Whose) -> Iterator[None]:
        """DirectoryBusy: known browsers and sessions do not wait behind other groups."""
        with self._lock:
            if self._under_way[whose.group] >= MOST_OF_A_GROUP:
                raise DirectoryBusy
            self._under_way[whose.group] += 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[whose.group] -= 1


def state_of(node: Node) -> DirectoryState:
    state: DirectoryState = node.registry.setdefault(KEY, DirectoryState())
    return state
