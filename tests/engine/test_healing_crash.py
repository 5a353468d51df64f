"""The process is gone at any transaction of a heal, just before its commit or just after: all there are, one by one.

What a kill -9 does to sockets and files is in tests/system/test_healing.py; here every boundary has its turn.
"""

import random
from contextlib import closing

import pytest

from opsapp.healing.resources import healing_of
from tests.engine.healing import NGINX, Ward
from tests.support.hosts import place

CHAIN = {
    "id": "nginx",
    "condition": NGINX["condition"],
    "settle_s": 1,
    "verify_timeout_s": 20,
    "escalation_chain": [{"action": "service_reset_failed", "params": {}}, {"action": "restart_service", "params": {}}],
}


class Killed(BaseException):
    """No handler of an error stops a kill -9."""


class Mortal:
    """A ward whose process dies at the transactions with these numbers: (number, whether it was committed)."""

    def __init__(self, here, deaths):
        self.here, self.deaths, self.count, self.died = here, dict(deaths), 0, 0
        self.markers, self.state, self.answered = [], "failed", set()
        self.writes = []  # numbers of the transactions that changed the store: only those are worth a death
        self.transact, here.node.transact = here.node.transact, self._transact
        self.alive = False

    def _transact(self, fn, *values):
        if not self.alive:
            return self.transact(fn, *values)
        self.count += 1
        committed = self.deaths.get(self.count)
        if committed is None:
            before, answer = self.here.node.store.db.lastTransaction(), self.transact(fn, *values)
            if self.here.node.store.db.lastTransaction() != before:
                self.writes.append(self.count)
            return answer
        if committed:
            self.transact(fn, *values)
        self.died += 1
        raise Killed

    def step(self):
        self.here.clock.advance(0.5)
        self._answer()
        self.here.report(service__nginx__state=self.state)
        self.alive = True
        try:
            self.here.turn()
        except Killed:
            self.alive = False
            self.here.restart()
        self.alive = False

    def _answer(self):
        """The host performs each command once, whoever asks again for its answer."""
        for one in self.here.hosts.sent:
            if one["command_id"] in self.answered:
                continue
            self.answered.add(one["command_id"])
            phase, action = one["params"]["phase"], one["params"].get("action_type")
            if phase == "execute":
                self.markers.append(action)
                self.state = "active" if action == "restart_service" else self.state
            self.here.hosts.finish(phase, among=one, snapshot={"kind": "unit", "state": {}})

    def heal(self):
        """Until all is quiet; the final entries."""
        for _ in range(200):
            self.step()
            entries = self.here.ledger
            if self.state == "active" and entries and all(entry["state"] == "final" for entry in entries):
                return entries
        raise AssertionError("a case is stuck")

    def check(self):
        entries = self.heal()
        assert self.markers == ["service_reset_failed", "restart_service"]
        assert [(one["action_type"], one["outcome"], one["events"]) for one in entries] == [
            ("service_reset_failed", "failed", 0),
            ("restart_service", "verified", 1),
        ]
        assert self.here.verdict().valid
        assert self.here.node.transact(lambda root: list(healing_of(root).book.due)) == []
        assert (self.here.trust().verified, self.here.trust().failed) == (1, 0)


@pytest.fixture
def mortal(ward):
    def make(deaths):
        return Mortal(ward(CHAIN, places=[place()]).at("execute"), deaths)

    return make


@pytest.mark.parametrize("committed", [False, True], ids=["before", "after"])
def test_at_every_transaction_of_a_heal(tmp_path_factory, committed):
    def heal(*deaths):
        with closing(Ward(tmp_path_factory.mktemp("ward"), CHAIN, places=[place()])) as here:
            mortal = Mortal(here.at("execute"), deaths)
            mortal.check()
            assert mortal.died == len(deaths)
            return mortal.writes

    writes = heal()
    assert len(writes) > 10, "a heal of two steps has more commits than that"
    for number in writes:
        heal((number, committed))


@pytest.mark.parametrize("seed", range(5))
def test_again_and_again(mortal, seed):
    dice = random.Random(seed)
    one = mortal({number: dice.random() < 0.5 for number in range(1, 400) if dice.random() < 0.15})
    one.check()
    assert one.died
