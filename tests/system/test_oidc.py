"""Single sign-on against a real provider process: the flow, roles, and every way in which an answer can be wrong."""

import logging
import time
import urllib.parse

import pytest
from webtest import TestApp

from opsapp.auth import resources as auth
from opsapp.auth.config import OidcSettings, RoleMap
from opsapp.auth.cookies import SESSION
from tests.support.app import Service
from tests.support.provider import CLIENT, SECRET, Provider

pytestmark = pytest.mark.system

CALLBACK = "http://localhost/api/auth/oidc/callback"
ADMIN = {"preferred_username": "grace", "roles": ["staff", "ops-admins"]}


@pytest.fixture(scope="module")
def provider():
    provider = Provider()
    yield provider
    provider.stop()


@pytest.fixture
def service(tmp_path, monkeypatch, provider):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    service = Service(tmp_path)
    service.configure(
        OidcSettings,
        enabled=True,
        issuer=provider.url,
        client_id=CLIENT,
        client_secret=SECRET,
        redirect_uri=CALLBACK,
        role_claim="roles",
        role_map=RoleMap(admin="ops-admins", operator="ops", viewer="staff"),
    )
    provider.behave(claims=ADMIN)
    yield service
    service.close()


@pytest.fixture
def browser(service):
    return TestApp(service.app)


def begin(browser):
    return browser.get("/api/auth/oidc/authorize", status=302).headers["Location"]


def come_back(browser, address, status=200, json=True):
    parts = urllib.parse.urlsplit(address)
    headers = {"Accept": "application/json"} if json else {"Accept": "text/html"}
    return browser.get(f"{parts.path}?{parts.query}", headers=headers, status=status)


def sign_in(browser, provider, status=200, json=True):
    return come_back(browser, provider.sign_in(begin(browser)), status, json)


def test_a_program_gets_json_and_a_browser_a_cookie(service, browser, provider):
    answer = sign_in(browser, provider).json
    assert set(answer) == {"token", "role", "username"}
    assert (answer["role"], answer["username"]) == ("admin", "grace")
    headers = {"Authorization": "Bearer " + answer["token"]}
    assert service.anonymous.get("/api/me", headers=headers).json == {"username": "grace", "role": "admin"}
    page = sign_in(browser, provider, 303, json=False)
    assert page.headers["Location"] == "/"
    cookie = next(each for each in page.headers.getall("Set-Cookie") if each.startswith(SESSION))
    assert "HttpOnly" in cookie
    assert browser.get("/api/me").json["username"] == "grace"


def test_what_is_asked_of_the_provider(browser, provider):
    begin_at = begin(browser)
    provider.sign_in(begin_at)
    asked = provider.asked()[-1]
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert len(asked["state"]) >= 32
    assert len(asked["nonce"]) >= 32
    assert asked["scope"] == "openid profile email"
    assert asked["redirect_uri"] == CALLBACK
    again = urllib.parse.parse_qs(urllib.parse.urlsplit(begin(browser)).query)
    assert again["state"][0] != asked["state"]
    assert again["nonce"][0] != asked["nonce"]
    assert again["code_challenge"][0] != asked["code_challenge"]


@pytest.mark.attack
@pytest.mark.parametrize(
    "wrong",
    [
        "signature",
        "alg none",
        "alg HS256",
        "alg HS256 public",
        "nonce",
        "no nonce",
        "no sub",
        "audience",
        "azp",
        "issuer",
        "expired",
        "unknown key",
        "own key",
        "no id_token",
        "token error",
        "token status",
        "token text",
    ],
)
def test_nobody_comes_in_with_a_bad_answer(service, browser, provider, wrong):
    provider.behave(**{"claims": ADMIN, "break": wrong})
    answer = sign_in(browser, provider, 400)
    assert answer.json["code"] in ("bad_id_token", "provider_error")
    assert service.read(lambda root: (list(root["api"]["users"]), len(root.system["sessions"]))) == (["admin"], 0)
    provider.behave(claims=ADMIN)
    assert sign_in(browser, provider).json["username"] == "grace"


def test_a_refusal_of_the_provider_is_400(service, browser, provider):
    provider.behave(error="access_denied")
    assert sign_in(browser, provider, 400).json["code"] == "provider_error"
    found = service.ada.get("/api/audit?action=login.oidc").json[0]
    assert (found["result"], found["reason"]) == ("refused", "provider_error")


@pytest.mark.attack
def test_the_state_is_bound_to_the_browser_and_used_once(service, browser, provider):
    back = provider.sign_in(begin(browser))
    assert come_back(TestApp(service.app), back, 400).json["code"] == "bad_state"
    come_back(browser, back)
    assert come_back(browser, back, 400).json["code"] == "bad_state"


@pytest.mark.attack
def test_a_used_state_stays_used_even_with_the_cookie(service, browser, provider):
    back = provider.sign_in(begin(browser))
    kept = dict(browser.cookies)
    come_back(browser, back)
    for name, value in kept.items():
        browser.set_cookie(name, value)
    assert come_back(browser, back, 400).json["code"] == "bad_state"


