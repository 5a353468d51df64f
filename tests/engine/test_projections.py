"""Every copy of the store in memory goes through the same failures, and loses nothing by any of them."""

import threading

import pytest
from ZEO.Exceptions import ClientDisconnected
from ZODB.POSException import ReadConflictError

from opsapp.lib.problems import StoreAway
from opsapp.maintenance.engine import board_of
from opsapp.runtime import events
from tests.support.projections import SAMPLES, Followed, failing_load, projections_of

every = pytest.mark.parametrize("name", SAMPLES)


def follow(service, name, monkeypatch):
    """With nothing put into the memory right after a commit: as if another node had changed it."""
    followed = Followed(service, name)
    monkeypatch.setattr(type(followed.projection), "put", lambda *_: None)
    return followed


def test_the_suite_knows_every_projection(service):
    assert projections_of(service).keys() == SAMPLES.keys()


@every
def test_it_follows_what_is_made_changed_and_removed(service, name):
    followed = Followed(service, name)
    assert followed.shown == "first"
    followed.call("second")
    followed.catch_up()
    assert followed.shown == "second"
    service.transact(followed.sample.remove, followed.id)
    followed.catch_up()
    assert followed.shown is None


@every
@pytest.mark.parametrize("whole", [False, True])
def test_the_store_fails_at_each_step_of_the_read(service, name, whole, monkeypatch):
    followed, number, failures = follow(service, name, monkeypatch), 0, 0
    names = ["second", "third"]
    while True:
        number += 1
        before, wanted = followed.shown, names[number % 2]
        followed.call(wanted)
        if whole:
            followed.projection.reset()

        def broken(root, number=number):
            with failing_load(root, number, ClientDisconnected()) as loaded:
                followed.projection.catch_up(root)
                return len(loaded)

        try:
            loads = service.transact(broken)
        except StoreAway:
            failures += 1
            assert followed.shown == before, "a step that fails changes nothing"
            assert followed.projection.behind, "so it is taken again"
            followed.catch_up()
            assert followed.shown == wanted
            continue
        assert loads < number
        assert followed.shown == wanted
        break
    assert failures >= 3


@every
def test_a_conflict_while_it_reads_is_repeated(service, name, monkeypatch):
    followed, tries = follow(service, name, monkeypatch), []
    followed.call("second")

    def once(root):
        tries.append(1)
        with failing_load(root, 4 if len(tries) == 1 else 0, ReadConflictError()):
            followed.projection.catch_up(root)

    service.transact(once)
    assert len(tries) == 2
    assert followed.shown == "second"


