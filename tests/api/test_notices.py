"""Notices on the public status page: put by hand, ended by hand or by their time, shown to everybody while open."""

from datetime import datetime, timezone
from xml.etree import ElementTree

import pytest

from opsapp.monitoring.notices import MOST_ENDED, MOST_OPEN

NOTICES, STATUS = "/api/monitoring/notices", "/api/monitoring/status-page"
PHONES = {"title": "The phones move", "text": "On Sunday.\nCall us by mobile.", "severity": "warning"}


@pytest.fixture
def put(service):
    def put(**more):
        return service.otto.post_json(NOTICES, PHONES | more, status=201).json["id"]

    return put


@pytest.fixture
def browser(service):
    return service.browser


def form_of(page, act):
    """The form of the page that has this act."""
    named = (form for form in page.forms.values() if "act" in form.fields and form["act"].value == act)
    return next(named, None)


def in_seconds(service, seconds):
    at = datetime.fromtimestamp(service.clock.now() + seconds, timezone.utc)
    return at.strftime("%Y-%m-%dT%H:%M:%S")


def shown(service):
    return [notice["title"] for notice in service.anonymous.get(STATUS).json["notices"]]


def test_a_notice_is_on_the_page_in_the_document_and_in_the_feed_until_it_is_ended(service, put):
    assert shown(service) == []
    before = service.anonymous.get("/status").headers["ETag"]
    notice = put()
    (public,) = service.anonymous.get(STATUS).json["notices"]
    assert public == {"id": notice, "title": PHONES["title"], "text": PHONES["text"], "severity": "warning",
                      "started": int(service.clock.now()), "ends_at": None}  # fmt: skip
    page = service.anonymous.get("/status")
    assert page.headers["ETag"] != before
    on_page = page.html.select_one("#notices")
    assert on_page.select_one("h3").text == "Warning: The phones move"
    assert on_page.select_one(".said").text == PHONES["text"]
    feed = ElementTree.fromstring(service.anonymous.get("/status.rss").body)
    assert [item.findtext("title") for item in feed.findall("./channel/item")] == ["Notice: The phones move"]
    assert service.otto.post_json(f"{NOTICES}/{notice}/end", {}).json == {"status": "ended"}
    assert shown(service) == []
    assert service.anonymous.get("/status").html.select_one("#notices") is None
    (record,) = service.vera.get(NOTICES).json
    assert (record["status"], record["created_by"], record["ended_by"]) == ("ended", "otto", "otto")
    assert service.otto.post_json(f"{NOTICES}/{notice}/end", {}, status=409).json["code"] == "notice_over"


def test_it_ends_by_its_time_without_anybody(service, put):
    notice = put(until=in_seconds(service, 600))
    page = service.anonymous.get("/status")
    assert shown(service) == ["The phones move"]
    service.clock.advance(599)
    assert shown(service) == ["The phones move"]
    service.clock.advance(10)
    assert shown(service) == []
    later = service.anonymous.get("/status", headers={"If-None-Match": page.headers["ETag"]})
    assert later.status_int == 200
    record = service.vera.get(f"{NOTICES}/{notice}").json
    assert (record["status"], record["ended_at"], record["ended_by"]) == ("ended", record["ends_at"], None)
    service.otto.put_json(f"{NOTICES}/{notice}", {"title": "Late"}, status=409)


def test_the_worst_is_on_top_and_the_newest_of_its_kind(service, put):
    for title, severity in (("a", "info"), ("b", "critical"), ("c", "warning"), ("d", "critical")):
        put(title=title, severity=severity)
        service.clock.advance(1)
    assert shown(service) == ["d", "b", "c", "a"]
    on_page = service.anonymous.get("/status").html.select("#notices h3")
    assert [heading.text for heading in on_page] == ["Critical: d", "Critical: b", "Warning: c", "Notice: a"]


