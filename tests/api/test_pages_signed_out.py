"""A session that ends while somebody types: nothing is lost, without script; no secret is kept, nothing is done."""

import pyotp
import pytest
from webtest import TestApp

from opsapp.audit.engine import SHELL
from opsapp.auth import engine
from opsapp.auth.cookies import SESSION, masked_token
from opsapp.auth.engine import secondfactor
from opsapp.auth.resources import end_sessions, find_enabled
from tests.support.app import _sign_in

PASSWORD = "a sound password"


@pytest.fixture
def mia(service):
    """An admin with a browser."""
    engine.add_user(service.node, "mia", "admin", PASSWORD)
    made = TestApp(service.app, extra_environ={"REMOTE_ADDR": "203.0.113.9"})
    made.set_cookie(SESSION, service.transact(_sign_in, "mia", service.clock.now()))
    return made


def end(service):
    service.transact(lambda root: end_sessions(root, find_enabled(root, "mia")))


def form(page, act):
    return next(
        each
        for each in page.forms.values()
        if act
        in [
            field.value_if_submitted() if hasattr(field, "value_if_submitted") else field.value
            for field in each.fields.get("act", ())
        ]
    )


def sign_in(page, **more):
    asked = page.forms[0]
    asked["username"], asked["password"] = "mia", PASSWORD
    return asked.submit()


def test_a_form_is_filled_in_again_after_signing_in(service, mia):
    asked = form(mia.get("/maintenance/new"), "create")
    asked["name"], asked["scope-whole"] = "disk <swap>", True
    end(service)
    out = asked.submit("act", value="create", status=401)
    assert "What you typed is kept, but no password" in out.text
    back = sign_in(out).forms[0].submit()
    again = form(back, "create")
    assert again["name"].value == "disk <swap>"
    assert service.ada.get("/api/maintenance").json == [], "nothing was done"
    assert again.submit("act", value="create").status_int == 303
    assert [row["name"] for row in service.ada.get("/api/maintenance").json] == ["disk <swap>"]


def test_no_secret_is_kept(service, mia):
    asked = form(mia.get("/users"), "create")
    asked["username"], asked["password"] = "nina", "not to be written anywhere"
    end(service)
    out = asked.submit(status=401)
    assert "not to be written" not in out.text
    back = sign_in(out).forms[0].submit()
    again = form(back, "create")
    assert (again["username"].value, again["password"].value) == ("nina", "")


def test_the_second_step_keeps_it_too(service, mia):
    secret = secondfactor.begin(service.node, "mia").secret
    code = pyotp.TOTP(secret).at(int(service.clock.now()))
    recovery = secondfactor.confirm(service.node, "mia", code, SHELL).recovery_codes
    mia.set_cookie(SESSION, service.transact(_sign_in, "mia", service.clock.now()))
    asked = form(mia.get("/maintenance/new"), "create")
    asked["name"] = "kept"
    end(service)
    second = sign_in(asked.submit("act", value="create", status=401))
    second.forms[0]["code"] = recovery[0]
    back = second.forms[0].submit().forms[0].submit()
    assert form(back, "create")["name"].value == "kept"


def test_a_draft_is_drawn_again_and_not_saved(service, mia):
    asked = mia.get("/healing/rules/new").forms["rule"]
    asked["id"], asked["condition"] = "mine", "cpu_percent > 90"
    end(service)
    back = sign_in(asked.submit("do", value="save", status=401)).forms[0].submit()
    assert back.forms["rule"]["condition"].value == "cpu_percent > 90"
    service.ada.get("/api/healing/rules/mine", status=404)


def test_nothing_is_kept_of_a_form_of_another_site_or_of_no_page(service, mia):
    asked = form(mia.get("/maintenance/new"), "create")
    login = service.anonymous.get("/login").html.find("input", {"name": "csrf_token"})["value"]
    end(service)
    mia.reset()
    sent = {"csrf_token": asked["csrf_token"].value, "act": "create", "name": "evil"}
    same = {"Sec-Fetch-Site": "same-origin"}
    assert "evil" in mia.post("/maintenance/new", sent, headers=same, status=401).text
    for path, body, headers in (
        ("/maintenance/new", sent, {}),
        ("/maintenance/new", sent, {"Sec-Fetch-Site": "cross-site"}),
        ("/maintenance/new", sent | {"csrf_token": "0" * 128}, same),
        ("/maintenance/new", sent | {"csrf_token": login}, same),
        ("/maintenance/new", {"act": "create", "name": "evil"}, same),
        ("/healing/nothing/here", sent, same),
        ("/maintenance/new", sent | {"act": "nothing"}, same),
        ("/maintenance/new", sent | {"name": "evil" * 5_000}, same),
    ):
        answer = mia.post(path, body, headers=headers, status=401)
        assert "kept" not in answer.text, (path, headers)
        assert "evil" not in answer.text, (path, headers)
    assert asked["name"].value == ""


@pytest.mark.parametrize("site", ["same-origin", "cross-site", "same-site", "none", None])
@pytest.mark.shared
def test_a_made_up_session_and_its_token_are_read_nowhere(service, site):
    """Anybody can make up a cookie, and a token that fits it."""
    stranger = TestApp(service.app, extra_environ={"REMOTE_ADDR": "203.0.113.9"})
    stranger.set_cookie(SESSION, "x" * 43)
    headers = {"Sec-Fetch-Site": site} if site else {}
    sent = {"csrf_token": masked_token("x" * 43), "act": "create", "name": "evil"}
    answer = stranger.post("/maintenance/new", sent, headers=headers, status=401)
    assert "evil" not in answer.text
    assert 'name="kept"' not in answer.text


@pytest.mark.parametrize(
    ("headers", "cookie", "kept"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"Origin": "http://localhost:80"}, False, True),
        ({"Origin": "http://evil.example"}, True, False),
        ({"Sec-Fetch-Site": "same-site"}, True, False),
    ],
)
def test_where_a_form_came_from_by_what_the_browser_says(service, mia, headers, cookie, kept):
    """Of an address that is not https a browser sends no Sec-Fetch-Site, and an ended session's cookie may be gone."""
    asked = form(mia.get("/maintenance/new"), "create")
    end(service)
    if not cookie:
        mia.reset()
    sent = {"csrf_token": asked["csrf_token"].value, "act": "create", "name": "mine"}
    assert ("mine" in mia.post("/maintenance/new", sent, headers=headers, status=401).text) == kept
