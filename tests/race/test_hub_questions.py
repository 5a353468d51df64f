"""What asks the store something does it in a thread: a storage may keep even a small answer behind a lock. Who has the
store alone need not ask."""

import threading

import gevent
import pytest

from opsapp.agents.engine.sessions import sessions_of


@pytest.mark.parametrize("alone", [True, False])
def test_the_sessions_ask_what_was_committed_last_in_a_thread(service, monkeypatch, alone):
    node, asked_in = service.node, []
    monkeypatch.setattr(node, "exclusive", alone)
    real = node.store.db.lastTransaction

    def last_transaction():
        asked_in.append(threading.current_thread())
        return real()

    monkeypatch.setattr(node.store.db, "lastTransaction", last_transaction)
    node.hub.enter()
    try:
        gevent.spawn(sessions_of(node).push).get(timeout=60)
    finally:
        node.hub.leave()
    assert bool(asked_in) is not alone
    assert threading.current_thread() not in asked_in
