"""Leases and heartbeats over one store, with nodes whose clocks a test moves."""

import pytest

from opsapp.lib.problems import Conflict, StoreAway
from opsapp.runtime.cluster import leases, nodes
from opsapp.runtime.events import read_since
from opsapp.runtime.node import Node
from tests.support.clock import FakeClock


@pytest.fixture
def pair(service):
    """Two nodes on one store; their clocks do not agree. The service's own node stays out of it."""
    made = [
        Node(service.node.store.databases, None, name=name, clock=FakeClock(start), exclusive=False)
        for name, start in (("one", 1000.0), ("two", 5_000_000.0))
    ]
    for node in made:
        node.evolve_steps = service.node.evolve_steps
        node.leases.want("pipeline")
    return made


def advance(pair, seconds):
    for node in pair:
        node.clock.advance(seconds)


def bind(node):
    for db in node.store.databases.values():
        db.opsapp_node = node


def owners(node):
    """The names of the nodes whose claims stand, as this one sees it."""
    return {owner.partition(":")[0] for owner in node.store.transact(node.nodes.owners, ())}


def test_the_first_takes_it_and_keeps_it_while_it_beats(pair):
    one, two = pair
    for _ in range(20):
        one.leases.step()
        two.leases.step()
        assert (one.leases.holds("pipeline"), two.leases.holds("pipeline")) == (True, False)
        advance(pair, leases.LEASE_S / 4)


def test_a_dead_owners_lease_is_taken_over_after_its_time_and_not_before(pair):
    one, two = pair
    one.leases.step()
    two.leases.step()
    token = one.leases.held["pipeline"]
    advance(pair, leases.LEASE_S * 0.9)
    two.leases.step()
    assert not two.leases.holds("pipeline")
    assert not one.leases.holds("pipeline"), "an owner that did not renew stops acting before others may take over"
    advance(pair, leases.LEASE_S * 0.2)
    two.leases.step()
    assert two.leases.held["pipeline"] > token
    one.leases.step()
    assert not one.leases.holds("pipeline")


def test_work_under_a_lost_lease_does_not_commit(pair):
    one, two = pair
    one.leases.step()
    two.leases.step()
    bind(one)
    assert one.store.transact(leases.check, ("pipeline",)) == 1_000_000
    advance(pair, leases.LEASE_S * 1.1)
    two.leases.step()
    bind(one)
    with pytest.raises(Conflict) as caught:
        one.store.transact(leases.check, ("pipeline",))
    assert caught.value.code == "lease_lost"


def test_a_renewal_while_the_work_is_under_way_does_not_disturb_it(pair):
    one, _ = pair
    one.leases.step()
    bind(one)
    attempts = []

    def work(root):
        leases.check(root, "pipeline")
        attempts.append(1)
        if len(attempts) == 1:
            one.leases.step()
        root.system["worked"] = len(attempts)

    one.store.transact(work, ())
    assert len(attempts) == 1


def test_a_takeover_while_the_work_is_under_way_undoes_the_work(pair):
    one, two = pair
    one.leases.step()
    two.leases.step()
    bind(one)
    attempts = []

    def work(root):
        leases.check(root, "pipeline")
        root.system["written"] = True
        if not attempts:
            advance(pair, leases.LEASE_S * 1.1)
            two.leases.step()
            bind(one)
        attempts.append(1)

    with pytest.raises(Conflict):
        one.store.transact(work, ())
    assert len(attempts) == 1, "the second attempt finds the lease gone before it works"
    assert one.store.transact(lambda root: "written" in root.system, ()) is False


def test_a_clean_stop_gives_leases_back(pair):
    one, two = pair
    one.leases.step()
    one.store.transact(leases.release, (one.owner,))
    two.leases.step()
    assert two.leases.holds("pipeline")


def test_an_only_process_takes_over_from_a_dead_one_at_once_and_then_writes_nothing(service):
    databases = service.node.store.databases
    old = Node(databases, None, name="box", clock=FakeClock())
    new = Node(databases, None, name="box", clock=FakeClock())
    for node in (old, new):
        node.leases.want("pipeline")
        node.leases.step()
    assert new.leases.holds("pipeline")
    before = new.store.db.lastTransaction()
    new.clock.advance(3600)
    new.leases.step()
    assert new.leases.holds("pipeline")
    assert new.store.db.lastTransaction() == before


