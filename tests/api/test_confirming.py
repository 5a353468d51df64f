"""What a stolen session or key cannot do: a fresh proof comes before keys, secrets, users and second factors change."""

import pyotp
import pytest
from webtest import TestApp

from opsapp.auth import engine
from opsapp.auth import resources as auth
from opsapp.auth.config import LoginSettings
from opsapp.auth.cookies import SESSION
from opsapp.auth.resources import keys

pytestmark = pytest.mark.attack

PASSWORD = "a sound password"
NEW_USER = {"username": "grace", "password": PASSWORD, "role": "viewer"}
PROTECTED = [
    ("POST", "/api/keys", {"name": "ci", "role": "viewer"}),
    ("POST", "/api/users", NEW_USER),
    ("PUT", "/api/users/vera", {"role": "operator"}),
    ("DELETE", "/api/users/vera", None),
    ("DELETE", "/api/users/vera/totp", None),
    ("POST", "/api/me/totp", None),
    ("POST", "/api/me/totp/confirm", {"code": "123456"}),
    ("DELETE", "/api/me/totp", {"password": PASSWORD}),
    ("POST", "/api/secrets", {"name": "token", "value": "a value"}),
]
NOT_FOR_KEYS = [*PROTECTED, ("POST", "/api/me/confirm", {"password": PASSWORD}), ("POST", "/api/logout", None)]


@pytest.fixture
def boss(service):
    """An admin with a password, signed in."""
    engine.add_user(service.node, "boss", "admin", PASSWORD)
    service.vera  # noqa: B018 - she exists
    return signed_in(service, "boss")


def signed_in(service, username, password=PASSWORD):
    client = TestApp(service.app)
    token = service.anonymous.post_json("/api/login", {"username": username, "password": password}).json["token"]
    client.authorization = ("Bearer", token)
    return client


def call(client, method, path, body, status):
    send = {"POST": client.post_json, "PUT": client.put_json, "DELETE": client.delete_json}[method]
    return send(path, body or {}, status=status).json


@pytest.mark.parametrize(("method", "path", "body"), PROTECTED)
def test_an_old_session_confirms_first(service, boss, method, path, body):
    service.clock.advance(15 * 60 + 1)
    assert call(boss, method, path, body, 403)["code"] == "confirm"
    entry = service.ada.get("/api/audit?user=boss&limit=1").json[0]
    assert (entry["result"], entry["username"]) == ("refused", "boss")
    until = boss.post_json("/api/me/confirm", {"password": PASSWORD}).json
    assert until == {"status": "ok", "confirmed_until": int(service.clock.now()) + 900}
    assert call(boss, method, path, body, "*").get("code") != "confirm"
    service.clock.advance(901)
    gone = (method, path) == ("DELETE", "/api/users/vera")
    assert call(boss, method, path, body, "*")["code"] == ("not_found" if gone else "confirm")


def test_a_session_that_signed_in_a_moment_ago_needs_nothing(service, boss):
    service.clock.advance(15 * 60 - 1)
    assert boss.post_json("/api/users", NEW_USER, status=201).json["username"] == "grace"
    assert boss.post_json("/api/keys", {"name": "ci", "role": "viewer"}, status=201).json["key"]


@pytest.mark.parametrize(("method", "path", "body"), NOT_FOR_KEYS)
def test_no_key_manages_users_keys_secrets_or_second_factors(service, boss, method, path, body):
    key = boss.post_json("/api/keys", {"name": "ci", "role": "admin"}).json["key"]
    program = TestApp(service.app)
    program.authorization = ("Bearer", key)
    assert call(program, method, path, body, 403)["code"] == "session_required"
    assert program.get("/api/users").json


def test_a_key_ends_no_secret(service, boss):
    made = boss.post_json("/api/secrets", {"name": "token", "value": "a value"}).json["id"]
    key = boss.post_json("/api/keys", {"name": "ci", "role": "admin"}).json["key"]
    program = TestApp(service.app)
    program.authorization = ("Bearer", key)
    assert call(program, "DELETE", f"/api/secrets/{made}", None, 403)["code"] == "session_required"
    assert call(program, "PUT", f"/api/secrets/{made}", {"value": "another"}, 403)["code"] == "session_required"


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, {"password", "code"}),
        ({"password": PASSWORD, "code": "123456"}, {"password", "code"}),
        ({"password": "not this one"}, {"password"}),
        ({"password": 7}, {"password"}),
    ],
)
def test_what_proves_nothing(service, boss, body, named):
    service.clock.advance(901)
    assert set(boss.post_json("/api/me/confirm", body, status=422).json["fields"]) == named
    assert call(boss, "POST", "/api/keys", {"name": "ci", "role": "viewer"}, 403)["code"] == "confirm"


