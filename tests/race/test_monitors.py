"""Many clients create monitors at once: each gets what it asked for, and nobody is turned away."""

import threading

import pytest

from opsapp.lib.problems import NotFound
from opsapp.monitoring.engine import monitorlists
from opsapp.monitoring.engine.watch import watch_of
from tests.support.waiting import until


def test_creates_do_not_meet(service):
    answers, clients = [], [service.client("otto") for _ in range(4)]

    def create(client, number):
        for n in range(40):
            body = {"name": f"{number}-{n}", "type": "http", "url": "http://127.0.0.1:1/"}
            answers.append(client.post_json("/api/monitoring/endpoints", body, expect_errors=True))

    threads = [threading.Thread(target=create, args=(client, n)) for n, client in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.status_int for answer in answers] == [201] * 160
    names = [each["name"] for each in service.vera.get("/api/monitoring/endpoints").json]
    assert len(names) == len(set(names)) == 160


def test_the_hub_takes_what_has_changed_while_others_read_the_store(service, monkeypatch):
    """A store far away may take seconds."""
    register, begun, ended = watch_of(service.node).register, threading.Event(), threading.Event()
    service.read(register.catch_up)
    made = service.client("otto").post_json(
        "/api/monitoring/endpoints", {"name": "m", "type": "http", "url": "http://127.0.0.1:1/"}
    )
    service.read(register.catch_up)

    real = register._read_all

    def slow(*values):
        begun.set()
        ended.wait()
        return real(*values)

    monkeypatch.setattr(register, "_read_all", slow)
    reader = threading.Thread(target=service.read, args=(register.catch_up,))
    reader.start()
    assert begun.wait(60)
    taken = []
    hub = threading.Thread(target=lambda: taken.extend(register.take_changes()), daemon=True)
    hub.start()
    try:
        until(lambda: not hub.is_alive(), what="the hub's turn, while the other one reads")
    finally:
        ended.set()
        reader.join()
    assert made.json["id"] in taken
    assert register.take_changes() == set()


def test_a_monitor_that_is_deleted_while_it_is_asked_for_is_not_found(service):
    """The memory is shared, and newer than the transaction that asks."""
    body = {"name": "m", "type": "http", "url": "http://127.0.0.1:1/"}
    made = service.otto.post_json("/api/monitoring/endpoints", body).json["id"]

    def ask(root):
        for target in (
            lambda: service.ada.delete(f"/api/monitoring/endpoints/{made}"),
            lambda: service.vera.get("/api/monitoring/endpoints"),
        ):
            other = threading.Thread(target=target)
            other.start()
            other.join()
        return monitorlists.one(service.node, root, made, secrets=False)

    service.client("ada")
    service.client("vera")
    with pytest.raises(NotFound):
        service.transact(ask)
