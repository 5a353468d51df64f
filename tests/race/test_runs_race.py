"""Many ask, decide, edit and take up at once: every run is carried out at most once, every request decided once."""

import threading
from dataclasses import replace

import pytest

from opsapp.approvals.engine import Voter, decide, expire
from opsapp.automations.engine import request_run
from opsapp.automations.engine.carrier import finish, take_up
from opsapp.automations.engine.edits import Editor, update
from opsapp.automations.engine.programs import AttemptEnd
from opsapp.automations.resources import automations_of, board_of, runs_of
from opsapp.lib.problems import Conflict
from tests.support.app import Service
from tests.support.together import at_once

EDITOR = Editor("ada", is_admin=True)


@pytest.fixture
def service(tmp_path):
    service = Service(tmp_path)
    yield service
    service.close()


def make(service, **more):
    body = {"name": "x", "type": "script", "params": {"script": "true"}, **more}
    return service.otto.post_json("/api/automations", body).json["id"]


@pytest.mark.parametrize("attempt", range(2))
def test_twenty_clicks_an_expiry_and_an_edit_make_one_outcome(service, attempt):
    automation, node, now = make(service, requires_approval=True), service.node, service.clock.now()
    run = service.otto.post(f"/api/automations/{automation}/run").json

    def click(n):
        voter = Voter(f"user{n}", "operator")
        return node.transact(decide, run["request_id"], voter, "approve" if n % 2 else "reject", None, now).status

    def edit(root):
        edited = automations_of(root)[automation]
        update(root, edited, replace(edited.settings, timeout=9), EDITOR, now)

    expiry = [lambda: node.transact(expire, now + 3601) and None, lambda: node.transact(edit)]
    at_once([*[lambda n=n: click(n) for n in range(20)], *expiry])
    approval = service.vera.get(f"/api/approvals/{run['request_id']}").json
    record = service.vera.get(f"/api/automations/runs/{run['run_id']}").json
    edited_first = node.transact(
        lambda root: runs_of(root)[run["run_id"]].definition is not automations_of(root)[automation].definition
    )
    assert edited_first
    expected = {"approved": "running", "rejected": "rejected", "expired": "rejected", "withdrawn": "cancelled"}
    if approval["status"] == "pending":  # every click met the edit: nobody has closed it yet, and nobody can approve
        with pytest.raises(Conflict):
            click(1)
        return
    assert record["status"] == expected[approval["status"]]


def test_nodes_that_take_up_at_once_never_take_the_same(service):
    for _ in range(6):
        automation = make(service)
        for _ in range(5):
            service.otto.post(f"/api/automations/{automation}/run")
    taken, lock = [], threading.Lock()

    def hands(owner):
        idle = 0
        while idle < 20:
            jobs, _ = service.node.transact(take_up, owner, frozenset(), 3)
            idle = 0 if jobs else idle + 1
            for job in jobs:
                with lock:
                    taken.append(job.run_id)
                service.node.transact(finish, job.run_id, owner, job.attempt, "", AttemptEnd("done", 0, None))

    at_once([lambda owner=f"node{n}:boot": hands(owner) for n in range(3)])
    while True:
        jobs, _ = service.node.transact(take_up, "last:boot", frozenset(), 100)
        if not jobs:
            break
        for job in jobs:
            taken.append(job.run_id)
            service.node.transact(finish, job.run_id, "last:boot", job.attempt, "", AttemptEnd("done", 0, None))
    assert len(taken) == len(set(taken)) == 30
    rows = service.vera.get("/api/automations/runs?limit=1000").json
    assert {row["status"] for row in rows} == {"done"}
    assert service.node.transact(lambda root: not (board_of(root).queue or board_of(root).claimed))


def test_skip_lets_one_in(service):
    automation, now = make(service, concurrency="skip"), service.clock.now()

    def ask(root):
        return request_run(root, now, automation, inputs={}, by="x", origin="manual")["status"]

    results = at_once([lambda: service.node.transact(ask)] * 10)
    assert sorted(results) == ["already_running"] * 9 + ["running"]


def test_many_who_ask_at_once_are_all_served(service):
    """Each of them changes the same queue: who meets a conflict tries again a moment later, and is not sent away."""
    automation = make(service)
    clients, answers = [service.client("otto") for _ in range(12)], []

    def ask(client):
        for _ in range(5):
            answers.append(client.post(f"/api/automations/{automation}/run", expect_errors=True).status_int)

    threads = [threading.Thread(target=ask, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 60
