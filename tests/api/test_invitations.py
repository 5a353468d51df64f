"""Somebody is invited by a link, and becomes a user with a password that nobody else has seen."""

import re

import pytest
from webtest import TestApp

from opsapp.auth import engine
from opsapp.auth.config import LoginSettings
from opsapp.auth.engine.purge import purge
from opsapp.auth.resources.invitations import LEASE, invitations_of

GRACE = {"username": "grace", "role": "operator"}
OWN = "a password of her own"


def invite(service, who="ada", **more):
    return getattr(service, who).post_json("/api/invitations", GRACE | more, status=201).json


def open_link(service, made, status=200):
    browser = TestApp(service.app, {"REMOTE_ADDR": "192.0.2.7", "HTTP_HOST": "localhost"})
    return browser.get(made["url"], status=status)


def accept(page, password=OWN, status=303):
    page.form["password"] = password
    return page.form.submit(status=status)


def test_an_invitation_is_shown_once_and_used_once(service):
    made = invite(service, email="grace@example.org")
    assert re.fullmatch("/invitation/[0-9a-f]{64}", made["url"])
    (listed,) = service.ada.get("/api/invitations").json
    assert listed == {name: value for name, value in made.items() if name != "url"}
    assert (listed["username"], listed["role"], listed["invited_by"]) == ("grace", "operator", "ada")
    assert listed["expires_at"] == listed["created_at"] + 7 * 86400
    page, elsewhere = open_link(service, made), open_link(service, made)
    assert "grace" in page.text
    assert service.ada.get("/api/invitations").json, "looking changes nothing"
    accept(page)
    user = service.ada.get("/api/users/grace").json
    assert (user["role"], user["source"], user["disabled"]) == ("operator", "local", False)
    assert service.anonymous.post_json("/api/login", {"username": "grace", "password": OWN}).json["role"] == "operator"
    assert service.ada.get("/api/invitations").json == []
    open_link(service, made, status=404)
    assert "not valid any more" in accept(elsewhere, status=404).text


def test_whoever_accepts_is_signed_in_and_has_a_password_of_their_own(service):
    done = accept(open_link(service, invite(service)))
    assert done.location.endswith("/")
    page = done.follow()
    assert "grace" in page.html.select_one(".mine").text
    assert page.test_app.get("/api/me/settings").json["own_password"] is True


@pytest.mark.parametrize("password", ["too short", "password123", "grace", "p" * 257])
def test_the_rules_of_passwords_hold_and_the_link_stays(service, password):
    page = open_link(service, invite(service))
    again = accept(page, password, status=422)
    assert again.html.select_one("#password-wrong").text
    accept(again)


def test_taken_back_and_too_old_links_say_so(service):
    made = invite(service)
    page = open_link(service, made)
    service.ada.delete(f"/api/invitations/{made['id']}")
    assert "not valid any more" in open_link(service, made, status=404).text
    accept(page, status=404)
    service.ada.get("/api/users/grace", status=404)
    old = invite(service)
    page = open_link(service, old)
    service.clock.advance(7 * 86400)
    service.tokens.clear()
    open_link(service, old, status=404)
    accept(page, status=404)
    assert service.ada.get("/api/invitations").json == []
    invite(service)


@pytest.mark.parametrize("seconds", [-25 * 3600, 25 * 3600])
def test_a_link_moves_with_the_clock_and_is_forgotten_when_it_is_over(service, seconds):
    service.configure(LoginSettings, invitation_s=3600)
    node, made = service.node, invite(service)
    node.leases.want(LEASE)
    node.leases.step()
    engine.start(node)
    service.clock.set_by(seconds)
    node.clock_steps.step()
    service.tokens.clear()
    (listed,) = service.ada.get("/api/invitations").json
    assert listed["expires_at"] == made["expires_at"] + seconds
    service.clock.advance(3600)
    open_link(service, made, status=404)
    assert node.transact(lambda root: list(invitations_of(root))) == [made["id"]]
    purge(node)
    assert node.transact(lambda root: list(invitations_of(root))) == []


def test_an_invitation_of_somebody_who_is_no_admin_any_more_is_worth_nothing(service):
    made = invite(service, role="admin")
    engine.add_user(service.node, "alan", "admin", "a sound password")
    service.node.transact(lambda root: setattr(root["api"]["users"]["ada"], "role", "operator"))
    open_link(service, made, status=404)


def test_names_are_invited_once(service):
    engine.add_user(service.node, "alan", "viewer", "a sound password")
    assert service.ada.post_json("/api/invitations", {"username": "alan"}, status=409).json["code"] == "user_exists"
    invite(service)
    assert service.ada.post_json("/api/invitations", GRACE, status=409).json["code"] == "invited"
    wrong = {"username": "No", "role": "root", "email": "nobody"}
    assert service.ada.post_json("/api/invitations", wrong, status=422).json["fields"].keys() == wrong.keys()


def test_a_name_that_was_taken_meanwhile_is_told(service):
    page = open_link(service, invite(service))
    engine.add_user(service.node, "grace", "viewer", "a sound password")
    assert "a user of this name" in accept(page, status=409).text


def test_links_are_tried_as_seldom_as_passwords(service):
    page = open_link(service, invite(service))
    for _ in range(5):
        accept(page, "too short", status=422)
    assert accept(page, status=429).headers["Retry-After"] == "300"
    service.clock.advance(301)
    accept(page)


def test_so_are_links_that_are_good_for_nothing(service):
    made = invite(service)
    page = open_link(service, made)
    service.ada.delete(f"/api/invitations/{made['id']}")
    for _ in range(5):
        accept(page, status=404)
    accept(page, status=429)


def test_a_form_of_another_site_sets_nothing(service):
    made = invite(service)
    service.anonymous.post(made["url"], {"password": OWN}, status=403)
    service.ada.get("/api/users/grace", status=404)


def test_it_is_in_the_record_without_its_link(service):
    made = invite(service)
    accept(open_link(service, made))
    entries = service.ada.get("/api/audit?limit=20").text
    token = made["url"].rpartition("/")[2]
    assert token not in entries
    assert token not in service.ada.get("/api/export").text
    actions = [entry["action"] for entry in service.ada.get("/api/audit?limit=20&action=invitation").json]
    assert actions == ["invitation.use", "invitation.create"]


def test_only_a_confirmed_session_of_an_admin_invites(service):
    service.otto.post_json("/api/invitations", GRACE, status=403)
    service.ada.post_json("/api/invitations", GRACE, status=201)
    service.clock.advance(901)
    assert service.ada.post_json("/api/invitations", {"username": "alan"}, status=403).json["code"] == "confirm"
