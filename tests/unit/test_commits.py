"""How commits wait for each other on a shared store: for a bounded time, and few behind one that is stuck."""

import threading
from types import SimpleNamespace

import pytest
from ZODB.MappingStorage import MappingStorage

from opsapp.lib.problems import StoreAway
from opsapp.runtime.store import commits
from opsapp.runtime.store.commits import CommitGate
from tests.support.waiting import until


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
                self.go.wait()
        except StoreAway:
            self.refused = True

    def enters(self):
        until(self.inside.is_set, what="a commit in the gate")
        return self


class GateTime:
    """A monotonic time that the test moves, and what was waited for in it at a gate."""

    def __init__(self):
        self.now, self.waits = 100.0, []

    def monotonic(self):
        return self.now

    def wait(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = GateTime()
    monkeypatch.setattr(commits, "time", SimpleNamespace(monotonic=clock.monotonic))
    return clock


def test_without_a_bound_all_pass():
    gate = CommitGate.of([MappingStorage()])
    with gate.passing():
        Holder(gate).enters().go.set()


def test_one_passes_and_the_next_follows_it():
    gate = CommitGate(1)
    first = Holder(gate).enters()
    second = Holder(gate)
    until(lambda: gate._waiting == 1, what="the second at the gate")
    assert not second.inside.is_set()
    first.go.set()
    second.enters().go.set()


def test_a_commit_within_another_one_passes_with_it():
    gate = CommitGate(1)
    with gate.passing(), gate.passing():
        pass
    with gate.passing():
        pass


def test_who_waits_too_long_is_refused(monkeypatch, clock):
    gate = CommitGate(1)
    holder = Holder(gate).enters()
    with monkeypatch.context() as counted:
        counted.setattr(gate._moved, "wait", clock.wait)
        with pytest.raises(StoreAway, match="Nothing was changed"), gate.passing():
            pass
    assert sum(clock.waits) == commits.WAIT_S
    holder.go.set()
    until(lambda: not holder.is_alive(), what="the end of the first commit")
    with gate.passing():
        pass


def test_behind_one_that_is_stuck_few_wait_and_the_rest_hears_it_at_once(monkeypatch, clock):
    monkeypatch.setattr(commits, "STUCK_S", 3600.0)  # nobody wakes before it is told to
    monkeypatch.setattr(commits, "WAIT_S", 7200.0)
    gate = CommitGate(1)
    holder = Holder(gate).enters()
    holders = [Holder(gate) for _ in range(commits.FEW)]
    until(lambda: gate._waiting == commits.FEW, what="few behind the first")
    clock.now += 3601
    with monkeypatch.context() as counted:
        counted.setattr(gate._moved, "wait", clock.wait)
        with pytest.raises(StoreAway), gate.passing():
            pass
    assert clock.waits == []
    for each in [holder, *holders]:
        each.go.set()
    for waiting in holders:
        until(lambda waiting=waiting: not waiting.is_alive(), what="the end of a commit that waited")
        assert waiting.inside.is_set()
        assert not waiting.refused
