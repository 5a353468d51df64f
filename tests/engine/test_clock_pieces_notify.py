"""A step of the clock while many deliveries wait: none is sent before all are moved (`test_clock_pieces_rooms` moves
them)."""

import pytest

from opsapp.notify.engine import dispatch, routes
from opsapp.notify.engine.courier import SendOutcome
from opsapp.notify.engine.settings import LEASE
from opsapp.notify.logic.texts import MessageContent
from opsapp.notify.resources.deliveries import deliveries_of, move_rest

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
    return service


def times(service):
    def read(root):
        log = deliveries_of(root)
        queued = {delivery_id: at for rows in log.queue.values() for at, delivery_id in rows}
        assert {delivery_id: log[delivery_id].due for delivery_id in queued} == queued
        return queued

    return service.read(read)


def test_after_a_kill_between_pieces_none_is_sent_before_all_are_moved(many):
    before = times(many)
    many.transact(routes.PIECES.move, HOUR)
    assert many.transact(routes.PIECES.move_on)
    now = many.clock.now() + HOUR
    while many.read(routes.PIECES.is_left):
        assert many.transact(dispatch.begin, now, frozenset(), 10)[0] == []
    assert times(many) == {delivery_id: at + HOUR for delivery_id, at in before.items()}
    assert many.transact(dispatch.begin, now, frozenset(), 10)[0] == [], "each has as long to wait as before"
    assert len(many.transact(dispatch.begin, now + DUE_IN, frozenset(), 10)[0]) == 1


def test_what_was_on_its_way_gets_another_time_between_two_pieces_and_keeps_it(many):
    now = many.clock.now() + DUE_IN
    [(_, letter)] = many.transact(dispatch.begin, now, frozenset(), 10)[0]
    many.transact(routes.PIECES.move, 25 * HOUR)
    now += 25 * HOUR
    many.transact(dispatch.finish, letter.delivery_id, SendOutcome("refused"), now)
    again = times(many)[letter.delivery_id]
    assert again > now
    while many.transact(routes.PIECES.move_on):
        pass
    assert times(many)[letter.delivery_id] == again
    assert many.read(_rests_until) == again
    created, moved = many.read(lambda root: _age_of(deliveries_of(root)[letter.delivery_id]))
    assert (created + moved, moved) == (now - DUE_IN, 25 * HOUR), "it is tried for as long as before"


def _rests_until(root):
    (channel,) = root["api"]["notifications"]["channels"].values()
    return channel.rests_until


def _age_of(delivery):
    return delivery.created_at, delivery.moved


def test_what_an_older_version_had_still_to_move_is_moved(many):
    before = times(many)
    some = sorted(before)[:7]
    many.transact(lambda root: setattr(deliveries_of(root), "to_move", dict.fromkeys(some, HOUR)))
    many.transact(move_rest)
    assert times(many) == {name: at + (HOUR if name in some else 0) for name, at in before.items()}