@pytest.mark.parametrize("change", ["state=0", "state=" + "0" * 32, "code=x&state="])
def test_wrong_states(browser, provider, change):
    begin(browser)
    browser.get("/api/auth/oidc/callback?code=x&" + change, status=400)
    browser.get("/api/auth/oidc/callback", status=400)


@pytest.mark.attack
def test_an_answer_that_names_another_issuer_is_refused(browser, provider):
    """RFC 9207: a provider that answers for another one gets no code."""
    come_back(browser, provider.sign_in(begin(browser)) + "&iss=http%3A%2F%2Fother.example", 400)
    come_back(browser, provider.sign_in(begin(browser)) + "&" + urllib.parse.urlencode({"iss": provider.url}))


def test_an_issuer_may_be_configured_with_a_slash_at_its_end(service, browser, provider):
    """The provider's own description says how it writes itself."""
    service.configure(OidcSettings, issuer=provider.url + "/")
    come_back(browser, provider.sign_in(begin(browser)) + "&" + urllib.parse.urlencode({"iss": provider.url}))


def test_a_flow_runs_out(service, browser, provider):
    back = provider.sign_in(begin(browser))
    service.clock.advance(601)
    assert come_back(browser, back, 400).json["code"] == "bad_state"


def test_two_tabs_do_not_disturb_each_other(browser, provider):
    first, second = provider.sign_in(begin(browser)), provider.sign_in(begin(browser))
    come_back(browser, second)
    come_back(browser, first)


@pytest.mark.parametrize(
    ("claims", "role"),
    [
        ({"roles": ["staff", "ops"]}, "operator"),
        ({"roles": "staff"}, "viewer"),
        ({"roles": "none"}, None),
        ({"roles": []}, None),
        ({}, None),
        ({"roles": {"a": "ops-admins"}}, None),
    ],
)
def test_the_highest_mapped_role_wins(browser, provider, claims, role):
    provider.behave(claims={"preferred_username": "grace", **claims})
    answer = sign_in(browser, provider, 200 if role else 403)
    assert answer.json.get("role") == role
    assert role or answer.json["code"] == "no_role"


def test_a_role_that_the_provider_has_changed_is_in_the_audit_record(service, browser, provider):
    sign_in(browser, provider)
    provider.behave(claims=ADMIN | {"roles": "staff"})
    sign_in(browser, provider)
    (found,) = service.ada.get("/api/audit?action=user.update").json
    assert (found["username"], found["target"], found["result"]) == ("grace", "grace", "ok")
    assert (found["before"], found["after"]) == ({"role": "admin"}, {"role": "viewer"})
    sign_in(browser, provider)
    assert len(service.ada.get("/api/audit?action=user.update").json) == 1


@pytest.mark.parametrize(("ahead", "status"), [(30, 200), (3600, 400)])
def test_the_providers_clock_may_be_somewhat_ahead(browser, provider, ahead, status):
    now = int(time.time()) + ahead
    provider.behave(claims=ADMIN | {"iat": now, "nbf": now, "exp": now + 300})
    sign_in(browser, provider, status)


def test_the_role_may_be_deep_or_at_userinfo(service, browser, provider):
    service.configure(OidcSettings, role_claim="realm.access.roles")
    provider.behave(claims={"preferred_username": "grace", "realm": {"access": {"roles": ["ops"]}}})
    assert sign_in(browser, provider).json["role"] == "operator"
    provider.behave(claims={"preferred_username": "grace"}, userinfo={"realm": {"access": {"roles": ["staff"]}}})
    assert sign_in(browser, provider).json["role"] == "viewer"
    provider.behave(claims={}, userinfo={"sub": "another", "realm": {"access": {"roles": ["ops-admins"]}}})
    sign_in(browser, provider, 400)


@pytest.mark.attack
def test_a_local_name_is_never_adopted(service, browser, provider):
    provider.behave(claims=ADMIN | {"preferred_username": "admin"})
    assert sign_in(browser, provider).json["username"] == "admin-2"
    assert sign_in(browser, provider).json["username"] == "admin-2"
    provider.behave(claims=ADMIN | {"preferred_username": "renamed"})
    assert sign_in(browser, provider).json["username"] == "admin-2"
    provider.behave(claims=ADMIN | {"preferred_username": "admin-2", "sub": "subject-2"})
    assert sign_in(browser, provider).json["username"] == "admin-2-2"
    service.ada.delete("/api/users/admin-2")
    body = {"username": "admin-2", "role": "viewer", "password": "a sound password"}
    service.ada.post_json("/api/users", body, status=201)
    provider.behave(claims=ADMIN)
    assert sign_in(browser, provider).json["username"] == "grace"
    assert service.ada.get("/api/users/admin-2").json["source"] == "local"


