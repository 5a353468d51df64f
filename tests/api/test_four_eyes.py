"""Two people for what needs two: whoever wrote, scheduled or set off a run does not approve it as well."""

import pytest

from opsapp.approvals.config import ApprovalSettings
from opsapp.auth import resources as auth

pytestmark = pytest.mark.attack
CALL = {"name": "Call", "type": "webhook", "params": {"url": "http://127.0.0.1:9/"}, "requires_approval": True}


@pytest.fixture
def olga(service):
    """Another operator."""

    def add(root):
        auth.users_of(root)["olga"] = auth.User("operator", "", int(service.clock.now()))
        return auth.open_session(root, "olga", service.clock.now(), "127.0.0.1", "tests")

    service.tokens["olga"] = service.transact(add)
    return service.client("olga")


def make(client, **changes):
    return client.post_json("/api/automations", {**CALL, **changes}).json


def pending(service):
    [request] = service.vera.get("/api/approvals").json
    return request["request_id"]


def decide(client, request_id, status=200, vote="approve"):
    return client.post_json(f"/api/approvals/{request_id}/{vote}", {}, status=status).json


def run(client, automation_id):
    return client.post(f"/api/automations/{automation_id}/run").json["request_id"]


def test_nobody_approves_what_their_own_webhook_has_set_off(service, olga):
    made = make(service.otto)
    service.anonymous.post(f"/api/automations/webhook/{made['webhook_token']}")
    refused = decide(service.otto, pending(service), 403)
    assert "somebody else" in refused["error"]
    assert decide(olga, pending(service))["status"] == "approved"


def test_nobody_approves_a_run_of_what_they_have_edited(service, olga):
    made = make(olga)["id"]
    service.otto.put_json(f"/api/automations/{made}", {"schedule": "0 4 * * *"})
    request = run(service.ada, made)
    assert decide(service.otto, request, 403)["code"] == "forbidden"
    assert decide(olga, request, 403)["code"] == "forbidden"
    assert decide(service.ada, request)["status"] == "approved"


def test_who_made_the_webhooks_token_counts_as_well(service, olga):
    made = make(service.ada)["id"]
    token = service.otto.post(f"/api/automations/{made}/webhook-token").json["webhook_token"]
    service.anonymous.post(f"/api/automations/webhook/{token}")
    decide(service.otto, pending(service), 403)
    assert decide(olga, pending(service))["status"] == "approved"


def test_once_somebody_else_has_approved_it_the_author_may_decide_until_the_next_edit(service, olga):
    made = make(service.otto)["id"]
    decide(olga, run(service.ada, made))
    assert decide(service.otto, run(service.ada, made))["status"] == "approved"
    service.otto.put_json(f"/api/automations/{made}", {"params": {"url": "http://127.0.0.1:8/"}})
    decide(service.otto, run(service.ada, made), 403)


def test_parts_count_with_what_is_made_of_them(service, olga):
    part = make(service.otto, requires_approval=False)["id"]
    whole = make(olga, name="All", type="composite", params={"automations": [part]})["id"]
    request = run(service.ada, whole)
    decide(service.otto, request, 403)
    decide(olga, request, 403)
    assert decide(service.otto, request, vote="reject")["status"] == "rejected"


def test_an_admin_may_approve_an_own_request_and_the_audit_says_so(service, olga):
    made = make(olga)["id"]
    decide(service.ada, run(service.ada, made))
    entry = service.ada.get("/api/audit?action=approval.approve&limit=1").json[0]
    assert (entry["username"], entry["after"]["own_request"]) == ("ada", True)


def test_not_where_it_is_strict(service, olga):
    service.configure(ApprovalSettings, strict=True)
    made = make(olga)["id"]
    request = run(service.ada, made)
    decide(service.ada, request, 403)
    assert decide(service.otto, request)["status"] == "approved"


LOST = [("put_json", {"disabled": True}), ("put_json", {"role": "viewer"}), ("delete", None)]


@pytest.mark.parametrize(("method", "body"), LOST)
def test_the_vote_of_who_may_decide_no_more_does_not_count(service, olga, method, body):
    made = make(service.ada, quorum=2)["id"]
    request = run(service.ada, made)
    assert decide(olga, request)["status"] == "pending"
    getattr(service.ada, method)("/api/users/olga", *([body] if body else []))
    assert service.ada.get(f"/api/approvals/{request}").json["votes"] == []
    assert decide(service.otto, request)["status"] == "pending"
    assert [vote["username"] for vote in service.vera.get("/api/approvals").json[0]["votes"]] == ["otto"]
    decide(service.ada, request)
    last = service.ada.get(f"/api/approvals/{request}").json
    assert (last["status"], [vote["username"] for vote in last["votes"]]) == ("approved", ["otto", "ada"])


def test_whoever_gets_the_name_afterwards_has_not_voted(service, olga):
    request = run(service.ada, make(service.ada, quorum=2)["id"])
    decide(olga, request)
    service.ada.delete("/api/users/olga")
    service.clock.advance(5)
    account = {"username": "olga", "role": "operator", "password": "a rather long word"}
    service.ada.post_json("/api/users", account, status=201)
    assert decide(service.otto, request)["status"] == "pending"


def test_nor_does_the_vote_of_who_is_in_a_team_without_the_right_by_now(service, olga):
    request = run(service.ada, make(service.ada, quorum=2)["id"])
    decide(olga, request)
    service.ada.post_json("/api/teams", {"name": "Shop", "members": ["olga"], "approve": ["shop"]})
    assert decide(service.otto, request)["status"] == "pending"


LOOSER = [
    {"requires_approval": False},
    {"approvers": ["ada"], "quorum": 1},
    {"approvers": ["ada", "olga", "otto"]},
    {"approvers": []},
    {"quorum": 1},
]


@pytest.mark.parametrize("changes", LOOSER)
def test_only_an_admin_loosens_a_gate(service, olga, changes):
    made = make(service.ada, approvers=["ada", "olga"], quorum=2)["id"]
    path = f"/api/automations/{made}"
    refused = service.otto.put_json(path, changes, status=403).json
    assert refused["code"] == "gate_loosened"
    assert service.otto.put_json(path, {"description": "as before"}).json["status"] == "updated"
    assert service.ada.put_json(path, {"quorum": 1, **changes}).json["status"] == "updated"


def test_anybody_tightens_one(service, olga):
    made = make(service.ada, requires_approval=False)["id"]
    path = f"/api/automations/{made}"
    service.otto.put_json(path, {"requires_approval": True})
    service.otto.put_json(path, {"approvers": ["ada", "olga"], "quorum": 2})


def test_a_token_is_shown_to_its_maker_alone_and_once(service, olga):
    made = make(service.otto)
    path = f"/api/automations/{made['id']}"
    for client in (service.vera, service.otto, olga, service.ada):
        assert made["webhook_token"] not in client.get(path).text
    fresh = olga.post(f"{path}/webhook-token").json["webhook_token"]
    assert fresh != made["webhook_token"]
    template = service.otto.post("/api/automations/templates/memory/apply")
    if template.json["status"] == "created":
        assert len(template.json["webhook_token"]) == 64
