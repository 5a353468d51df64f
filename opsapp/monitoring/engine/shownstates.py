"""How every monitor is shown: what was told of it last, the windows that are on, and the age of its last check.

Lists and the figures at the top of every page ask it of all monitors, after every change. So only entries that may be
shown otherwise now are looked at anew. Must not: ask the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from math import inf
from operator import attrgetter

from opsapp.maintenance.engine import board_of
from opsapp.monitoring.engine.register import Entry, Register, ShownStatus
from opsapp.runtime.node import Node

CHECKED = ("last_check", "beat")  # what a check leaves, and a push
BY_CHECK = {"up", "down", "degraded"}  # states that hold as long as somebody looks
MANY = 100  # from here on it is cheaper to ask the live values of all at once


def state_at(node: Node, now: float) -> Callable[[Entry], ShownStatus]:
    """A result that is too old is unknown; a window shows only while it is on. One function for all of a list: what
    they share is looked up once."""
    covered, observed_at = board_of(node).covered(now), node.series.live.observed_at
    zone = node.config.timezone

    def state_of(entry: Entry) -> ShownStatus:
        status = entry.told.status
        if status in {"pending", "paused"}:
            return ShownStatus(status, inf)
        if covered(entry.id):
            return ShownStatus("maintenance", inf)
        if status not in BY_CHECK:
            return ShownStatus("unknown", inf)
        seen = observed_at(entry.subject, *CHECKED)
        until = -inf if seen is None else seen + entry.hold_from(seen, zone)
        return ShownStatus("unknown", -inf) if until < now else ShownStatus(status, until)

    return state_of


def is_down_in_window(node: Node, now: float) -> Callable[[Entry], bool]:
    """Whether a monitor that a window covers is down, as far as its last check still says so."""
    covered, observed_at = board_of(node).covered(now), node.series.live.observed_at
    zone = node.config.timezone

    def is_down(entry: Entry) -> bool:
        if not entry.told.down or entry.told.status in {"pending", "paused"} or not covered(entry.id):
            return False
        seen = observed_at(entry.subject, *CHECKED)
        return seen is not None and seen + entry.hold_from(seen, zone) >= now

    return is_down


class ShownStates:
    """`shown` of every entry of the register, and how many there are of each."""

    def __init__(self, node: Node, register: Register):
        self._node = node
        self._register = register
        self._covered: Callable[[str], bool] | None = None  # the windows that were on
        self._counts: tuple[int, Counter[str]] = (-1, Counter())  # of this version of the register

    def counts(self, now: float) -> dict[str, int]:
        self.look(now)
        return {status: count for status, count in self._counts[1].items() if count}

    def look(self, now: float) -> list[Entry]:
        """All entries, each with `shown` as it is now."""
        return self._register.look_through(partial(self._look, now))

    def _look(self, now: float, entries: list[Entry]) -> list[Entry]:
        covered, version = board_of(self._node).covered(now), self._register.version
        counts = self._counts[1].copy()
        if covered is not self._covered:
            self._covered, due = covered, entries
        else:
            due = self._really_due([entry for entry in entries if entry.shown_until < now], now)
        state_of = state_at(self._node, now)
        for entry in due:
            counts[entry.shown] -= 1
            entry.show(state_of)
            counts[entry.shown] += 1
        if version != self._counts[0]:  # some have come or gone
            counts = Counter(map(attrgetter("shown"), entries))
        self._counts = version, counts
        return entries

    def _really_due(self, due: list[Entry], now: float) -> list[Entry]:
        """The due entries without those checked again: of many these are nearly all."""
        aged = [entry for entry in due if entry.shown_until > -inf]
        if len(aged) < MANY:
            return due
        times = self._node.series.live.newest([entry.subject for entry in aged], *CHECKED)
        for entry, at in zip(aged, times, strict=True):
            entry.hold_until(at + entry.hold_from(at, self._node.config.timezone))
        return [entry for entry in due if entry.shown_until < now]
