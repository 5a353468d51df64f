"""Subscribers of the status page are told of a notice once, and once more when it is over, however it ends."""

from datetime import datetime, timezone

import pytest

from opsapp.statuspages.engine import announcements
from opsapp.statuspages.resources import store_of
from tests.support.monitoring import DOWN
from tests.support.subscribers import ADA, Press

NOTICES = "/api/monitoring/notices"
PHONES = {"title": "The phones move", "text": "On Sunday.\nCall us by mobile.", "severity": "warning"}


@pytest.fixture
def press(service, mailbox):
    press = Press(service, mailbox)
    press.subscribed()
    del mailbox.mails[:]
    return press


def put(press, **more):
    return press.service.otto.post_json(NOTICES, PHONES | more, status=201).json["id"]


def after(press, seconds=20):
    """The steps that look for something new, and those that send it."""
    announcements.look_at_notices(press.node)
    press.after(seconds)


def test_a_notice_is_told_when_it_is_put_and_when_it_is_ended(press):
    notice = put(press)
    after(press)
    after(press)
    [mail] = press.mailbox.mails
    assert mail["Subject"] == "[Lindenhof] Notice: The phones move"
    text = mail.get_content().replace("\r\n", "\n")
    assert "Warning: The phones move\nOn Sunday.\nCall us by mobile.\n" in text
    assert "https://status.example/status" in text
    press.service.otto.put_json(f"{NOTICES}/{notice}", {"text": "On Monday."})
    after(press)
    press.service.otto.post_json(f"{NOTICES}/{notice}/end", {})
    after(press)
    after(press)
    assert press.subjects[1:] == ["[Lindenhof] Notice is over: The phones move"]
    assert "On Sunday" not in press.mailbox.mails[1].get_content()


def test_one_that_ends_by_its_time_is_told_of_then(press):
    until = datetime.fromtimestamp(press.clock.now() + 3600, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    put(press, until=until)
    after(press)
    after(press, 3600)
    assert len(press.mailbox.mails) == 1
    after(press)
    assert press.subjects[1:] == ["[Lindenhof] Notice is over: The phones move"]


def test_one_that_is_taken_away_is_over(press):
    notice = put(press)
    after(press)
    press.service.otto.delete(f"{NOTICES}/{notice}")
    after(press)
    assert press.subjects[1:] == ["[Lindenhof] Notice is over: The phones move"]


def test_one_that_nobody_was_told_of_is_not_told_to_be_over(press):
    """It was put and ended within one look."""
    notice = put(press)
    press.service.otto.post_json(f"{NOTICES}/{notice}/end", {})
    after(press)
    assert press.mailbox.mails == []


def test_who_chose_groups_is_told_too_and_who_subscribes_later_is_not(press):
    press.set(groups=[{"name": "Trade", "monitors": [press.shop]}])
    group = press.service.ada.get("/api/status/settings").json["groups"][0]["id"]
    press.subscribed("trade@example.org", groups=[group])
    put(press)
    after(press)
    press.subscribed("late@example.org")
    after(press)
    told = [mail["To"] for mail in press.mailbox.mails if "Notice" in mail["Subject"]]
    assert sorted(told) == [ADA, "trade@example.org"]


def test_it_is_told_once_when_a_look_is_repeated_after_a_crash(press):
    put(press)
    announcements.look_at_notices(press.node)
    announcements.look_at_notices(press.node)
    press.see(DOWN)
    after(press)
    [mail] = press.mailbox.mails
    assert mail.get_content().count("Warning: The phones move") == 1
    assert "Shop is down" in mail.get_content()


def test_a_notice_of_another_page_is_not_told(press):
    press.service.ada.post_json("/api/status/pages", {"slug": "acme", "name": "Acme"}, status=201)
    press.service.tokens.clear()
    notice = put(press, pages=["acme"])
    after(press)
    press.service.tokens.clear()
    press.service.otto.post_json(f"{NOTICES}/{notice}/end", {})
    after(press)
    assert press.subjects == []


def test_an_incident_by_hand_is_told_to_subscribers_of_its_page(press):
    incident = press.service.otto.post_json("/api/monitoring/incidents", {"name": "No phones", "target": "pbx.internal",
                                                                        "pages": ["public"]}).json["id"]  # fmt: skip
    press.service.otto.post_json("/api/monitoring/incidents", {"name": "Nobody's business"})
    after(press)
    press.service.tokens.clear()
    said = {"stage": "identified", "message": "The line is cut."}
    press.service.otto.post_json(f"/api/monitoring/incidents/{incident}/updates", said, status=201)
    after(press)
    press.service.tokens.clear()
    press.service.otto.post_json(f"/api/monitoring/incidents/{incident}/resolve", {})
    after(press)
    assert press.subjects == ["[Lindenhof] No phones", "[Lindenhof] No phones: Identified",
                              "[Lindenhof] No phones is over"]  # fmt: skip
    assert f"https://status.example/status/incidents/{incident}" in press.mailbox.mails[0].get_content()
    assert not [mail for mail in press.mailbox.mails if "pbx" in str(mail)]


def test_a_notice_of_before_pages_is_told_over_on_the_page_of_all(press):
    put(press)
    after(press)
    press.service.transact(lambda root: store_of(root).notices.update(
        {name: notice.title for name, notice in store_of(root).told_notices().items()}))  # fmt: skip
    press.service.tokens.clear()
    [notice] = press.service.otto.get(NOTICES).json
    press.service.otto.post_json(f"{NOTICES}/{notice['id']}/end", {})
    after(press)
    assert press.subjects[-1] == "[Lindenhof] Notice is over: The phones move"
