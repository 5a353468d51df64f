"""API keys and stream tickets."""

import pytest

from opsapp.auth import engine
from opsapp.auth.config import LoginSettings
from opsapp.auth.resources import keys, tickets


def make_key(client, **more):
    return client.post_json("/api/keys", {"name": "ci", "role": "viewer", **more}, status=201).json


def bearer(key):
    return {"Authorization": "Bearer " + key["key"]}


def test_a_key_works_as_a_bearer_token_and_is_shown_once(service):
    key = make_key(service.otto, role="operator")
    assert set(key) == {"id", "name", "role", "expires_at", "assistant", "key"}
    assert service.anonymous.get("/api/me", headers=bearer(key)).json == {"username": "otto", "role": "operator"}
    assert service.anonymous.get("/api/me?token=" + key["key"]).json["username"] == "otto"
    listed = service.otto.get("/api/keys")
    assert [each["id"] for each in listed.json] == [key["id"]]
    assert key["key"] not in listed.text
    assert key["key"] not in service.ada.get("/api/audit").text
    assert service.otto.delete("/api/keys/" + key["id"]).json == {"status": "ok"}
    service.anonymous.get("/api/me", headers=bearer(key), status=401)


def test_a_user_has_a_number_of_keys_that_is_told_and_another_user_is_not_concerned(service, monkeypatch):
    monkeypatch.setattr(keys, "MOST_KEYS", 2)
    first, _second = make_key(service.vera), make_key(service.vera)
    refused = service.vera.post_json("/api/keys", {"name": "ci", "role": "viewer"}, status=409).json
    assert refused["code"] == "too_many_keys"
    assert "Delete one" in refused["error"]
    make_key(service.otto)
    service.vera.delete("/api/keys/" + first["id"])
    make_key(service.vera)


@pytest.mark.parametrize(("who", "role"), [("vera", "operator"), ("vera", "admin"), ("otto", "admin")])
@pytest.mark.shared
def test_no_key_is_above_its_maker(service, who, role):
    service.client(who).post_json("/api/keys", {"name": "x", "role": role}, status=403)


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"role": "x"}, {"expires_at": "x"}, {"expires_at": 5}, {"id": "x"}])
@pytest.mark.shared
def test_bad_keys(service, body):
    base = {} if body == {} else {"name": "ci", "role": "viewer"}
    service.ada.post_json("/api/keys", base | body, status=422)


def test_a_key_ends_at_its_time(service):
    key = make_key(service.vera, expires_at=int(service.clock.now()) + 10)
    service.anonymous.get("/api/me", headers=bearer(key))
    service.clock.advance(10)
    service.anonymous.get("/api/me", headers=bearer(key), status=401)


def test_a_key_without_an_end_outlives_the_session(service):
    key = make_key(service.vera)
    service.clock.advance(100 * 86400)
    service.anonymous.get("/api/me", headers=bearer(key))


def test_a_key_falls_with_its_user(service):
    key = make_key(service.otto, role="operator")
    service.ada.put_json("/api/users/otto", {"role": "viewer"})
    assert service.anonymous.get("/api/me", headers=bearer(key)).json["role"] == "viewer"
    service.ada.put_json("/api/users/otto", {"disabled": True})
    service.ada.put_json("/api/users/otto", {"disabled": False})
    service.anonymous.get("/api/me", headers=bearer(key), status=401)
    other = make_key(service.vera)
    service.ada.delete("/api/users/vera")
    service.anonymous.get("/api/me", headers=bearer(other), status=401)


def test_keys_of_others(service):
    key = make_key(service.otto)
    assert service.vera.get("/api/keys").json == []
    service.vera.delete("/api/keys/" + key["id"], status=404)
    assert service.ada.get("/api/keys").json[0]["username"] == "otto"
    service.ada.delete("/api/keys/" + key["id"])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/keys", {"name": "more", "role": "viewer"}),
        ("PUT", "/api/me/password", {"current": "x", "new": "a sound password"}),
        ("POST", "/api/me/totp", None),
        ("POST", "/api/logout", None),
    ],
)
@pytest.mark.shared
def test_a_key_is_no_person(service, method, path, body):
    key = make_key(service.ada, role="admin")
    call = getattr(service.anonymous, f"{method.lower()}_json")
    assert call(path, body or {}, headers=bearer(key), status=403).json["code"] == "session_required"