def test_users_of_the_provider_have_no_password_here(service, browser, provider):
    answer = sign_in(browser, provider).json
    assert service.ada.get("/api/users/grace").json["source"] == "oidc"
    service.ada.put_json("/api/users/grace", {"password": "a sound password"}, status=409)
    service.anonymous.post_json("/api/login", {"username": "grace", "password": "x"}, status=401)
    headers = {"Authorization": "Bearer " + answer["token"]}
    service.anonymous.post("/api/me/totp", headers=headers, status=409)
    body = {"current": "x", "new": "a sound password"}
    service.anonymous.put_json("/api/me/password", body, headers=headers, status=409)


def test_a_disabled_user_is_403(service, browser, provider):
    sign_in(browser, provider)
    service.ada.put_json("/api/users/grace", {"disabled": True})
    assert sign_in(browser, provider, 403).json["code"] == "user_disabled"


def test_switched_off_it_is_404(service, browser):
    service.configure(OidcSettings, enabled=False)
    browser.get("/api/auth/oidc/authorize", status=404)
    browser.get("/api/auth/oidc/callback?state=x&code=y", status=404)
    assert "single sign-on" not in browser.get("/login").text


def test_the_form_offers_it(browser):
    assert "/api/auth/oidc/authorize" in browser.get("/login").text


def test_a_provider_that_is_not_there_is_502(service, browser):
    service.configure(OidcSettings, issuer="http://127.0.0.1:1")
    browser.get("/api/auth/oidc/authorize", status=502)


def test_a_provider_that_calls_itself_something_else_is_refused(browser, provider):
    provider.behave(**{"break": "described issuer"})
    browser.get("/api/auth/oidc/authorize", status=502)


def test_beginning_stores_nothing(service, browser):
    before = service.node.store.db.lastTransaction()
    for _ in range(5):
        begin(browser)
    assert service.node.store.db.lastTransaction() == before


@pytest.mark.attack
def test_a_role_that_is_lost_at_the_provider_ends_sessions_and_keys(service, browser, provider):
    service.ada.get("/api/me")  # another admin
    token = sign_in(browser, provider).json["token"]
    grace = TestApp(service.app)
    grace.authorization = ("Bearer", token)
    keys = [grace.post_json("/api/keys", {"name": "ci", "role": "viewer"}).json["key"] for _ in range(2)]
    tokens = [token, *keys]

    def refused():
        headers = [{"Authorization": f"Bearer {each}"} for each in tokens]
        return [service.anonymous.get("/api/me", headers=each, status="*").status_int for each in headers]

    assert refused() == [200, 200, 200]
    provider.behave(claims=ADMIN | {"roles": []})
    assert sign_in(browser, provider, 403).json["code"] == "no_role"
    assert refused() == [401, 401, 401]
    assert service.ada.get("/api/users/grace").json["disabled"] is True
    provider.behave(claims=ADMIN | {"roles": ["staff"]})
    assert sign_in(browser, provider).json["role"] == "viewer"
    assert service.ada.get("/api/users/grace").json["disabled"] is False
    assert refused() == [401, 401, 401]


@pytest.mark.attack
def test_a_lower_role_at_the_provider_ends_keys(service, browser, provider):
    service.ada.get("/api/me")
    grace = TestApp(service.app)
    grace.authorization = ("Bearer", sign_in(browser, provider).json["token"])
    key = {"Authorization": "Bearer " + grace.post_json("/api/keys", {"name": "ci", "role": "viewer"}).json["key"]}
    provider.behave(claims=ADMIN | {"roles": ["ops"]})
    assert sign_in(browser, provider).json["role"] == "operator"
    service.anonymous.get("/api/me", headers=key, status=401)


@pytest.mark.attack
def test_somebody_whom_an_admin_disabled_stays_so(service, browser, provider):
    sign_in(browser, provider)
    service.ada.put_json("/api/users/grace", {"disabled": True})
    provider.behave(claims=ADMIN | {"roles": []})
    sign_in(browser, provider, 403)
    provider.behave(claims=ADMIN)
    assert sign_in(browser, provider, 403).json["code"] == "user_disabled"


@pytest.mark.attack
def test_the_last_admin_who_loses_the_role_is_signed_out_and_stays_admin(service, browser, provider):
    token = sign_in(browser, provider).json["token"]
    service.transact(lambda root: setattr(auth.users_of(root)["admin"], "disabled", True))
    provider.behave(claims=ADMIN | {"roles": ["staff"]})
    assert sign_in(browser, provider, 409).json["code"] == "last_admin"
    service.anonymous.get("/api/me", headers={"Authorization": f"Bearer {token}"}, status=401)


@pytest.mark.parametrize("wrong", [None, "no kid"])
def test_a_good_sign_in_logs_no_error(browser, provider, caplog, wrong):
    """A provider with one key need not say which one it signs with."""
    provider.behave(**{"claims": ADMIN, "break": wrong})
    assert sign_in(browser, provider).json["username"] == "grace"
    assert [(r.name, r.levelname, r.getMessage()) for r in caplog.records if r.levelno >= logging.WARNING] == []