def test_nodes_see_each_other_live_and_die(pair):
    one, two = pair
    one.nodes.step()
    two.nodes.step()
    one.nodes.step()
    assert one.nodes.alive("engine") == two.nodes.alive("engine") == ("one", "two")
    for _ in range(int(nodes.DEAD_AFTER_S / nodes.BEAT_S) + 1):
        advance(pair, nodes.BEAT_S)
        one.nodes.step()
    assert one.nodes.alive("engine") == ("one",)
    two.nodes.step()
    one.nodes.step()
    assert one.nodes.alive("engine") == ("one", "two")
    two.store.transact(nodes.leave, ("two", two.boot))
    one.nodes.step()
    assert one.nodes.alive("engine") == ("one",)


def test_a_node_that_was_held_up_itself_does_not_find_the_others_dead(pair):
    """What it would call dead is lost: their runs, their checks."""
    one, two = pair
    one.nodes.step()
    two.nodes.step()
    one.nodes.step()
    for _ in range(10):
        advance(pair, nodes.BEAT_S)
        two.nodes.step()
    assert one.nodes.alive("engine") == ("one", "two")
    one.nodes.step()
    assert one.nodes.alive("engine") == ("one", "two")


def test_the_checks_of_a_quiet_node_are_shared_before_it_counts_as_dead(pair):
    """A check that is made twice does no harm; a run that is called lost although it goes on does."""
    one, two = pair
    for node in (one, two, one):
        node.nodes.step()
    assert one.nodes.working("engine") == ("one", "two")
    for _ in range(int(nodes.QUIET_AFTER_S / nodes.BEAT_S)):
        advance(pair, nodes.BEAT_S)
        one.nodes.step()
    assert one.nodes.working("engine") == ("one",)
    assert one.nodes.alive("engine") == ("one", "two")
    assert owners(one) == {"one", "two"}
    two.nodes.step()
    one.nodes.step()
    assert one.nodes.working("engine") == ("one", "two")


def test_the_claims_of_a_dead_node_are_abandoned_until_its_beat_moves(pair):
    one, two = pair
    for node in (one, two, one):
        node.nodes.step()
    for _ in range(int(nodes.DEAD_AFTER_S / nodes.BEAT_S) + 1):
        advance(pair, nodes.BEAT_S)
        one.nodes.step()
    assert owners(one) == {"one"}
    two.nodes.step()
    assert owners(one) == {"one", "two"}, "it has beaten since the last look"


def test_what_a_node_claims_before_the_others_have_seen_it_is_not_abandoned(service, pair):
    """It has come, or was started again, since they looked: its runs were called lost while they went on."""
    one, two = pair
    for node in (one, two, one):
        node.nodes.step()
    again = Node(service.node.store.databases, None, name="two", clock=FakeClock(), exclusive=False)
    again.evolve_steps = service.node.evolve_steps
    new = Node(service.node.store.databases, None, name="three", clock=FakeClock(), exclusive=False)
    new.evolve_steps = service.node.evolve_steps
    for node in (again, new):
        node.nodes.step()
    standing = one.store.transact(one.nodes.owners, ())
    assert standing == {one.owner, again.owner, new.owner}


def test_a_node_that_was_told_to_stop_gets_no_checks_and_keeps_what_it_has_claimed(pair):
    one, two = pair
    for node in (one, two, one):
        node.nodes.step()
    two.nodes.leave()
    assert two.nodes.working("engine") == ("one",)
    one.nodes.step()
    assert one.nodes.working("engine") == ("one",)
    assert owners(one) == {"one", "two"}
    bind(one)
    told = one.store.transact(lambda root: [event.kind for event in read_since(root, {})[1]], ())
    assert leases.FREE in told


def test_a_node_that_was_told_to_stop_gives_back_each_lease_once_nothing_is_under_way(pair):
    one, two = pair
    for node in pair:
        node.leases.want("sending")
        node.leases.step()
    under_way, looks = [True], []

    def busy():
        looks.append(
            one.store.transact(lambda root: {n: lease.owner for n, lease in root.system["leases"].items()}, ())
        )
        if len(looks) > 2:
            under_way.clear()
        return under_way

    one.leases.busy_while("sending", busy)
    worker = one.supervisor.add("routing", lambda: one.leases.leave() or True, every=1.0, lease="routing")
    one.leases.step()
    one.leases.leave()
    assert looks[1] == {"pipeline": "", "sending": one.owner, "routing": ""}
    assert looks[-1]["sending"] == one.owner
    two.leases.step()
    assert two.leases.held.keys() == {"pipeline", "sending"}
    one.leases.step()
    assert not any(one.leases.holds(name) for name in ("pipeline", "sending", "routing"))
    assert worker._work() <= 0.5
    assert worker.last_step is None, "it works no more"