@every
def test_taking_what_was_read_fails(service, name, monkeypatch):
    followed = follow(service, name, monkeypatch)
    followed.call("second")
    with monkeypatch.context() as broken:
        broken.setattr(followed.projection, "apply", lambda items: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            followed.catch_up()
    assert followed.projection.behind
    followed.catch_up()
    assert followed.shown == "second"


@every
@pytest.mark.parametrize("commits", [True, False])
def test_the_change_comes_from_the_transaction_that_reads(service, name, commits, monkeypatch):
    """Its batch of the outbox is not finished: what it tells after the look must not be passed over."""
    followed = follow(service, name, monkeypatch)

    def write(root):
        followed.sample.call(root, followed.id, "second")
        followed.projection.catch_up(root)
        assert followed.shown == "first", "nothing is taken that may never be committed"
        followed.sample.call(root, followed.id, "third")
        followed.projection.catch_up(root)
        if not commits:
            raise ZeroDivisionError

    if commits:
        service.transact(write)
    else:
        with pytest.raises(ZeroDivisionError):
            service.transact(write)
    followed.catch_up()
    assert followed.shown == ("third" if commits else "first")


@every
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("told", [False, True])
def test_a_change_while_it_reads(service, name, whole, told, monkeypatch):
    followed = follow(service, name, monkeypatch)
    followed.call("second")
    if whole:
        followed.projection.reset()
    real = followed.projection.read

    def read(root, item_id):
        found = real(root, item_id)
        changer = threading.Thread(target=followed.call, args=("third",))
        changer.start()
        changer.join()
        if told:
            service.node.events.step()  # the hub learns of it before the reading has ended
        return found

    with monkeypatch.context() as slow:
        slow.setattr(followed.projection, "read", read)
        followed.catch_up()
    assert followed.shown == "second", "a transaction sees what was when it began"
    if told:
        assert followed.projection.behind
    followed.catch_up()
    assert followed.shown == "third"


@every
def test_a_transaction_that_began_before_does_not_bring_the_old_back(service, name, monkeypatch):
    followed = follow(service, name, monkeypatch)

    def early(root):
        for target, values in ((followed.call, ("second",)), (followed.catch_up, ())):
            other = threading.Thread(target=target, args=values)
            other.start()
            other.join()
        followed.projection.catch_up(root)

    service.transact(early)
    assert followed.shown == "second"


@every
def test_the_past_is_not_taken_for_the_present(service, name):
    followed = Followed(service, name)
    service.clock._now = __import__("time").time() + 2  # the store has times of its own
    followed.projection.reset()
    service.node.transact_at(int(service.clock.now()) - 1, followed.projection.catch_up)
    assert followed.projection.behind
    followed.catch_up()
    assert followed.shown == "first"


@every
def test_nobody_looked_for_longer_than_the_outbox_reaches_back(service, name, monkeypatch):
    followed = follow(service, name, monkeypatch)
    followed.call("second")
    service.clock.advance(events.KEEP_S + 1)
    service.transact(events.sweep, service.clock.now())
    followed.catch_up()
    assert followed.shown == "second"


@every
def test_the_outbox_moves_on_without_it(service, name, monkeypatch):
    """What does not concern it costs no read; the next that does is taken."""
    followed = follow(service, name, monkeypatch)
    service.node.events.step()
    followed.catch_up()
    for n in range(3):
        service.transact(events.emit, "something", {"n": n})
        service.node.events.step()
    assert not followed.projection.behind
    assert followed.projection._positions == service.node.events.positions
    followed.call("second")
    service.node.events.step()
    assert followed.projection.behind
    followed.catch_up()
    assert followed.shown == "second"


@every
def test_a_listener_that_raises_takes_nothing_from_others(service, name, monkeypatch):
    followed = follow(service, name, monkeypatch)
    service.node.events.step()
    followed.catch_up()
    heard, again = [], []

    def broken(event):
        again.append(event.id)
        if len(again) == 1:
            raise ZeroDivisionError

    service.node.events.listen(broken)
    service.node.events.listen(lambda event: heard.append(event.id))
    followed.call("second")
    service.transact(events.emit, "something", {})
    service.node.events.step()
    assert followed.projection.behind
    followed.catch_up()
    assert followed.shown == "second"
    assert len(heard) >= 2
    service.node.events.step()
    assert again == [heard[0], *heard], "what it missed is told to it again, in order"


def test_an_event_that_a_listener_never_takes_is_given_up(service):
    heard, tries = [], []

    def broken(event):
        if event.data.get("bad"):
            tries.append(1)
            raise ZeroDivisionError
        heard.append(event.data["n"])

    service.node.events.step()
    service.node.events.listen(broken)
    for n in range(4):
        service.transact(events.emit, "something", {"n": n, "bad": n == 1})
    for _ in range(5):
        service.node.events.step()
    assert (heard, len(tries)) == ([0, 2, 3], events.TRIES)


@every
def test_the_step_that_moves_them_goes_on_to_the_others(service, name, monkeypatch):
    if projections_of(service)[name].moves_itself:
        pytest.skip("it has a step of its own")
    others = [Followed(service, each) for each in SAMPLES if each != name]
    followed = follow(service, name, monkeypatch)
    service.node.events.step()
    service.node.projections.step()
    for each in [followed, *others]:
        each.call("second")
    service.node.events.step()
    with monkeypatch.context() as broken:
        broken.setattr(followed.projection, "ids", lambda root: 1 / 0)
        broken.setattr(followed.projection, "read", fail)
        with pytest.raises(OSError, match="disk"):
            service.node.projections.step()
    assert {each.shown for each in others if not each.projection.moves_itself} == {"second"}
    assert followed.shown == "first"
    service.node.projections.step()
    assert followed.shown == "second"


def fail(*_):
    raise OSError("the disk is on fire")


def test_a_reader_that_began_before_a_window_was_made_does_not_take_it_away(service):
    """The memory has what this node has committed at once; a reload that began before must not undo that."""
    board = board_of(service.node)
    made = []

    def early(root):
        other = threading.Thread(target=lambda: made.append(SAMPLES["windows"].make(service)))
        other.start()
        other.join()
        board.catch_up(root)

    board.reset()
    service.transact(early)
    assert made[0] in board.plans
    service.transact(board.catch_up)
    assert made[0] in board.plans