def test_attempts_to_confirm_are_limited(service, boss):
    for _ in range(10):
        boss.post_json("/api/me/confirm", {"password": "not this one"}, status=422)
    assert boss.post_json("/api/me/confirm", {"password": PASSWORD}, status=429).headers["Retry-After"]


def test_a_code_confirms_once(service, boss):
    boss.post_json("/api/me/confirm", {"code": "123456"}, status=409)
    secret = boss.post_json("/api/me/totp").json["secret"]
    totp = pyotp.TOTP(secret)
    boss.post_json("/api/me/totp/confirm", {"code": totp.at(int(service.clock.now()))})
    service.clock.advance(901)
    code = totp.at(int(service.clock.now()))
    boss.post_json("/api/me/confirm", {"code": "000000" if code != "000000" else "111111"}, status=422)
    assert boss.post_json("/api/me/confirm", {"code": code}).json["status"] == "ok"
    boss.post_json("/api/me/confirm", {"code": code}, status=422)
    assert [each["action"] for each in service.ada.get("/api/audit?user=boss&action=session.confirm").json]


def test_how_long_a_proof_is_good_is_configured(service, boss):
    service.configure(LoginSettings, confirm_s=60)
    service.clock.advance(61)
    assert call(boss, "POST", "/api/keys", {"name": "ci", "role": "viewer"}, 403)["code"] == "confirm"


def proof_form(page):
    return next(form for form in page.forms.values() if "confirm-proof" in form.fields)


def test_a_page_asks_in_place_and_loses_nothing(service, boss):
    browser = TestApp(service.app)
    browser.set_cookie(SESSION, boss.authorization[1])
    service.clock.advance(901)
    form = next(each for each in browser.get("/users").forms.values() if each.fields.get("act", [None])[0] is not None
                and each["act"].value == "create")  # fmt: skip
    form["username"], form["role"], form["password"] = "grace", "operator", "another sound one"
    asked = form.submit(status=403)
    wrong = proof_form(asked)
    wrong["confirm-proof"] = "not this one"
    asked = wrong.submit(status=422)
    assert asked.html.select_one("[role=alert]").text
    right = proof_form(asked)
    right["confirm-proof"] = PASSWORD
    sent = right.submit_fields()
    led = browser.post("/users", sent, status=307)
    assert led.headers["Location"].endswith("/users")
    done = browser.post("/users", sent, status=303)  # what a browser does with a 307
    assert "The user is added." in done.follow().text
    assert service.ada.get("/api/users/grace").json["role"] == "operator"


# -- what ends keys


def key_of(client, **more):
    return client.post_json("/api/keys", {"name": "ci", "role": "viewer", **more}).json


def works(service, key):
    headers = {"Authorization": f"Bearer {key['key']}"}
    return service.anonymous.get("/api/me", headers=headers, status="*").status_int == 200


def test_a_password_that_an_admin_replaces_ends_the_users_keys(service, boss):
    engine.add_user(service.node, "grace", "viewer", PASSWORD)
    key = key_of(signed_in(service, "grace"))
    boss.put_json("/api/users/grace", {"disabled": False, "role": "operator"})
    assert works(service, key)
    boss.put_json("/api/users/grace", {"password": "another sound one"})
    assert not works(service, key)


def test_ones_own_new_password_ends_keys_where_it_says_so(service):
    engine.add_user(service.node, "grace", "viewer", PASSWORD)
    grace = signed_in(service, "grace")
    key = key_of(grace)
    grace.put_json("/api/me/password", {"current": PASSWORD, "new": "another sound one"})
    assert works(service, key)
    body = {"current": "another sound one", "new": "a third sound one", "end_keys": True}
    grace.put_json("/api/me/password", body)
    assert not works(service, key)
    assert grace.get("/api/me").json["username"] == "grace"


def test_keys_of_federated_users_live_at_most_30_days(service):
    service.vera.get("/api/me")
    service.transact(lambda root: setattr(auth.users_of(root)["vera"], "source", "oidc"))
    now = int(service.clock.now())
    assert key_of(service.vera)["expires_at"] == now + 30 * 86400
    assert key_of(service.vera, expires_at=now + 60)["expires_at"] == now + 60
    late = {"name": "ci", "role": "viewer", "expires_at": now + 30 * 86400 + 1}
    assert set(service.vera.post_json("/api/keys", late, status=422).json["fields"]) == {"expires_at"}
    old = service.transact(lambda root: keys.make_key(root, "vera", "old", "viewer", None, now)[1])
    assert works(service, {"key": old})
    service.clock.advance(30 * 86400)
    assert not works(service, {"key": old})