def test_a_store_that_was_away_makes_no_lease_stale(pair, monkeypatch):
    """Nobody could renew meanwhile: the first that comes back takes nothing from the others."""
    one, two = pair
    one.leases.step()
    two.leases.step()
    with monkeypatch.context() as away:
        away.setattr(two, "transact", lambda *_: (_ for _ in ()).throw(StoreAway()))
        advance(pair, leases.LEASE_S * 10)
        with pytest.raises(StoreAway):
            two.leases.step()
    two.leases.step()
    assert two.leases.held == {}
    one.leases.step()
    assert one.leases.holds("pipeline")


@pytest.mark.parametrize("seconds", [60, 3600])
def test_nodes_that_slept_together_or_lost_their_store_for_a_while_are_both_there(pair, seconds):
    one, two = pair
    one.nodes.step()
    two.nodes.step()
    one.nodes.step()
    advance(pair, seconds)
    one.nodes.step()
    assert owners(one) == {"one", "two"}
    two.nodes.step()
    advance(pair, nodes.BEAT_S)
    one.nodes.step()
    assert owners(one) == owners(two) == {"one", "two"}


def test_nodes_long_dead_are_forgotten(pair):
    one, two = pair
    two.nodes.step()
    one.nodes.step()
    for _ in range(int(nodes.FORGET_AFTER_S / nodes.LOOKED_FOR_S) + 2):
        advance(pair, nodes.LOOKED_FOR_S)
        one.nodes.step()
    assert one.store.transact(lambda root: list(root.system["nodes"]), ()) == ["one"]


def test_a_step_is_late_only_on_the_node_that_holds_its_lease(pair):
    """Seen: a node that lost its lease said "104 s late" for ever, while another did the work."""
    one, two = pair
    workers = [node.supervisor.add("healing-pipeline", lambda: False, every=1.0, lease="pipeline") for node in pair]
    one.leases.step()
    two.leases.step()
    for worker in workers:
        worker._work()
    assert [worker.status().late_s for worker in workers] == [0.0, None]
    advance(pair, leases.LEASE_S * 1.1)
    two.leases.step()
    one.leases.step()
    advance(pair, 3.0)
    two.leases.step()
    assert [worker.status().late_s for worker in workers] == [None, None]
    for worker in workers:
        worker._work()
    advance(pair, 2.5)
    two.leases.step()
    assert [worker.status().late_s for worker in workers] == [None, 1.5]


@pytest.mark.parametrize("off", [-3600.0, 0.0, 3600.0])
def test_what_waits_under_a_lease_moves_by_what_the_clock_of_its_last_holder_was_off(pair, off):
    one, two = pair
    one.clock, two.clock = FakeClock(5_000_000.0 + off), FakeClock(5_000_000.0)
    moved = []
    for node in pair:
        node.clock_steps.carry("pipeline", "here", lambda root, by, name=node.name: moved.append((name, by)))
    for _ in range(3):
        one.leases.step()
        two.leases.step()
        advance(pair, leases.LEASE_S / 4)
    for _ in range(5):
        advance(pair, leases.LEASE_S / 4)
        two.leases.step()
    assert two.leases.holds("pipeline")
    assert moved == ([("two", -off)] if off else [])


def test_a_lease_that_nobody_was_seen_to_renew_tells_of_a_clock_that_was_ahead_and_not_of_a_pause(pair):
    one, two = pair
    two.clock = FakeClock(5_000_000.0)
    for start, expected in ((5_003_600.0, [-3600.0]), (4_996_400.0, [])):
        one.clock, moved = FakeClock(start), []
        one.leases.held.clear()
        one.clock_steps.carry("pipeline", "here", lambda root, by: None)
        two.clock_steps.carry("pipeline", "here", lambda root, by, moved=moved: moved.append(by))
        one.leases.step()
        one.store.transact(leases.release, (one.owner,))
        two.leases.step()
        assert two.leases.holds("pipeline")
        assert moved == expected
        two.store.transact(leases.release, (two.owner,))
        two.leases.held.clear()
        two.leases._watched.clear()
