"""A start reads the newest of the outbox, however much there is; what is older comes while the node serves."""

import pytest

from opsapp.runtime import events
from tests.support.projections import SAMPLES, Followed, projections_of


@pytest.fixture
def many(service, monkeypatch):
    """A small ring, and more in the outbox than it holds."""
    monkeypatch.setattr(events, "RING", 100)
    monkeypatch.setattr(events, "RECENT", 10)
    monkeypatch.setattr(events, "EARLIER", 7)
    for number in range(150):
        service.transact(lambda root, number=number: events.emit(root, "agent", {"n": number}))
    return service


def begun(service):
    """What a process that starts now has: the tail, and what it read from the store in each step."""
    tail, read = events.Tail(service.node), []
    told_by = events._told_by

    def counted(writer, key, batch):
        read[-1] += 1
        return told_by(writer, key, batch)

    events._told_by = counted
    try:
        read.append(0)
        more = tail.step()
        while more:
            read.append(0)
            more = tail.step()
    finally:
        events._told_by = told_by
    return tail, read


def numbers(tail):
    return [event.data["n"] for event in tail.since("0")]


def test_a_start_reads_few_and_goes_on_page_by_page(many):
    tail, read = begun(many)
    assert read[0] == 10
    assert max(read) == 10
    assert numbers(tail) == list(range(150))[-len(numbers(tail)) :]
    assert 90 < len(numbers(tail)) <= 100


def test_what_comes_meanwhile_is_told_in_its_turn(many):
    tail, heard = events.Tail(many.node), []
    tail.step()
    tail.listen(heard.append)
    many.transact(lambda root: events.emit(root, "agent", {"n": 150}))
    tail.step()
    assert [event.data["n"] for event in heard] == [150]
    while tail.step():
        pass
    assert [event.data["n"] for event in heard] == [150], "what is old is told to nobody"
    assert numbers(tail)[-1] == 150
    assert numbers(tail) == sorted(numbers(tail))


def test_all_of_a_small_outbox_is_remembered_in_the_order_of_the_commits(many, monkeypatch):
    """Of several writers, of which some write rarely."""
    monkeypatch.setattr(events, "RING", 1000)
    for number in range(150, 200):
        monkeypatch.setattr(many.node, "writer", lambda name="abbcb"[number % 5]: name)
        many.transact(lambda root, number=number: events.emit(root, "agent", {"n": number}))
    tail, read = begun(many)
    assert numbers(tail) == list(range(200))
    assert read[0] <= 12


def test_what_the_sweep_dropped_meanwhile_is_no_mistake(many):
    tail = events.Tail(many.node)
    tail.step()
    many.transact(events.sweep, many.clock.now() + 1)
    while tail.step():
        pass
    assert numbers(tail)[-1] == 149


def test_projections_miss_nothing_between_what_they_read_and_where_the_tail_begins(many):
    """A copy was read long before the tail begins: what stands between is not passed over."""
    name = next(iter(SAMPLES))
    followed = Followed(many, name)
    followed.call("second")
    for number in range(30):
        many.transact(lambda root, number=number: events.emit(root, "agent", {"n": number}))
    tail = events.Tail(many.node)
    projection = projections_of(many)[name]
    projection.behind = False
    tail.on_move.append(projection.pass_over)
    tail.step()
    assert projection.behind
    followed.catch_up()
    assert followed.shown == "second"