def ticket_of(client):
    return client.post("/api/stream-ticket", status=201).json["ticket"]


def opens(service, ticket, path="/api/agents/x/stream/logs"):
    """Whether the ticket is somebody there: an unknown agent is 404 for those who are signed in."""
    status = service.anonymous.get(f"{path}?token={ticket}", expect_errors=True).status_int
    assert status in (401, 404)
    return status == 404


def use(service, ticket, path="/api/stream"):
    return service.transact(tickets.use_ticket, ticket, path, service.clock.now())


def test_a_ticket_opens_one_stream_and_its_reconnects(service):
    ticket = ticket_of(service.vera)
    assert use(service, ticket)[:2] == ("vera", "viewer")
    service.clock.advance(3600)
    assert use(service, ticket)
    assert use(service, ticket, "/api/agents/x/stream/logs") is None
    service.vera.post("/api/logout")
    assert use(service, ticket) is None


def test_a_ticket_must_be_used_within_half_a_minute(service):
    ticket = ticket_of(service.vera)
    service.clock.advance(30.5)
    assert use(service, ticket) is None
    assert not opens(service, ticket)


@pytest.mark.shared
def test_a_ticket_opens_nothing_but_streams(service):
    ticket = ticket_of(service.ada)
    for path in ("/api/me", "/api/users", "/api/streams", "/api/stream-ticket"):
        service.anonymous.get(f"{path}?token={ticket}", status=401)
    assert opens(service, ticket)
    service.anonymous.post(f"/api/agents/x/stream/logs?token={ticket}", status=401)
    headers = {"Authorization": "Bearer " + ticket}
    service.anonymous.get("/api/agents/x/stream/logs", headers=headers, status=401)


@pytest.mark.shared
def test_a_ticket_of_a_key_ends_with_the_key(service):
    key = make_key(service.vera)
    ticket = service.anonymous.post("/api/stream-ticket", headers=bearer(key)).json["ticket"]
    assert use(service, ticket)[2] == key["id"]
    service.vera.delete("/api/keys/" + key["id"])
    assert use(service, ticket) is None


@pytest.mark.shared
def test_a_ticket_makes_no_ticket(service):
    service.anonymous.post("/api/stream-ticket?token=" + ticket_of(service.vera), status=401)


def test_a_user_makes_so_many_tickets_a_minute_and_is_told_when_there_are_more(service):
    """What is refused is not written, and is in nobody else's way."""
    service.configure(LoginSettings, tickets_per_user=3)
    key = make_key(service.vera)
    for _ in range(3):
        ticket_of(service.vera)
    for headers in ({}, bearer(key)):  # whatever the credential
        client = service.anonymous if headers else service.vera
        refused = client.post("/api/stream-ticket", headers=headers, status=429)
        assert refused.json["code"] == "too_many_requests"
        assert "3 stream tickets a minute" in refused.json["error"]
        assert int(refused.headers["Retry-After"]) == 60
    ticket_of(service.otto)
    assert service.read(lambda root: len(root.system["tickets"])) == 4
    service.clock.advance(60)
    ticket_of(service.vera)


def test_tickets_are_purged(service):
    used, unused = ticket_of(service.vera), ticket_of(service.vera)
    use(service, used)
    service.clock.advance(31)
    engine.purge.purge(service.node)
    assert service.read(lambda root: len(root.system["tickets"])) == 1
    service.vera.post("/api/logout")
    engine.purge.purge(service.node)
    assert service.read(lambda root: len(root.system["tickets"])) == 0
    assert unused != used
