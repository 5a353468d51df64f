"""A step of the clock with many of each kind that waits: moved in pieces, each once, whoever is killed between them."""

import pytest
from persistent.TimeStamp import TimeStamp

from opsapp.agents.engine import commands, sweep
from opsapp.agents.resources import agents_of
from opsapp.healing.engine import clocks
from opsapp.healing.resources import healing_of
from opsapp.monitoring.engine import pushes
from opsapp.monitoring.resources import monitors_of
from opsapp.oncall.engine import escalations
from opsapp.oncall.resources import oncall_of
from opsapp.runtime import deletions
from opsapp.runtime.clocks import steps
from opsapp.runtime.clocks.pieces import AT_ONCE, LEFT
from tests.support import clockchild, clockrooms
from tests.support.app import Service
from tests.support.clock import FakeClock
from tests.support.clockrooms import DUE_IN, ROOMS, ready
from tests.support.damage import oid_of, overwrite

HOUR, MANY, MOST = 3600, 2000, 300
SOME = 450
SINCE_0_3 = {"approvals", "events from elsewhere", "idempotency"}  # queues that no version called by a function
every = pytest.mark.parametrize("name", ROOMS)
# What is an object of its own: (room, the object of one that waits).
OBJECTS = {
    "coins": lambda root: healing_of(root).trials.coins["rule-7"],
    "escalations": lambda root: oncall_of(root).escalations[f"{7:016x}-1"],
    "commands": lambda root: next(iter(agents_of(root).values())),
    "pushes": lambda root: next(iter(monitors_of(root).values())).state,
    "deletions": lambda root: next(iter(deletions.deletions_of(root).values())),
}


def by_hours(before, hours=1):
    return {key: tuple(at + hours * HOUR for at in moments) for key, moments in before.items()}


def is_left(service):
    return service.read(lambda root: bool(root.system.get(LEFT)))


@every
def test_no_transaction_of_a_step_writes_more_than_a_piece(service, written, name):
    service.transact(ROOMS[name].add, MANY, service.clock.now())
    ready(service, name)
    before = service.read(ROOMS[name].times)
    assert len(before) == MANY
    written.clear()
    service.clock.set_by(HOUR)
    service.node.clock_steps.step()
    assert max(written) <= MOST, written
    assert len(written) > MANY / AT_ONCE
    assert service.read(ROOMS[name].times) == by_hours(before)
    assert not is_left(service)


def begun(service, name, by):
    """The step is written down, and one piece is moved."""
    service.transact(ROOMS[name].mover.move, by)
    assert service.transact(ROOMS[name].mover.move_on)


@every
@pytest.mark.parametrize("by", [HOUR, -2 * HOUR])
def test_a_second_step_between_two_pieces_moves_each_by_both(service, name, by):
    service.transact(ROOMS[name].add, SOME, service.clock.now())
    ready(service, name)
    before = service.read(ROOMS[name].times)
    begun(service, name, HOUR)
    service.transact(ROOMS[name].mover.move, by)
    while service.transact(ROOMS[name].mover.move_on):
        pass
    assert service.read(ROOMS[name].times) == by_hours(before, 1 + by / HOUR)


@pytest.fixture(scope="module")
def children():
    with clockchild.children(clockrooms.__name__) as children:
        yield children


@every
@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_a_kill_between_pieces_moves_none_twice_and_forgets_none(tmp_path, children, name, seconds):
    """The next node takes the lease, and has the rest moved before anything else."""
    assert children.exit_code(tmp_path, name, SOME, 1, seconds) == -9
    service = Service(tmp_path, FakeClock(FakeClock().now() + seconds))
    try:
        assert is_left(service)
        ready(service, name)
        service.node.clock_steps.step()
        assert not is_left(service)
        times = service.read(ROOMS[name].times)
        now = FakeClock().now() + seconds
        assert len(times) == SOME
        assert {at for moments in times.values() for at in moments} <= {now + after for after in (0, DUE_IN, 200)}
    finally:
        service.close()


@pytest.mark.parametrize("name", OBJECTS)
def test_one_damaged_record_holds_up_no_other(tmp_path, name):
    service = Service(tmp_path)
    service.transact(ROOMS[name].add, SOME, service.clock.now())
    before = service.read(ROOMS[name].times)
    oid = oid_of(service, OBJECTS[name])
    service.close()
    overwrite(tmp_path / "main.fs", oid, 0.5)
    service = Service(tmp_path)
    try:
        ready(service, name)
        service.clock.set_by(HOUR)
        service.node.clock_steps.step()
        assert not is_left(service)
        moved = service.read(ROOMS[name].times)
        assert set(moved.items()) <= set(by_hours(before).items())
        assert len(moved) == SOME - 1
    finally:
        service.close()


