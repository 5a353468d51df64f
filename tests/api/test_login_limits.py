"""Login limits per address and per username, and who counts as the address."""

import contextlib

import pytest
from webtest import TestApp

from opsapp.auth.config import LoginSettings
from opsapp.auth.cookies import SESSION
from opsapp.auth.engine import passwords, sign_in
from opsapp.auth.engine.passwords import ClientLeft, hashing_of
from opsapp.auth.engine.signin import Client
from opsapp.runtime.threads.fair import Whose
from opsapp.web.config import WebSettings

WRONG = {"username": "admin", "password": "wrong"}
RIGHT = {"username": "admin", "password": "first admin password"}


def attempt(service, body=WRONG, ip="203.0.113.9", **headers):
    return service.anonymous.post_json(
        "/api/login", body, headers=headers, extra_environ={"REMOTE_ADDR": ip}, expect_errors=True
    )


def test_the_sixth_attempt_locks_the_address(service):
    assert [attempt(service).status_int for _ in range(5)] == [401] * 5
    locked = attempt(service)
    assert (locked.status_int, locked.headers["Retry-After"]) == (429, "300")
    assert "300" in locked.json["error"]
    service.clock.advance(100)
    again = attempt(service, RIGHT)
    assert (again.status_int, again.headers["Retry-After"]) == (429, "200")
    assert "200" in again.json["error"]
    assert attempt(service, RIGHT, ip="203.0.113.10").status_int == 200
    service.clock.advance(199.5)
    assert attempt(service, RIGHT).status_int == 429
    service.clock.advance(0.5)
    assert attempt(service, RIGHT).status_int == 200


def test_right_passwords_count_too(service):
    assert [attempt(service, RIGHT).status_int for _ in range(6)] == [200] * 5 + [429]


def test_attempts_age(service):
    for _ in range(5):
        assert attempt(service).status_int == 401
    service.clock.advance(60)
    assert attempt(service).status_int == 401


def test_many_addresses_do_not_help_against_one_user(service):
    statuses = [attempt(service, ip=f"203.0.113.{n}").status_int for n in range(11)]
    assert statuses == [401] * 10 + [429]
    assert attempt(service, RIGHT, ip="198.51.100.1").status_int == 429
    assert attempt(service, WRONG | {"username": "somebody"}, ip="198.51.100.1").status_int == 401


def test_unknown_users_are_counted_alike(service):
    body = {"username": "nobody", "password": "x"}
    assert [attempt(service, body).status_int for _ in range(6)] == [401] * 5 + [429]


def test_one_customers_ipv6_addresses_are_one(service):
    assert [attempt(service, ip=f"2001:db8::{n}").status_int for n in range(1, 7)] == [401] * 5 + [429]


def test_a_header_from_anybody_changes_nothing(service):
    for n in range(5):
        attempt(service, **{"X-Forwarded-For": f"198.51.100.{n}"})
    assert attempt(service, **{"X-Forwarded-For": "198.51.100.77"}).status_int == 429


def test_behind_a_trusted_proxy_the_last_untrusted_hop_counts(service):
    service.configure(WebSettings, trusted_proxies=("10.0.0.0/8",))
    for _ in range(5):
        attempt(service, ip="10.0.0.1", **{"X-Forwarded-For": "9.9.9.9, 198.51.100.7, 10.0.0.5"})
    assert attempt(service, ip="10.0.0.1", **{"X-Forwarded-For": "198.51.100.7"}).status_int == 429
    assert attempt(service, ip="10.0.0.1", **{"X-Forwarded-For": "198.51.100.7, 198.51.100.8"}).status_int == 401


@pytest.mark.parametrize("body", [{}, {"username": "admin"}, {"username": "admin", "password": 7}])
def test_what_is_no_attempt_is_not_counted(service, body):
    for _ in range(7):
        assert attempt(service, body).status_int == 422


def test_the_limits_are_configured(service):
    service.configure(LoginSettings, attempts_per_ip=1, lock_s=7)
    assert [attempt(service).status_int for _ in range(2)] == [401, 429]
    assert attempt(service).headers["Retry-After"] == "7"


@contextlib.contextmanager
def many_wait(service, group):
    """So many passwords of this group wait to be hashed that the next one would wait for 3 s."""
    hashing = hashing_of(service.node)
    with contextlib.ExitStack() as waiting:
        hashing.cost = 0.0
        for n in range(6):
            waiting.enter_context(hashing.admitted(Whose(group, n)))
        hashing.cost = 1.0
        yield


def test_who_would_wait_long_for_a_hash_is_asked_to_come_again_and_nothing_is_counted(service):
    with many_wait(service, "ip"):
        refused = [attempt(service) for _ in range(6)]
    assert {(answer.status_int, answer.json["code"]) for answer in refused} == {(503, "sign_in_busy")}
    assert refused[0].headers["Retry-After"] == "3"
    assert [attempt(service).status_int for _ in range(6)] == [401] * 5 + [429]


def test_known_browsers_do_not_wait_behind_unknown_addresses_nor_people_who_are_signed_in(service):
    browser = TestApp(service.app)
    form = browser.get("/login").form
    form["username"], form["password"] = RIGHT.values()
    form.submit(status=303)
    browser.cookiejar.clear("localhost.local", "/", SESSION)
    confirmed = service.client("ada")
    with many_wait(service, "ip"):
        form = browser.get("/login").form
        form["username"], form["password"] = RIGHT.values()
        form.submit(status=303)
        confirmed.post_json("/api/me/confirm", {"password": "wrong"}, status=409)  # ada has none, and it was asked
    with many_wait(service, "browser"):
        form = browser.get("/login").form
        form["username"], form["password"] = RIGHT.values()
        assert "Too many people sign in now" in form.submit(status=503).text


def test_a_password_whose_client_has_gone_is_not_hashed(service, monkeypatch):
    hashed = []
    monkeypatch.setattr(passwords, "_verify", lambda *_: hashed.append(1))
    with pytest.raises(ClientLeft):
        sign_in(service.node, "admin", "first admin password", Client("203.0.113.9", ""), lambda: True)
    assert hashed == []
