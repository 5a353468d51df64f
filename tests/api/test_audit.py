"""Who did what: every change and every login, refused or not, and never a secret."""

import pytest

from opsapp.audit.config import AuditRetention
from opsapp.audit.engine import retain, tell_counts
from tests.support.app import Service, _sign_in

NEW = {"username": "grace", "role": "operator", "password": "a sound password"}


def entries(service, query=""):
    return service.ada.get("/api/audit" + query).json


def test_a_change_says_who_what_before_and_after(service):
    service.ada.post_json("/api/users", NEW)
    service.ada.put_json("/api/users/grace", {"role": "viewer", "password": "another sound one"})
    service.ada.delete("/api/users/grace")
    delete, update, create = entries(service, "?user=ada&action=user")
    assert (create["action"], create["target"], create["result"]) == ("user.create", "grace", "ok")
    assert create["after"]["role"] == "operator"
    assert (update["before"], update["after"]) == (
        {"role": "operator"},
        {"role": "viewer", "credentials_changed": True},
    )
    assert delete["before"]["username"] == "grace"
    assert set(create) == {"id", "time", "username", "ip", "action", "target", "result", "reason", "before", "after"}
    assert create["time"] == int(service.clock.now())


def test_refused_changes_are_there_too(service):
    service.ada.post_json("/api/users", NEW)
    service.ada.post_json("/api/users", NEW, status=409)
    service.ada.post_json("/api/users", NEW | {"role": "x"}, status=422)
    service.otto.post_json("/api/users", NEW, status=403)
    service.vera.delete("/api/users/grace", status=403)
    found = [(entry["username"], entry["action"], entry["result"], entry["reason"]) for entry in entries(service)]
    assert found[:5] == [
        ("vera", "user.delete", "refused", "role_too_low"),
        ("otto", "user.create", "refused", "role_too_low"),
        ("ada", "user.create", "refused", "invalid"),
        ("ada", "user.create", "refused", "user_exists"),
        ("ada", "user.create", "ok", None),
    ]


def test_logins_are_there_refused_or_not(service):
    for password in ["wrong", "first admin password"]:
        body = {"username": "admin", "password": password}
        service.anonymous.post_json(
            "/api/login", body, extra_environ={"REMOTE_ADDR": "203.0.113.9"}, expect_errors=True
        )
    well, refused = entries(service, "?action=login")
    assert (refused["username"], refused["result"], refused["ip"]) == ("admin", "refused", "203.0.113.9")
    assert (well["username"], well["result"]) == ("admin", "ok")


def test_tries_within_a_lock_are_there_and_a_flood_of_them_is_one_entry_with_a_count(service):
    service.configure(AuditRetention, refusals_of_a_kind=3)
    for _ in range(5 + 20):
        service.anonymous.post_json("/api/login", {"username": "x", "password": "y"}, expect_errors=True)
    assert [entry["reason"] for entry in entries(service, "?action=login")] == (
        ["too_many_attempts"] * 3 + ["bad_credentials"] * 3
    )
    tell_counts(service.node)
    assert len(entries(service, "?action=login")) == 6  # not before the minute is over
    began = service.clock.now()
    service.clock.advance(60)
    tell_counts(service.node)
    told = {entry["reason"]: entry["after"] for entry in entries(service, f"?since={int(began) + 60}")}
    assert told == {
        "too_many_attempts": {"count": 17, "since": int(began)},
        "bad_credentials": {"count": 2, "since": int(began)},
    }
    tell_counts(service.node)
    assert len(entries(service, "?action=login")) == 8


def test_what_was_counted_is_told_when_the_node_stops(tmp_path, service):
    service.configure(AuditRetention, refusals_of_a_kind=1)
    for _ in range(3):
        service.otto.delete("/api/users/admin", status=403)
    service.close()
    again = Service(tmp_path)
    told = entries(again, "?action=user.delete")[0]
    assert (told["username"], told["result"], told["reason"]) == ("otto", "refused", "role_too_low")
    assert told["after"]["count"] == 2
    again.close()


def test_partial_tokens_that_are_none_are_there(service):
    body = {"partial_token": "0" * 64, "code": "123456"}
    service.anonymous.post_json("/api/login/totp", body, status=401)
    found = entries(service, "?action=login.totp")[0]
    assert (found["username"], found["result"], found["reason"]) == (None, "refused", "bad_partial_token")


def test_changes_that_nobody_known_asked_for_are_there(service):
    service.anonymous.post_json("/api/users", NEW, status=401)
    service.anonymous.delete("/api/users/admin", headers={"Authorization": "Bearer " + "0" * 64}, status=401)
    service.anonymous.get("/api/users", status=401)
    found = [(entry["username"], entry["action"], entry["result"], entry["reason"]) for entry in entries(service)]
    assert found[:2] == [
        (None, "user.delete", "refused", "unauthenticated"),
        (None, "user.create", "refused", "unauthenticated"),
    ]
    assert found[2][1] == "user.create"  # the first admin's


def test_a_change_without_the_forms_token_is_there(service):
    cookie = {"Cookie": f"opsapp_session={service.transact(_sign_in, 'ada', service.clock.now())}"}
    service.anonymous.delete("/api/users/admin", headers=cookie, status=403)
    found = entries(service)[0]
    assert (found["username"], found["action"], found["reason"]) == ("ada", "user.delete", "csrf")


def test_what_is_too_old_goes_and_nothing_else(service):
    service.ada.post_json("/api/users", NEW)
    service.clock.advance(731 * 86_400)
    service.tokens.clear()
    service.anonymous.post_json("/api/login", {"username": "x", "password": "y"}, status=401)
    while retain(service.node):
        pass
    assert [entry["action"] for entry in entries(service)] == ["login"]


def test_no_secret_is_in_it(service, tmp_path):
    service.anonymous.post_json("/api/login", {"username": "my Password 1", "password": "x"}, status=401)
    service.ada.post_json("/api/users", NEW)
    text = service.ada.get("/api/audit").text
    assert NEW["password"] not in text
    assert "my Password 1" not in text
    assert "argon2" not in text


def test_logout_and_the_end_of_a_session(service):
    service.vera.post("/api/logout")
    assert entries(service, "?action=logout")[0]["username"] == "vera"


def test_a_change_whose_view_says_nothing_is_there_all_the_same(service):
    service.ada.post_json("/api/store/pack", {"days": 0})
    found = entries(service)[0]
    assert found["action"] == "post /api/store/pack"
    assert found["result"] in ("ok", "accepted")


def test_pages_and_filters(service):
    for n in range(5):
        service.ada.post_json("/api/users", NEW | {"username": f"user{n}"})
        service.clock.advance(10)
    listed = service.ada.get("/api/audit?limit=2&offset=1")
    assert [entry["target"] for entry in listed.json] == ["user3", "user2"]
    assert int(listed.headers["X-Total-Count"]) == 6  # with the first admin
    assert [entry["target"] for entry in entries(service, "?target=user2")] == ["user2"]
    since = int(service.clock.now()) - 20
    recent = service.ada.get(f"/api/audit?since={since}&limit=1")
    assert [entry["target"] for entry in recent.json] == ["user4"]
    assert recent.headers["X-Total-Count"] == "2"
    assert entries(service, "?user=nobody") == []


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "offset=-1", "limit=x", "since=yesterday"])
@pytest.mark.shared
def test_wrong_queries(service, query):
    service.ada.get("/api/audit?" + query, status=422)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nobody_changes_it(service, method):
    service.ada.request("/api/audit", method=method, status=405)
    service.otto.get("/api/audit", status=403)
