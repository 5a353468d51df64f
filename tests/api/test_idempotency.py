"""Idempotency-Key where the first answer is not there yet: still being made, or lost with the process that made it."""

import hashlib

import pytest

from opsapp.agents.resources import add_agent
from opsapp.web.idempotency import Remembered

BODY = b'{"type": "shell", "params": {"command": "true"}}'


def begun(service, path, maker):
    """As a first request leaves it whose answer is made later."""

    def put(root):
        place = hashlib.sha256("\0".join(("ada", "POST", path, "one")).encode()).hexdigest()
        body = hashlib.sha256(BODY).hexdigest()
        root.system["idempotency"][place] = Remembered(body, service.clock.now(), None, 0, maker)

    service.transact(put)


@pytest.mark.parametrize(
    ("maker", "code"),
    [("{name}:{boot}", "still_under_way"), ("{name}:0badb007", "outcome_unknown"), (None, "outcome_unknown")],
)
def test_a_repeat_learns_whether_the_first_still_runs(service, maker, code):
    agent_id, _ = service.transact(lambda root: add_agent(root, "box-1", [], 0))
    path = f"/api/agents/{agent_id}/commands"
    begun(service, path, maker and maker.format(name=service.node.name, boot=service.node.boot))
    headers = {"Idempotency-Key": "one", "Content-Type": "application/json"}
    answer = service.ada.post(path, BODY, headers=headers, status=409)
    assert answer.json["code"] == code
    assert service.ada.get(path).json == []


def test_the_same_body_is_one_that_says_the_same(service):
    body = {"name": "a", "type": "script", "params": {"script": "true"}, "inputs": [{"name": "x"}, {"name": "y"}]}
    made = service.otto.post_json("/api/automations", body).json["id"]
    path = f"/api/automations/{made}/run"

    def ask(body, status=200):
        headers = {"Idempotency-Key": "one", "Content-Type": "application/json"}
        return service.otto.post(path, body, headers=headers, status=status).json

    first = ask(b'{"inputs":{"x":"1","y":"2"}}')
    assert ask(b'{"inputs": {"y": "2", "x": "\\u0031"}}\n') == first
    assert ask(b'{"inputs":{"x":"2","y":"1"}}', 409)["code"] == "idempotency_key_reused"
    assert len(service.vera.get("/api/automations/runs").json) == 1


def test_no_body_and_an_empty_object_say_the_same(service):
    body = {"name": "a", "type": "script", "params": {"script": "true"}}
    made = service.otto.post_json("/api/automations", body).json["id"]
    path, headers = f"/api/automations/{made}/run", {"Idempotency-Key": "one"}
    first = service.otto.post(path, headers=headers).json
    assert service.otto.post_json(path, {}, headers=headers).json == first
    assert len(service.vera.get("/api/automations/runs").json) == 1
