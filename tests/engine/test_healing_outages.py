"""Outages over a graph of hosts that report every minute: the root is healed, nothing else, and entries name it."""

import random

import pytest

from tests.support.dependencies import depend
from tests.support.failing_worlds import world
from tests.support.hosts import place

ILL = {"id": "ill", "condition": "ill == 1", "action": {"type": "clear_cache"}, "cooldown_s": 300}
EVERY_S = 60
SERVICES = 30
WIDE = {"max_heals_per_hour": {"fleet": 999, "site": 999, "rule": 999}, "max_unhealthy_percent": 100}


class Outages:
    """Hosts that are ill from their root on, with a delay by generation, and well again soon after it is."""

    def __init__(self, ward, seed):
        self.dice = random.Random(seed)
        self.graph = world(seed, services=SERVICES, roots=3)
        self.names = sorted(self.graph.failures)
        self.parents = {name: [up for low, up in self.graph.edges if low == name] for name in self.names}
        places = [place(name, name, interval=EVERY_S) for name in self.names]
        self.here = ward(ILL, places=places, brake=WIDE)
        self.here.at("execute", "ill")
        entries = [{"target": name, "depends_on": parents} for name, parents in self.parents.items()]
        self.here.node.transact(lambda root: depend(root, entries))
        self.due = {name: self.dice.uniform(0, EVERY_S) for name in self.names}
        self.turns = {}  # name -> when it falls ill, and when it is well again
        self.now = 0.0

    def is_ill(self, name):
        begins, ends = self.turns.get(name, (float("inf"), 0.0))
        return begins <= self.now < ends

    def strike(self, root):
        """The root falls ill, and whatever hangs on something that is ill some seconds after that."""
        begun = {root: self.now}
        for name in self.names:  # parents come first
            above = [begun[parent] for parent in self.parents[name] if parent in begun]
            if above:
                begun[name] = min(above) + self.dice.uniform(1, 10)
        self.turns = {name: (begins, float("inf")) for name, begins in begun.items()}

    def mend(self, name):
        """Only the root can be mended; what depends on it comes up by itself."""
        begun = {each: begins for each, (begins, _) in self.turns.items()}
        if begun and name == min(begun, key=begun.get):
            later = {each: 0 if each == name else self.dice.uniform(1, 4) for each in begun}
            self.turns = {each: (begins, self.now + later[each]) for each, begins in begun.items()}

    def run(self, seconds):
        for _ in range(seconds):
            self.now += 1
            self.here.clock.advance(1)
            for name, due in self.due.items():
                if due <= self.now:
                    self.due[name] = due + EVERY_S
                    self.report(name)
            asked, self.here.hosts.rechecked = self.here.hosts.rechecked, []
            for subject, done in asked:
                began = self.here.clock.now()
                self.report(subject.partition(":")[2])
                done(began)
            for command in [one for one in self.here.hosts.sent if one["answer"] is None]:
                phase = command["params"]["phase"]
                if phase == "execute":
                    self.mend(command["agent_id"])
                if phase == "measure":
                    self.report(command["agent_id"])
                self.here.hosts.finish(phase, among=command, snapshot={})
            self.here.turn()

    def report(self, name):
        self.here.report(f"agent:{name}", ill=int(self.is_ill(name)))


@pytest.mark.parametrize("seed", [1, 4])
def test_the_root_is_healed_nothing_else_and_every_entry_names_it(ward, seed):
    outages = Outages(ward, seed)
    outages.run(2 * EVERY_S)
    parents = sorted({up for _, up in outages.graph.edges})
    healed = wrong = named = unnamed = 0
    for root in outages.dice.sample(parents, 8):
        known = len(outages.here.ledger)
        outages.strike(root)
        outages.run(4 * EVERY_S)
        new = outages.here.ledger[known:]
        acted = [entry for entry in new if entry["action_type"]]
        healed += any((entry["target"], entry["outcome"]) == (root, "verified") for entry in acted)
        wrong += sum(entry["target"] != root for entry in acted)
        reasons = [entry["reason"] for entry in new if entry["outcome"] == "suppressed"]
        named += sum(reason.startswith(f"root cause {root}:") for reason in reasons)
        unnamed += sum(not reason.startswith(f"root cause {root}:") for reason in reasons)
        outages.run(5 * EVERY_S)
    assert (healed, wrong, unnamed) == (8, 0, 0)
    assert named > 5