def test_it_is_changed_and_deleted(service, put):
    notice = put()
    assert shown(service) == ["The phones move"]
    record = service.otto.get(f"{NOTICES}/{notice}").json
    changed = {**record, "title": "They have moved", "severity": "info"}
    assert service.otto.put_json(f"{NOTICES}/{notice}", changed).json == {"status": "updated"}
    assert shown(service) == ["They have moved"]
    service.otto.put_json(f"{NOTICES}/{notice}", {"until": in_seconds(service, 60)})
    assert service.otto.get(f"{NOTICES}/{notice}").json["ends_at"] == int(service.clock.now()) + 60
    service.otto.put_json(f"{NOTICES}/{notice}", {"until": None})
    assert service.otto.get(f"{NOTICES}/{notice}").json["ends_at"] is None
    assert service.otto.delete(f"{NOTICES}/{notice}").json == {"status": "deleted"}
    assert shown(service) == []
    service.otto.get(f"{NOTICES}/{notice}", status=404)
    actions = {entry["action"] for entry in service.ada.get("/api/audit").json}
    assert actions >= {"notice.create", "notice.update", "notice.delete"}


def test_markup_is_text(service, put):
    put(title="<b>bold</b>", text="<script>alert(1)</script>\nnext & last")
    page = service.anonymous.get("/status")
    assert "<script>alert" not in page.text
    assert page.html.select_one("#notices .said").text == "<script>alert(1)</script>\nnext & last"


@pytest.mark.parametrize("wrong", [
    {"title": ""}, {"title": 5}, {"severity": "bad"}, {"until": "tomorrow"}, {"until": "2001-01-01T00:00:00"},
    {"text": "x" * 5001}, {"more": 1},
])  # fmt: skip
def test_bad_input_is_named_and_changes_nothing(service, put, wrong):
    answer = service.otto.post_json(NOTICES, PHONES | wrong, status=422).json
    assert answer["fields"].keys() == wrong.keys()
    notice = put()
    service.otto.put_json(f"{NOTICES}/{notice}", wrong, status=422)
    assert service.otto.get(f"{NOTICES}/{notice}").json["title"] == PHONES["title"]


def test_viewers_read_and_change_nothing_and_strangers_see_what_is_open(service, put):
    notice = put()
    assert service.vera.get(f"{NOTICES}/{notice}").json["title"] == PHONES["title"]
    service.vera.post_json(NOTICES, PHONES, status=403)
    service.vera.put_json(f"{NOTICES}/{notice}", {"title": "x"}, status=403)
    service.vera.post_json(f"{NOTICES}/{notice}/end", {}, status=403)
    service.vera.delete(f"{NOTICES}/{notice}", status=403)
    service.anonymous.get(NOTICES, status=401)


def test_so_many_may_be_open_and_so_many_are_remembered(service, put):
    ids = [put(title=f"number {number}") for number in range(MOST_OPEN)]
    refused = service.otto.post_json(NOTICES, PHONES, status=409).json
    assert (refused["code"], str(MOST_OPEN) in refused["error"]) == ("too_many_notices", True)
    service.otto.post_json(f"{NOTICES}/{ids[0]}/end", {})
    put(title="there is room again")
    listed = service.vera.get(f"{NOTICES}?status=open&limit=10&offset=45")
    assert (len(listed.json), listed.headers["X-Total-Count"]) == (5, str(MOST_OPEN))
    assert [notice["id"] for notice in service.vera.get(f"{NOTICES}?status=ended").json] == [ids[0]]


def test_of_those_that_are_over_the_oldest_go(service, put, monkeypatch):
    monkeypatch.setattr("opsapp.monitoring.notices.MOST_ENDED", 2)
    ids = []
    for _ in range(4):
        ids.append(put())
        service.otto.post_json(f"{NOTICES}/{ids[-1]}/end", {})
        service.clock.advance(1)
    put()
    assert [notice["id"] for notice in service.vera.get(f"{NOTICES}?status=ended").json] == ids[:1:-1]
    assert MOST_ENDED == 500


def test_an_operator_puts_and_ends_one_on_the_page_of_incidents(service, browser):
    otto = browser("otto")
    form = form_of(otto.get("/incidents"), "notice")
    form["title"], form["text"] = "The phones move", "On Sunday.\r\nCall us by mobile."
    form["severity"] = "critical"
    page = form.submit().follow()
    assert service.anonymous.get(STATUS).json["notices"][0]["text"] == "On Sunday.\nCall us by mobile."
    listed = page.html.select_one("#notices")
    assert "The phones move" in listed.text
    form_of(page, "notices.end").submit()
    assert shown(service) == []
    assert form_of(browser("vera").get("/incidents"), "notice") is None