def test_a_damaged_piece_costs_nothing_but_itself(tmp_path):
    service = Service(tmp_path)
    service.transact(ROOMS["escalations"].add, SOME, service.clock.now())
    before = service.read(ROOMS["escalations"].times)
    ready(service, "escalations")
    service.transact(escalations.PIECES.move, HOUR)
    oid = oid_of(service, lambda root: root.system[LEFT]["oncall", "escalations", 2])
    service.close()
    overwrite(tmp_path / "main.fs", oid, 0.5)
    service = Service(tmp_path)
    try:
        ready(service, "escalations")
        service.node.clock_steps.step()
        assert not is_left(service)
        times = service.read(ROOMS["escalations"].times)
        stayed = {key for key, moments in times.items() if moments == before[key]}
        assert stayed == set(sorted(before)[AT_ONCE : 2 * AT_ONCE])
        assert {key: times[key] for key in times.keys() - stayed} == {
            key: moments for key, moments in by_hours(before).items() if key not in stayed
        }
    finally:
        service.close()


# -- who meets what is left -------------------------------------------------------------------------------------------


@pytest.fixture
def left(service):
    """`left(room)`: many wait, and a node was killed when it had moved one piece of them."""

    def left(name):
        service.transact(ROOMS[name].add, SOME, service.clock.now())
        ready(service, name)
        before = service.read(ROOMS[name].times)
        begun(service, name, HOUR)
        service.clock.advance(HOUR)
        times = service.read(ROOMS[name].times)
        return [key for key in before if times[key] == before[key]]

    return left


def test_nobody_is_called_before_all_escalations_are_moved(service, left):
    assert left("escalations")
    now = service.clock.now()
    while is_left(service):
        assert escalations.step(service.node)
    assert {at for (at,) in service.read(ROOMS["escalations"].times).values()} == {now + DUE_IN}


def test_a_run_that_ends_between_two_pieces_took_as_long_as_it_did(service, left):
    waits = left("pushes")
    service.clock.advance(20)
    assert service.transact(pushes.end, waits[0], service.clock.now()) == 20
    assert service.transact(pushes.end, waits[1], service.clock.now()) == 20
    service.transact(pushes.begin, waits[1], service.clock.now())
    while service.transact(pushes.PIECES.move_on):
        pass
    times = service.read(ROOMS["pushes"].times)
    assert times[waits[0]] == (None,)
    assert times[waits[1]] == (service.clock.now(),)
    assert times[waits[2]] == (service.clock.now() - 20,)


def test_a_command_that_is_asked_for_between_two_pieces_is_not_moved_and_those_before_it_are(service, left):
    waits, now = left("commands"), service.clock.now()
    params = {"command": "true"}
    service.transact(
        lambda root: commands.send_command(root, waits[0], "shell", params, requested_by="otto", expiry=300)
    )
    while service.transact(sweep.clockmoves.PIECES.move_on):
        pass
    times = service.read(ROOMS["commands"].times)
    assert times[waits[0]] == (now + DUE_IN, now + 300)
    assert times[waits[1]] == (now + DUE_IN,)


def test_a_command_is_handed_out_though_it_is_not_moved_yet(service, left):
    waits = left("commands")
    service.clock.advance(DUE_IN / 2)
    offers = service.transact(commands.claim, {waits[0]: "session"})
    assert [len(sent) for sent, _ in offers.values()] == [1]


def test_no_command_expires_before_all_are_moved(service, left):
    assert left("commands")
    service.clock.advance(DUE_IN / 2)
    while is_left(service):
        assert sweep.step(service.node)
    assert len(service.read(ROOMS["commands"].times)) == SOME
    assert all(service.read(ROOMS["commands"].times).values()), "each has half a minute left"


def test_what_was_deleted_can_be_put_back_between_two_pieces(service, left):
    waits, undone = left("deletions"), []
    kind = deletions.Deletable("automations", "op", "/automations", lambda _root, kept: undone.append(kept))
    service.node.registry.opsapp_deletable = {**service.node.registry.opsapp_deletable, "automations": kind}
    service.transact(lambda root: deletions.undo(root, deletions.deletions_of(root)[waits[0]]))
    assert undone == [None]
    while is_left(service):
        assert service.transact(deletions.let_go, service.clock.now())
    assert len(service.read(ROOMS["deletions"].times)) == SOME - 1


def test_a_queue_has_a_name_of_its_own_and_the_name_of_an_older_version_is_read(tmp_path):
    """The clock was set back while the service was down, and a process of the version before was killed after it had
    moved healing."""
    service, moved = Service(tmp_path), []
    newest = TimeStamp(service.node.store.db.lastTransaction()).timeTime()
    known = {"opsapp.healing.engine.clocks.move": newest + 1}
    service.transact(lambda root: root.system.update({steps.MOVED_OF: known}))
    service.node.clock._now = newest - HOUR
    node_steps = service.node.clock_steps
    node_steps.start()
    for name, lease in (("healing", clocks.LEASE), ("commands", sweep.LEASE)):
        node_steps.carry(lease, name, lambda _root, _by, name=name: moved.append(name))
        service.node.leases.want(lease)
    service.node.leases.step()
    node_steps.step()
    service.close()
    assert moved == ["commands"]
    assert steps.BEFORE["opsapp.healing.engine.clocks.move"] == "healing"


def test_each_queue_that_an_older_version_named_is_carried_under_its_name(service):
    node = service.node
    for start in node.engines:
        start(node)
    assert set(steps.BEFORE.values()) | SINCE_0_3 == set(node.clock_steps._carried)
