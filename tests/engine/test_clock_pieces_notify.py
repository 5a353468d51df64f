"""A step of the clock with many deliveries that wait: moved in pieces, each once, and none is sent before it is."""

import pytest

from opsapp.notify.engine import dispatch, routes
from opsapp.notify.engine.settings import LEASE
from opsapp.notify.logic.texts import MessageContent
from opsapp.notify.resources.deliveries import MOVED_AT_ONCE, deliveries_of

HOUR, DUE_IN, MANY = 3600, 60.0, 450


def add(root, now):
    log, (channel,) = deliveries_of(root), root["api"]["notifications"]["channels"].values()
    for number in range(MANY):
        content = MessageContent(f"monitor:{number}", "monitor.down", "critical", "down", "", first_at=now, last_at=now)
        log.enqueue(channel, [log.add_message(content, now)], now, now + DUE_IN, None)


@pytest.fixture
def many(service):
    service.ada.post_json("/api/notifications/channels", {"name": "mail", "url": "json://127.0.0.1:9/x"}, status=201)
    service.transact(add, service.clock.now())
    service.node.leases.want(LEASE)
    service.node.leases.step()
    service.node.clock_steps.carry(LEASE, "messages", routes.move, routes.move_on)
    return service


def times(service):
    def read(root):
        log = deliveries_of(root)
        queued = {delivery_id: at for rows in log.queue.values() for at, delivery_id in rows}
        assert {delivery_id: log[delivery_id].due for delivery_id in queued} == queued
        return queued

    return service.read(read)


def left(service):
    return service.read(lambda root: len(deliveries_of(root).to_move or ()))


@pytest.mark.parametrize("seconds", [HOUR, -HOUR])
def test_no_transaction_of_a_step_changes_more_than_a_piece(many, monkeypatch, seconds):
    before, pieces = times(many), []
    real = many.node.transact

    def transact(fn, *values):
        def counted(root, *given):
            answer = fn(root, *given)
            pieces.append(sum(type(obj).__name__ == "Delivery" for obj in root._p_jar._registered_objects))
            return answer

        return real(counted, *values)

    monkeypatch.setattr(many.node, "transact", transact)
    many.clock.set_by(seconds)
    many.node.clock_steps.step()
    assert max(pieces) == MOVED_AT_ONCE
    assert sum(pieces) == MANY
    assert times(many) == {delivery_id: at + seconds for delivery_id, at in before.items()}
    assert left(many) == 0


def test_after_a_kill_between_pieces_none_is_sent_before_all_are_moved(many):
    before = times(many)
    many.transact(routes.move, HOUR)
    assert many.transact(routes.move_on)
    now = many.clock.now() + HOUR
    while left(many):
        assert many.transact(dispatch.begin, now, frozenset(), 10)[0] == []
    assert times(many) == {delivery_id: at + HOUR for delivery_id, at in before.items()}
    assert many.transact(dispatch.begin, now, frozenset(), 10)[0] == [], "each has as long to wait as before"
    assert len(many.transact(dispatch.begin, now + DUE_IN, frozenset(), 10)[0]) == 1


def test_a_second_step_between_two_pieces_moves_each_by_both(many):
    before = times(many)
    many.transact(routes.move, HOUR)
    assert many.transact(routes.move_on)
    many.transact(routes.move, -60.0)
    while many.transact(routes.move_on):
        pass
    assert times(many) == {delivery_id: at + HOUR - 60 for delivery_id, at in before.items()}


def test_what_gets_another_time_between_two_pieces_keeps_it(many):
    many.transact(routes.move, HOUR)
    waiting = many.read(lambda root: next(iter(deliveries_of(root).to_move)))
    again = many.clock.now() + HOUR + 5
    many.transact(lambda root: deliveries_of(root).wait(deliveries_of(root)[waiting], again))
    while many.transact(routes.move_on):
        pass
    assert times(many)[waiting] == again
