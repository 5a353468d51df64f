"""A visitor subscribes to the status page by mail and by webhook, is told, and leaves: by the page's own forms."""

import re

import pytest
from selenium.webdriver.common.by import By

from tests.support.browser import press, text
from tests.support.mailbox import Mailbox
from tests.support.pages import fill_in
from tests.support.receiver import Receiver
from tests.support.waiting import until

pytestmark = pytest.mark.browser
GONE = {"type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0, "tags": ["public"]}


@pytest.fixture
def mailbox(house):
    mailbox = Mailbox()
    house.admin.put("/api/status/settings", {
        "name": "Lindenhof", "public_url": house.url, "subscribe_by": ["mail", "webhook"],
        "mail_from": "status@lindenhof.example", "mail_server": f"smtp://127.0.0.1:{mailbox.port}",
    })  # fmt: skip
    yield mailbox
    house.admin.put("/api/status/settings", {"subscribe_by": []})
    mailbox.close()


@pytest.fixture
def receiver():
    receiver = Receiver()
    receiver.answer = lambda message: message.get("challenge", "").encode()
    yield receiver
    receiver.close()


def to(mailbox, address):
    return [mail for mail in list(mailbox.mails) if mail["To"] == address]


def link(mail, purpose):
    return re.search(rf"http://\S+/status/{purpose}/\w+", mail.get_content())[0]


def telling_of(receiver, words):
    return [message for message in list(receiver.messages) if words in repr(message)]


def shown(page):
    return text(page, ".verdict")


def add_gone(house, name):
    return house.admin.post("/api/monitoring/endpoints", GONE | {"name": name})["id"]


@pytest.mark.parametrize("script", [True, False])
def test_by_mail(page, house, mailbox, script):
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not script})
    address, name = f"visitor-{script}@example.org", f"Told by mail {script}"
    page.get(f"{house.url}/status")
    fill_in(page, "form[action='/status/subscribe']", address=address) if script else page.find_element(
        By.NAME, "address"
    ).send_keys(address)
    press(page, "form[action='/status/subscribe'] button")
    assert "inbox" in shown(page)
    mail = until(lambda: to(mailbox, address), 15, what="the mail to confirm")[0]
    page.get(link(mail, "confirm"))
    assert "Confirm" in shown(page)
    press(page, "main form button")
    assert "You are subscribed" in shown(page)
    page.refresh()  # the button's answer, sent once more
    monitor_id = add_gone(house, name)
    told = until(lambda: [mail for mail in to(mailbox, address) if name in mail["Subject"]], 30, what="the news")[0]
    page.get(re.search(r"http://\S+/status/incidents/\w+", told.get_content())[0])
    assert name in text(page, "h1")
    page.get(link(told, "unsubscribe"))
    press(page, "main form button")
    assert "not on the list" in shown(page)
    page.get(link(mail, "confirm"))
    assert "not valid any more" in shown(page)
    assert page.get_cookies() == []
    house.admin.delete(f"/api/monitoring/endpoints/{monitor_id}")
    page.get_log("browser")  # links that are used are a 404


def test_by_webhook(page, house, mailbox, receiver):
    page.get(f"{house.url}/status")
    page.find_element(By.CSS_SELECTOR, "input[name=kind][value=webhook]").click()
    fill_in(page, "form[action='/status/subscribe']", address=receiver.url("hook").replace("json://", "http://"))
    press(page, "form[action='/status/subscribe'] button")
    assert "inbox" not in shown(page)
    assert "challenge" in shown(page)
    until(lambda: house.admin.get("/api/status/subscriptions/counts")["confirmed"]["webhook"] == 1, 15, what="it is")
    monitor_id = add_gone(house, "Told by webhook")
    news = until(lambda: telling_of(receiver, "Told by webhook"), 30, what="the news")[0]
    page.get(news["unsubscribe_url"])
    press(page, "main form button")
    assert "not on the list" in shown(page)
    house.admin.delete(f"/api/monitoring/endpoints/{monitor_id}")


def test_what_is_no_address_is_said_and_the_page_of_the_form_can_be_opened_again(page, house, mailbox):
    page.get(f"{house.url}/status")
    page.find_element(By.CSS_SELECTOR, "input[name=kind][value=webhook]").click()
    fill_in(page, "form[action='/status/subscribe']", address="not an address")
    press(page, "form[action='/status/subscribe'] button")
    page.get_log("browser")  # a 422
    assert page.find_element(By.NAME, "address").get_attribute("value") == "not an address"
    assert page.find_element(By.CSS_SELECTOR, "input[value=webhook]").is_selected()
    page.get(page.current_url)
    assert page.find_element(By.NAME, "address").get_attribute("value") == ""
