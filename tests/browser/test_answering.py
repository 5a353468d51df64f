"""Somebody with a message on the phone, and not signed in: opens its link, reads what is asked, and decides."""

import pytest
from selenium.webdriver.common.by import By

from tests.support.browser import press, text, texts
from tests.support.pages import add_users, size
from tests.support.process import Serve
from tests.support.receiver import Receiver
from tests.support.sound import sound
from tests.support.waiting import until

pytestmark = pytest.mark.browser
BASE = "http://ops.example.org"
CONFIG = {"web": {"base_url": BASE}, "notifications": {"group_wait_s": 0}}
ASKS = {"type": "script", "params": {"script": "true"}, "requires_approval": True}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("desk"), CONFIG) as serve, Receiver() as receiver:
        add_users(serve)
        channel = {"name": "Otto's phone", "url": receiver.url(), "answers_as": "otto"}
        serve.admin.post("/api/notifications/channels", channel)
        yield serve, receiver


def asked(desk, name):
    """The links of a request, and its id."""
    serve, receiver = desk
    automation = serve.admin.post("/api/automations", ASKS | {"name": name})["id"]
    request_id = serve.admin.post(f"/api/automations/{automation}/run")["request_id"]
    sent = until(
        lambda: next((sent for sent in receiver.messages if sent["ids"]["approval"] == request_id), None), 20, what=name
    )
    return {act: link.replace(BASE, serve.url) for act, link in sent["links"].items()}, request_id


@pytest.mark.parametrize("script", [True, False])
def test_by_a_phone_without_signing_in(page, desk, script):
    serve, _ = desk
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    size(page, 390, 844)
    links, request_id = asked(desk, f"Rebuild the search index {script}")
    page.get(links["approve"])
    assert f"Rebuild the search index {script}" in text(page, "h1")
    assert texts(page, "main button") == ["Approve"]
    assert text(page, "main pre") == "true"
    assert "You answer as otto." in text(page, "main")
    if script:
        sound(page)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 390
    assert serve.admin.get(f"/api/approvals/{request_id}")["status"] == "pending"
    press(page, "main button")
    assert text(page, "h1") == "Approved"
    assert serve.admin.get(f"/api/approvals/{request_id}")["decided_by"] == "otto"
    page.get(links["page"])
    assert page.find_elements(By.NAME, "password"), "the link has signed nobody in"
    assert page.get_cookie("opsapp_session") is None


def test_a_link_that_is_spent_says_who_decided(page, desk):
    links, request_id = asked(desk, "Empty the cache")
    desk[0].admin.post(f"/api/approvals/{request_id}/reject", {})
    size(page, 390, 844)
    page.get(links["approve"])
    assert "already rejected by admin" in text(page, "main")
    assert page.find_elements(By.CSS_SELECTOR, "main button") == []
    sound(page, 410)
