"""A hundred nodes over one store, in virtual time: the real beats, leases and shards, and clocks that go wrong.

Each node has a clock of its own, steps when its timers are due, and may stand still, die, come and leave meanwhile.
"""

import heapq
import random
from collections import Counter
from functools import lru_cache

import pytest

from opsapp.runtime.cluster import leases, nodes
from opsapp.runtime.node import Node
from tests.support.clock import FakeClock
from tests.support.sharding import owner

SIZE = 100
LEASES = ["pipeline", "rollup", "sweep"]
TARGETS = [f"monitor-{number}" for number in range(100)]
BARE_S = 10  # what no target may be unprobed for
TICK_S = 0.5


@lru_cache(maxsize=256)
def shares(names):
    """Whose target is whose, as a node sees it that knows these nodes."""
    return {target: owner(target, names) for target in TARGETS}


class World:
    def __init__(self, databases, seed):
        self.databases, self.chance = databases, random.Random(seed)
        self.now, self.nodes, self.paused, self.due = 0.0, {}, {}, []
        self.held = {name: 0.0 for name in LEASES}  # since when nobody has had it
        self.probed = dict.fromkeys(TARGETS, 0.0)
        self.longest_bare = self.longest_without = 0.0
        self.takeovers = Counter()

    def join(self, name):
        wrong = self.chance.choice([0.0, -3600.0, 3600.0, self.chance.uniform(-5, 5)])
        node = Node(self.databases, None, name=name, clock=FakeClock(2_683_612_800 + wrong), exclusive=False)
        node.clock.advance(self.chance.uniform(0, 1000))
        node.drift = self.chance.uniform(0.9995, 1.0005)
        for lease in LEASES:
            node.leases.want(lease)
        self.nodes[name] = node
        for step, every in ((node.nodes.step, nodes.BEAT_S), (node.leases.step, leases.LEASE_S / 4)):
            heapq.heappush(
                self.due, (self.now + self.chance.uniform(0, every), self.chance.random(), name, step, every)
            )

    def kill(self, name):
        self.nodes.pop(name).store.close = None  # it says nothing, and gives nothing back

    def leave(self, name):
        node = self.nodes.pop(name)
        node.store.transact(leases.release, (node.owner,))
        node.store.transact(nodes.leave, (node.name, node.boot))

    def pause(self, name, seconds):
        self.paused[name] = self.now + seconds

    def run(self, seconds, settling=0.0):
        end = self.now + seconds
        while self.now < end:
            self.now += TICK_S
            for node in self.nodes.values():
                node.clock.advance(TICK_S * node.drift)
            self._step()
            self._judge(watch=self.now > end - seconds + settling)

    def _step(self):
        """What is due by now, of those that do not stand still; those do it late, when they come to."""
        while self.due and self.due[0][0] <= self.now:
            _at, tie, name, step, every = heapq.heappop(self.due)
            node = self.nodes.get(name)
            if node is None or step.__self__.node is not node:
                continue
            if self.paused.get(name, 0.0) > self.now:
                heapq.heappush(self.due, (self.paused[name], tie, name, step, every))
                continue
            step()
            heapq.heappush(self.due, (self.now + every, tie, name, step, every))

    def _judge(self, watch):
        for lease in LEASES:
            holders = [name for name, node in self.nodes.items() if node.leases.holds(lease)]
            assert len(holders) <= 1, (self.now, lease, holders)
            if holders and self.paused.get(holders[0], 0.0) <= self.now:
                self.held[lease] = self.now
            elif watch:
                self.longest_without = max(self.longest_without, self.now - self.held[lease])
        for name, node in self.nodes.items():
            if self.paused.get(name, 0.0) > self.now:
                continue
            for target, whose in shares(node.nodes.working("engine")).items():
                if whose == name:
                    self.probed[target] = self.now
        if watch:
            self.longest_bare = max(self.longest_bare, self.now - min(self.probed.values()))
        else:
            self.probed = dict.fromkeys(TARGETS, self.now)
            self.held = dict.fromkeys(LEASES, self.now)


@pytest.fixture
def world(service):
    made = World(service.node.store.databases, seed=7)
    yield made
    for node in made.nodes.values():
        node.supervisor.stop()


@pytest.mark.nightly("a hundred nodes; tests/engine/test_leases.py has two")
@pytest.mark.timeout(600)
def test_a_hundred_nodes_leave_no_target_bare_and_hold_no_lease_twice(world):
    for number in range(SIZE):
        world.join(f"node-{number}")
    world.run(2 * nodes.BEAT_S + leases.LEASE_S, settling=nodes.BEAT_S + leases.LEASE_S)
    known = {node.nodes.alive("engine") for node in world.nodes.values()}
    assert known == {tuple(sorted(world.nodes))}  # all see all
    holder = next(name for name, node in world.nodes.items() if node.leases.holds("pipeline"))
    world.kill(holder)
    for name in world.chance.sample(sorted(world.nodes), 5):
        world.kill(name)
    world.run(12)
    holder = next(name for name, node in world.nodes.items() if node.leases.holds("pipeline"))
    world.pause(holder, 9)  # longer than its lease, and then it goes on where it was
    for name in world.chance.sample(sorted(set(world.nodes) - {holder}), 10):
        world.pause(name, world.chance.uniform(1, 11))
    world.run(14)
    for node in world.chance.sample(sorted(world.nodes.values(), key=lambda node: node.name), 20):
        node.clock._now += world.chance.choice([-3600, 3600])  # the wall clock is stepped
    for number in range(5):
        world.leave(world.chance.choice(sorted(world.nodes)))
        world.join(f"new-{number}")
    world.run(12)
    assert world.longest_bare <= BARE_S
    assert world.longest_without <= 10
    assert len({node.nodes.alive("engine") for node in world.nodes.values()}) == 1


def counts(keys, names):
    return Counter(owner(key, names) for key in keys)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "size", [20, pytest.param(SIZE, marks=pytest.mark.nightly("ten million hashes; twenty nodes need a 25th of them"))]
)
def test_shards_are_even_and_a_node_that_comes_or_goes_moves_its_part_alone(size):
    """As many monitors as keep a hundred nodes busy at a check a minute are 3,000,000; the fewer, the less even."""
    names = [f"node-{number}" for number in range(size)]
    keys = [f"{number:032x}" for number in range(1000 * size)]
    before = {key: owner(key, names) for key in keys}
    share = Counter(before.values())
    even = len(keys) / size
    assert max(abs(count - even) for count in share.values()) <= even / 10
    sample = keys[:5_000]
    fewer = {key: owner(key, names[:-1]) for key in sample}
    assert all(before[key] in (fewer[key], names[-1]) for key in sample)
    moved = sum(before[key] != fewer[key] for key in sample)
    assert moved <= 1.1 * len(sample) / size * 1.1
    more = {key: owner(key, [*names, "node-new"]) for key in sample}
    assert all(more[key] in (before[key], "node-new") for key in sample)
    assert sum(more[key] != before[key] for key in sample) <= 1.1 * len(sample) / size * 1.1
