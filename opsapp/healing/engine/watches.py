"""The alert state of each (rule, subject, name), and when a subject has to be evaluated again.

Beside reports only time itself changes something: `for` runs out, a cooldown ends. A heap knows when; nothing is
polled.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from opsapp.wire.alerts import AlertState

Key = tuple[str, str, str]  # rule, subject, name bound to the star


class Watches:
    def __init__(self) -> None:
        self.watches: dict[Key, AlertState] = {}
        self.targets: dict[Key, str] = {}
        self._keys: dict[str, set[Key]] = {}
        self._subjects: dict[tuple[str, str], str] = {}  # (rule, target) -> subject
        self._failing: dict[str, frozenset[str]] = {}  # target -> rules that say so
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []

    def get(self, key: Key) -> AlertState | None:
        return self.watches.get(key)

    def of(self, subject: str) -> tuple[Key, ...]:
        return tuple(self._keys.get(subject, ()))

    def subject_of(self, rule_id: str, target: str) -> str | None:
        return self._subjects.get((rule_id, target))

    def keep(self, key: Key, watch: AlertState, target: str, due: float) -> None:
        """Keep the watch, to be evaluated again at `due` at the latest."""
        self.watches[key], self.targets[key] = watch, target
        self._keys.setdefault(key[1], set()).add(key)
        self._subjects[key[0], target] = key[1]
        self._note(target, key[0], watch.announced)
        if self._due.get(key) != due:
            self._due[key] = due
            if due != float("inf"):
                heapq.heappush(self._heap, (due, key))

    def forget(self, key: Key) -> None:
        if self.watches.pop(key, None) is None:
            return
        target = self.targets.pop(key)
        self._subjects.pop((key[0], target), None)
        self._note(target, key[0], False)
        self._due.pop(key, None)
        keys = self._keys[key[1]]
        keys.discard(key)
        if not keys:
            del self._keys[key[1]]

    def move(self, by: float) -> None:
        """What runs out does so when it would have."""
        self.watches = {key: watch.moved(by) for key, watch in self.watches.items()}
        self._due = {key: due + by for key, due in self._due.items()}
        self._heap = [(due, key) for key, due in self._due.items() if due != float("inf")]
        heapq.heapify(self._heap)

    def next_due(self) -> float:
        """Perhaps too early: the heap keeps what was put off."""
        return self._heap[0][0] if self._heap else float("inf")

    def due(self, now: float) -> Iterator[str]:
        """Each is given once until its alert state is kept again."""
        while self._heap and self._heap[0][0] <= now:
            at, key = heapq.heappop(self._heap)
            if self._due.get(key) == at:
                del self._due[key]
                yield key[1]

    def _note(self, target: str, rule_id: str, failing: bool) -> None:
        """Note with each change whether the rule fails on the target, because this is read very often."""
        known = self._failing.get(target, frozenset())
        if failing and rule_id not in known:
            self._failing[target] = known | {rule_id}
        elif not failing and rule_id in known:
            left = known - {rule_id}
            if left:
                self._failing[target] = left
            else:
                del self._failing[target]

    def failing(self) -> dict[str, frozenset[str]]:
        """Return, by target, the rules whose condition has fired and is known true: a copy, as threads read it."""
        return dict(self._failing)
