"""How monitors are shown is kept from one look to the next: it is what each of them would say, for less work."""

import random
from collections import Counter

import pytest

from opsapp.monitoring.engine import shownstates, tally
from tests.support.monitoring import BLIND, DOWN, UP, Lookout

AT = "2055-01-15T08:{:02}:00"  # the test's clock says 08:00


@pytest.fixture
def lookout(service):
    return Lookout(service)


def counted(lookout):
    return lookout.service.read(lambda root: tally(lookout.service.node, root).counts)


def said(lookout):
    """As each monitor by itself says it: whatever happened before is no part of it."""
    entries = lookout.watch.register.entries.values()
    state_of = shownstates.state_at(lookout.service.node, lookout.service.clock.now())
    return dict(Counter(state_of(entry).status for entry in entries))


@pytest.mark.parametrize("many", [1, 100])
def test_it_is_what_each_says_whatever_happens(lookout, monkeypatch, many):
    monkeypatch.setattr(shownstates, "MANY", many)
    chance, otto = random.Random(5), lookout.service.otto
    ids = [lookout.add(name=f"m{n}", retries=0, interval=30 + n, timeout=5) for n in range(12)]
    window = {"name": "work", "start": AT.format(4), "end": AT.format(7), "scope": ids[:4]}
    otto.post_json("/api/maintenance", window)
    told = Counter()
    for second in range(0, 900, 5):
        if second == 400:
            for monitor_id in ids[6:9]:
                lookout.checker.table.drop(monitor_id)  # nobody looks at them any more
        if second == 500:
            lookout.service.ada.delete(f"/api/monitoring/endpoints/{ids.pop()}")
            otto.put_json(f"/api/monitoring/endpoints/{ids[9]}", {"enabled": False})
        if second == 600:
            otto.put_json(f"/api/monitoring/endpoints/{ids[8]}", {"url": "http://elsewhere.example/"})
        lookout.sees |= {monitor_id: chance.choice((UP, UP, DOWN, BLIND)) for monitor_id in ids}
        lookout.run(5, step=5)
        assert counted(lookout) == said(lookout), f"after {second} s"
        told.update(counted(lookout).keys())
    assert {"up", "down", "unknown", "maintenance", "paused"} <= told.keys()


def test_a_check_that_grew_too_old_is_unknown_although_nothing_was_committed(lookout):
    monitor_id = lookout.add(retries=0, interval=60, timeout=5)
    lookout.sees[monitor_id] = UP
    lookout.run(5, step=1)
    assert counted(lookout) == {"up": 1}
    lookout.service.clock.advance(61)
    assert counted(lookout) == {"up": 1}
    lookout.service.clock.advance(10)
    assert counted(lookout) == {"unknown": 1}
    lookout.tick()
    assert counted(lookout) == {"up": 1}


def test_the_graph_says_of_what_nobody_has_looked_at_lately_that_it_is_unknown(lookout):
    lookout.sees[lookout.add(name="shop", retries=0, interval=60, timeout=5)] = UP
    graph = {"dependencies": [{"target": "shop", "type": "monitor", "depends_on": []}]}
    lookout.service.ada.put_json("/api/healing/dependencies", graph)

    def status():
        (node,) = lookout.service.vera.get("/api/healing/dependencies").json["nodes"]
        return node["status"]

    assert status() == "unknown"
    lookout.run(5, step=1)
    assert status() == "ok"
    lookout.service.clock.advance(71)
    assert status() == "unknown"


def test_only_what_may_have_changed_is_looked_at(lookout, monkeypatch):
    ids = [lookout.add(name=f"m{n}", retries=0, interval=300) for n in range(30)]
    lookout.sees = dict.fromkeys(ids, UP)
    lookout.run(300, step=10)
    assert counted(lookout) == {"up": 30}
    looked_at, state_at = [], shownstates.state_at

    def watched(node, now):
        state_of = state_at(node, now)
        return lambda entry: looked_at.append(entry.id) or state_of(entry)

    monkeypatch.setattr(shownstates, "state_at", watched)
    assert counted(lookout) == {"up": 30}
    assert looked_at == []
    lookout.watch.take(lookout.watch.register.entries[ids[7]], DOWN, lookout.service.clock.now())
    assert counted(lookout) == {"up": 29, "down": 1}
    assert set(looked_at) == {ids[7]}
