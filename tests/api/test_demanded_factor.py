"""A role that demands a second factor: who has none does nothing but set it up."""

import pyotp
import pytest

from opsapp.auth import engine
from opsapp.auth.config import LoginSettings
from tests.support.app import PASSWORD


@pytest.fixture
def demanded(service):
    service.configure(LoginSettings, second_factor=("admin",))
    return service


def sign_in(service):
    """ruth, an admin."""
    if "ruth" not in service.read(lambda root: list(root["api"]["users"])):
        engine.add_user(service.node, "ruth", "admin", PASSWORD)
    token = service.anonymous.post_json("/api/login", {"username": "ruth", "password": PASSWORD}).json["token"]
    return {"Authorization": "Bearer " + token}


def set_up(service, headers):
    secret = service.anonymous.post("/api/me/totp", headers=headers).json["secret"]
    code = pyotp.TOTP(secret).at(int(service.clock.now()))
    service.anonymous.post_json("/api/me/totp/confirm", {"code": code}, headers=headers)


def test_it_is_off_until_it_is_asked_for(service):
    assert service.ada.get("/api/users").status_int == 200
    assert LoginSettings().second_factor == ()


def test_a_session_without_the_factor_sets_it_up_and_goes_on(demanded):
    headers = sign_in(demanded)
    for path in ("/api/users", "/api/monitoring/endpoints", "/api/keys", "/api/me/sessions"):
        assert demanded.anonymous.get(path, headers=headers, status=403).json["code"] == "second_factor"
    body = {"name": "k", "role": "viewer"}
    for path in ("/api/keys", "/api/stream-ticket"):
        assert demanded.anonymous.post_json(path, body, headers=headers, status=403).json["code"] == "second_factor"
    assert demanded.anonymous.get("/api/me", headers=headers).json["username"] == "ruth"
    set_up(demanded, headers)
    assert demanded.anonymous.get("/api/users", headers=headers).status_int == 200


def test_other_roles_and_what_is_public_go_on(demanded):
    demanded.otto.get("/api/monitoring/endpoints")
    demanded.anonymous.get("/api/status/public", headers=sign_in(demanded))


def test_who_confirms_or_signs_out_may(demanded):
    headers = sign_in(demanded)
    demanded.clock.advance(1000)
    assert demanded.anonymous.post("/api/me/totp", headers=headers, status=403).json["code"] == "confirm"
    demanded.anonymous.post_json("/api/me/confirm", {"password": PASSWORD}, headers=headers)
    set_up(demanded, headers)
    demanded.anonymous.post("/api/logout", headers=headers)


def test_keys_and_users_of_the_identity_provider_go_on(service):
    key = service.ada.post_json("/api/keys", {"name": "k", "role": "admin"}, status=201).json["key"]
    service.configure(LoginSettings, second_factor=("admin", "operator", "viewer"))
    service.anonymous.get("/api/users", headers={"Authorization": "Bearer " + key})
    headers = sign_in(service)
    service.anonymous.get("/api/users", headers=headers, status=403)
    service.node.transact(lambda root: setattr(root["api"]["users"]["ruth"], "source", "oidc"))
    service.anonymous.get("/api/users", headers=headers)


def test_a_ticket_that_a_session_made_before_opens_nothing_now(service):
    ticket = service.ada.post("/api/stream-ticket").json["ticket"]
    service.configure(LoginSettings, second_factor=("admin",))
    answer = service.anonymous.get(f"/api/stream?token={ticket}", status=403)
    assert answer.json["code"] == "second_factor"


def test_whose_factor_is_taken_away_sets_up_another(demanded):
    headers = sign_in(demanded)
    set_up(demanded, headers)
    demanded.node.transact(lambda root: setattr(root["api"]["users"]["ruth"], "totp", None))
    demanded.anonymous.get("/api/users", headers=headers, status=403)


@pytest.mark.parametrize("path", ["/", "/users", "/settings", "/monitors", "/agents/add", "/find?q=a"])
def test_every_page_leads_to_the_one_that_sets_it_up(demanded, path):
    browser = demanded.browser("ada")
    page = browser.get(path, status=303).follow()
    assert page.request.path == "/second-factor"
    assert page.html.select("aside, .counts, nav") == []
    assert "Set up a second factor" in page.text


def test_the_page_sets_it_up(demanded):
    browser = demanded.browser("ada")
    page = browser.get("/second-factor")
    begun = next(form for form in page.forms.values() if form.fields.get("act")).submit()
    secret = begun.html.select_one(".copied code").text
    turn_on = next(form for form in begun.forms.values() if "code" in form.fields)
    turn_on["code"] = pyotp.TOTP(secret).at(int(demanded.clock.now()))
    done = turn_on.submit()
    assert "keep them safe" in done.text
    assert browser.get("/users").status_int == 200
    assert "It is on" in browser.get("/second-factor").text
