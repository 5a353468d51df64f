"""The latest value of everything this node knows, in memory: what lists, conditions and streams read.

A subject is a word like `agent:ID` or `monitor:ID`; its values are named numbers or strings with the time they were
observed at. Numbers that are kept as series are bound to their series number, and come back from the journal at start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from opsapp.series.observations import MARK, NAMES

log = logging.getLogger(__name__)
Value = int | float | str
Implied = Callable[[float], dict[str, Value]]


class Live:
    def __init__(self):
        self._subjects: dict[str, dict[str, tuple[Value, float]]] = {}
        self._listeners: list[Callable[[str, dict[str, Value]], Any]] = []
        self._bound: dict[int, tuple[str, str, Implied | None]] = {}
        self._new: set[int] = set()

    def update(self, subject: str, values: dict[str, Value], at: float) -> None:
        """Take what was observed at `at`; an older observation of a name never replaces a newer one."""
        known = self._subjects.get(subject)
        if known is None:
            known = self._subjects.setdefault(subject, {})
        changed = {}
        for name, value in values.items():
            before = known.get(name)
            # Heard twice (here and from the journal) it is no news the second time.
            if before is None or before[1] < at or (before[1] == at and before[0] != value):
                known[name] = (value, at)
                changed[name] = value
        for listener in tuple(self._listeners) if changed else ():
            self._tell(listener, subject, changed)

    def names(self, subject: str) -> int:
        """How many names of a subject are known."""
        return len(self._subjects.get(subject, ()))

    def forget(self, subject: str, before: float) -> None:
        """Names that were last observed before that are no more: units, containers and mounts come and go for ever."""
        known = self._subjects.get(subject, {})
        self._subjects[subject] = {name: seen for name, seen in known.items() if seen[1] >= before}

    def get(self, subject: str) -> dict[str, tuple[Value, float]]:
        """{name: (value, observed at)}; empty for a subject nobody reported on."""
        return dict(self._subjects.get(subject, ()))

    def value(self, subject: str, name: str) -> Value | None:
        return self._subjects.get(subject, {}).get(name, (None, 0))[0]

    def subjects(self, kind: str = "") -> list[str]:
        """All subjects whose word begins with `kind`."""
        return [subject for subject in tuple(self._subjects) if subject.startswith(kind)]

    def subscribe(self, listener: Callable[[str, dict[str, Value]], Any]) -> Callable[[], None]:
        """`listener(subject, {name: value})` on the thread that updates, for every observation taken; ends by calling
        what this returns."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def drop(self, subject: str) -> None:
        self._subjects.pop(subject, None)
        for number in [number for number, bound in self._bound.items() if bound[0] == subject]:
            del self._bound[number]

    def bind(self, number: int, subject: str, name: str, implied: Implied | None = None) -> None:
        """Series `number` is `name` of `subject`. What comes from the journal with a value tells `implied(at)` too."""
        if self._bound.get(number) != (subject, name, implied):
            self._bound[number] = (subject, name, implied)
            self._new.add(number)

    def newly_bound(self) -> set[int]:
        """Numbers bound since this was asked last: what the journal has of them is not known here yet."""
        new, self._new = self._new, set()
        return new

    def replay(self, observations: Iterable[tuple]) -> None:
        """Take observations from the journal: at the start, and what other nodes committed. One that carries a state
        is a check: it shows as `status` and `last_check`, with or without a value."""
        for number, time, value, status, _ in observations:
            if number not in self._bound:
                continue
            subject, name, implied = self._bound[number]
            values: dict[str, Value] = {} if value is None else {name: value}
            if implied is not None and value is not None:
                values |= implied(time / 1000)
            if status and not status & MARK:
                values |= {"status": NAMES[status], "last_check": time // 1000}
            if values:
                self.update(subject, values, time / 1000)

    def _tell(self, listener, subject: str, changed: dict) -> None:
        try:
            listener(subject, changed)
        except Exception:
            log.exception("listener %r failed on %s", listener, subject)
