"""Signing in with a real browser, and the overview that follows what is committed."""

import pytest
from selenium.webdriver.common.by import By

from tests.support.browser import chromium, press
from tests.support.process import PASSWORD, Serve
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    config = {"web": {"login": {"attempts_per_ip": 100}}}
    with Serve(tmp_path_factory.mktemp("serve"), config) as serve:
        serve.admin.post(
            "/api/monitoring/endpoints",
            {"name": "<b>Shop</b>", "type": "tcp", "url": f"tcp://127.0.0.1:{serve.port}", "interval": 5, "timeout": 1},
        )
        yield serve


@pytest.fixture
def browser(tmp_path):
    driver = chromium(tmp_path / "profile")
    yield driver
    driver.quit()


def sign_in(browser, serve, password=PASSWORD):
    browser.get(f"{serve.url}/")
    assert browser.current_url == f"{serve.url}/login?next=/"
    browser.find_element(By.NAME, "username").send_keys("admin")
    browser.find_element(By.NAME, "password").send_keys(password)
    press(browser, "main button")


def text(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector).text


def complaints(browser):
    return [line for line in browser.get_log("browser") if "favicon" not in line["message"]]


def test_the_overview_follows_what_is_committed(browser, serve, tmp_path):
    sign_in(browser, serve)
    assert browser.current_url == f"{serve.url}/"
    assert text(browser, "h1") == "Overview"
    assert "<b>Shop</b>" in text(browser, "table[data-kind=monitor]")
    assert browser.execute_script("return document.cookie") == ""
    until(lambda: text(browser, "#following").startswith("Following"), 10, what="the stream being open")
    body = {"name": "Gone", "type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}
    serve.admin.post("/api/monitoring/endpoints", body)
    until(lambda: "incident" in text(browser, "#feed"), 15, what="the incident in the feed")
    assert complaints(browser) == []
    browser.refresh()
    row = "table[data-kind=incident] tr[data-id] [data-field=status]"
    assert text(browser, row) == "open"
    assert browser.save_screenshot(str(tmp_path / "overview.png"))


def test_the_stream_ends_when_the_session_does(browser, serve):
    sign_in(browser, serve)
    until(lambda: text(browser, "#following").startswith("Following"), 10, what="the stream being open")
    token = browser.get_cookie("opsapp_session")["value"]
    assert serve.client(token=token).post("/api/logout") == {"status": "ok"}
    until(lambda: "ended" in text(browser, "#following"), 10, what="the end of the stream")
    browser.refresh()
    assert browser.current_url.startswith(f"{serve.url}/login")


def test_signing_out(browser, serve):
    sign_in(browser, serve)
    press(browser, "form.who button")
    assert browser.current_url == f"{serve.url}/login"
    browser.get(f"{serve.url}/")
    assert "/login" in browser.current_url


def test_a_wrong_password_says_so(browser, serve, tmp_path):
    sign_in(browser, serve, "wrong")
    assert "wrong" in text(browser, "[role=alert]")
    assert browser.find_element(By.NAME, "username").get_attribute("value") == "admin"
    assert browser.save_screenshot(str(tmp_path / "login.png"))
