"""How commits wait for each other on a shared store: for a bounded time, and few behind one that is stuck."""

import threading
import time

import pytest
from ZODB.MappingStorage import MappingStorage

from opsapp.lib.problems import StoreAway
from opsapp.runtime import commits
from opsapp.runtime.commits import CommitGate


class Holder(threading.Thread):
    """Is in the gate until it is told to go."""

    def __init__(self, gate):
        super().__init__(daemon=True)
        self.gate, self.inside, self.go = gate, threading.Event(), threading.Event()
        self.refused = False
        self.start()

    def run(self):
        try:
            with self.gate.passing():
                self.inside.set()
                self.go.wait(10)
        except StoreAway:
            self.refused = True


def test_without_a_bound_all_pass():
    gate = CommitGate.of([MappingStorage()])
    with gate.passing():
        other = Holder(gate)
        assert other.inside.wait(5)
        other.go.set()


def test_one_passes_and_the_next_follows_it():
    gate = CommitGate(1)
    first = Holder(gate)
    assert first.inside.wait(5)
    second = Holder(gate)
    assert not second.inside.wait(0.05)
    first.go.set()
    assert second.inside.wait(5)
    second.go.set()


def test_a_commit_within_another_one_passes_with_it():
    gate = CommitGate(1)
    with gate.passing(), gate.passing():
        pass
    with gate.passing():
        pass


def test_who_waits_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(commits, "WAIT_S", 0.1)
    gate = CommitGate(1)
    holder = Holder(gate)
    assert holder.inside.wait(5)
    began = time.monotonic()
    with pytest.raises(StoreAway, match="Nothing was changed"), gate.passing():
        pass
    assert 0.1 <= time.monotonic() - began < 5
    holder.go.set()
    holder.join(5)
    with gate.passing():
        pass


def test_behind_one_that_is_stuck_few_wait_and_the_rest_hears_it_at_once(monkeypatch):
    monkeypatch.setattr(commits, "STUCK_S", 0.05)
    monkeypatch.setattr(commits, "WAIT_S", 8.0)
    gate = CommitGate(1)
    holder = Holder(gate)
    assert holder.inside.wait(5)
    holders = [Holder(gate) for _ in range(commits.FEW)]
    deadline = time.monotonic() + 5
    while gate._waiting < commits.FEW or not gate._is_stuck():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    began = time.monotonic()
    with pytest.raises(StoreAway), gate.passing():
        pass
    assert time.monotonic() - began < 4
    for each in [holder, *holders]:
        each.go.set()
    for each in holders:
        each.join(5)
        assert each.inside.is_set()
        assert not each.refused
