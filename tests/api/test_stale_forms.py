"""A form of a page that was opened before its reader signed in anew: kept, and shown once more to be sent."""

import re

import pytest

from tests.support.app import _sign_in

NEW = "/monitors/new"


@pytest.fixture
def cookie(service):
    """A browser of otto's, signed in by its cookie."""
    client = service.client("otto")
    token = service.tokens["otto"]
    client.authorization = None
    client.set_cookie("opsapp_session", token)
    return client


def fields(form):
    return {field["name"]: field.get("value", "") for field in form.find_all("input")}


@pytest.fixture
def older(service, cookie):
    """The token of a form that otto opened before he signed in anew."""
    token = cookie.get(NEW).html.find("input", {"name": "csrf_token"})["value"]
    cookie.set_cookie("opsapp_session", service.transact(_sign_in, "otto", service.clock.now()))
    return token


def sent(client, origin, token, **more):
    form = {"csrf_token": token, "act": "create", "name": "Kept <b>", "type": "push", **more}
    return client.post(NEW, form, headers={"Sec-Fetch-Site": origin}, status=403)


def test_what_was_filled_in_is_kept_and_can_be_sent_again(service, cookie, older):
    answer = sent(cookie, "same-origin", older)
    assert "Nothing has been sent yet" in answer.text
    again = cookie.post(NEW, fields(answer.html.find("form", method="post", action=NEW)))
    shown = fields(again.html.find("form", id="monitor-form"))
    assert (shown["name"], shown["type"]) == ("Kept <b>", "push")
    assert service.vera.get("/api/monitoring/endpoints").json == []
    cookie.post(NEW, shown | {"act": "create"}, status=303)
    assert [row["name"] for row in service.vera.get("/api/monitoring/endpoints").json] == ["Kept <b>"]


@pytest.mark.parametrize("origin", ["cross-site", "same-site", "none", ""])
def test_what_another_site_sends_is_not_shown_for_sending_again(cookie, older, origin):
    answer = sent(cookie, origin, older)
    assert "Kept" not in answer.text
    assert not re.search('name="csrf_token"', answer.text)


@pytest.mark.parametrize("token", ["0" * 64, "0" * 128, "no token"])
def test_a_form_without_a_token_of_ours_is_not_read(cookie, token):
    assert "Kept" not in sent(cookie, "same-origin", token).text


def test_without_any_token_nothing_is_kept(cookie):
    answer = cookie.post(NEW, {"act": "create", "name": "Kept"}, headers={"Sec-Fetch-Site": "same-origin"}, status=403)
    assert "Kept" not in answer.text


@pytest.mark.parametrize("place", ["/help", "/find?q=x", "/monitors"])
def test_whoever_asks_for_a_part_of_a_page_gets_no_whole_page(cookie, place):
    whole = cookie.get(place)
    assert whole.html.find(id="tally") is not None
    part = cookie.get(place, headers={"X-Part": "counts"})
    assert part.html.find("main") is None
