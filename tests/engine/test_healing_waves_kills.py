"""A process that dies at any point of a deed: no host is healed twice, no wave goes without the verdict before it."""

import random
from contextlib import closing

import pytest

from tests.engine.healing import Ward
from tests.engine.outage import DOWN, WIDE, Fleet, ends, fleets, sizes
from tests.support.hosts import place


@pytest.fixture
def fleet(ward):
    return fleets(ward)


class Killed(BaseException):
    """No handler of an error stops a kill -9."""


class Mortal:
    """An outage whose process dies at some of its transactions: `dies` says of each by its number whether it does,
    before its commit (False) or after it (True)."""

    def __init__(self, outage, dies):
        self.here, self.dies, self.count, self.died, self.alive = outage.here, dies, 0, 0, False
        self.writes = []  # numbers of the transactions that changed the store
        self.transact, self.turn = self.here.node.transact, self.here.turn
        self.here.node.transact, self.here.turn = self._transact, self._turn

    def _transact(self, fn, *values):
        if not self.alive:
            return self.transact(fn, *values)
        self.count += 1
        committed = self.dies(self.count)
        if committed is None:
            before, answer = self.here.node.store.db.lastTransaction(), self.transact(fn, *values)
            self.writes += [self.count] * (self.here.node.store.db.lastTransaction() != before)
            return answer
        if committed:
            self.transact(fn, *values)
        self.died += 1
        raise Killed

    def _turn(self, seconds=0.0):
        self.alive = True
        try:
            return self.turn(seconds)
        except Killed:
            self.alive = False
            return self.here.restart()
        finally:
            self.alive = False


def again_and_again(seed, most=12):
    """Whoever looks at a heal that does not help anew each second never hears its end: so often at most."""
    dice, left = random.Random(seed), [None] * most

    def dies(_):
        if not left or dice.random() >= 0.15:
            return None
        left.pop()
        return dice.random() < 0.5

    return dies


@pytest.mark.parametrize("seed", [1, 2])
def test_a_kill_at_any_point_no_host_twice_and_no_wave_without_its_verdict(fleet, seed):
    outage = fleet(8)
    mortal = Mortal(outage, again_and_again(seed))
    outage.until_quiet(2000)
    assert mortal.died
    assert sorted(outage.acted) == sorted(outage.state)
    assert sizes(outage)[0] == 1
    verdicts_in_order(outage)


@pytest.mark.parametrize("seed", [3, 4])
def test_a_kill_at_any_point_lets_nothing_slip_past_a_stop(fleet, seed):
    outage = fleet(8, "nothing")
    mortal = Mortal(outage, again_and_again(seed))
    outage.until_quiet(2000)
    assert mortal.died
    assert len(outage.acted) == 1
    assert ends(outage) == {"failed": 1, "withdrawn": 7}


def verdicts_in_order(outage):
    """Nothing was done before the wave before it had come to its end."""
    ended = {entry["target"]: entry["finished_at"] for entry in outage.here.ledger}
    waves = {case["agent_id"]: (case["wave"], case["target"]) for case in outage.here.cases}
    for agent_id, at in outage.at.items():
        number, _ = waves[agent_id]
        before = [ended[target] for other, target in waves.values() if other < number]
        assert [end for end in before if end > at + 1] == []


@pytest.mark.nightly("an outage for each of its transactions; the tests above die at some of them")
@pytest.mark.parametrize("committed", [False, True], ids=["before", "after"])
def test_a_kill_at_every_transaction_of_a_deed(tmp_path_factory, committed):
    def heal(*deaths):
        ward = Ward(
            tmp_path_factory.mktemp("ward"), DOWN, places=[place(f"h{n}", f"a{n}") for n in range(4)], brake=WIDE
        )
        with closing(ward) as here:
            outage = Fleet(here.at("execute", "down"), 4)
            mortal = Mortal(outage, dict.fromkeys(deaths, committed).get)
            outage.until_quiet()
            assert mortal.died == len(deaths)
            assert sorted(outage.acted) == sorted(outage.state)
            assert sizes(outage) == [1, 1, 2]
            verdicts_in_order(outage)
            return mortal.writes

    writes = heal()
    assert len(writes) > 10, "four heals in three waves have more commits than that"
    for number in writes:
        heal(number)
