"""A form of a page that was opened before its reader signed in anew: kept, and shown once more to be sent."""

import re

import pytest

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


def sent(client, origin, **more):
    form = {"csrf_token": "0" * 64, "act": "create", "name": "Kept <b>", "type": "push", **more}
    return client.post(NEW, form, headers={"Sec-Fetch-Site": origin}, status=403)


def test_what_was_filled_in_is_kept_and_can_be_sent_again(service, cookie):
    answer = sent(cookie, "same-origin")
    assert "Nothing has been sent yet" in answer.text
    again = cookie.post(NEW, fields(answer.html.find("form", method="post", action=NEW)))
    shown = fields(again.html.find("form", id="monitor-form"))
    assert (shown["name"], shown["type"]) == ("Kept <b>", "push")
    assert service.vera.get("/api/monitoring/endpoints").json == []
    cookie.post(NEW, shown | {"act": "create"}, status=303)
    assert [row["name"] for row in service.vera.get("/api/monitoring/endpoints").json] == ["Kept <b>"]


@pytest.mark.parametrize("origin", ["cross-site", "same-site", "none", ""])
def test_what_another_site_sends_is_not_shown_for_sending_again(cookie, origin):
    answer = sent(cookie, origin)
    assert "Kept" not in answer.text
    assert not re.search('name="csrf_token"', answer.text)


def test_without_any_token_nothing_is_kept(cookie):
    answer = cookie.post(NEW, {"act": "create", "name": "Kept"}, headers={"Sec-Fetch-Site": "same-origin"}, status=403)
    assert "Kept" not in answer.text


@pytest.mark.parametrize("place", ["/help", "/find?q=x", "/monitors"])
def test_whoever_asks_for_a_part_of_a_page_gets_no_whole_page(cookie, place):
    whole = cookie.get(place)
    assert whole.html.find(id="tally") is not None
    part = cookie.get(place, headers={"X-Part": "counts"})
    assert part.html.find("main") is None
