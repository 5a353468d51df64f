"""Signing in with a real browser, and pages that follow what is committed."""

import os
import signal
from collections import Counter

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browser import click, focus, press, text, type_into
from tests.support.process import PASSWORD, Serve
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """A service with one monitor; it is killed and stands still. What else is down is taken away by who brought it."""
    config = {"web": {"login": {"attempts_per_ip": 100}}}
    with Serve(tmp_path_factory.mktemp("overview"), config) as serve:
        body = {"name": "<b>Shop</b>", "type": "tcp", "url": f"tcp://127.0.0.1:{serve.port}", "interval": 5}
        serve.admin.post("/api/monitoring/endpoints", body)
        yield serve


def sign_in(browser, serve, password=PASSWORD, place="/"):
    browser.get(f"{serve.url}{place}")
    browser.find_element(By.NAME, "username").send_keys("admin")
    browser.find_element(By.NAME, "password").send_keys(password)
    press(browser, "main button")


def shown(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].some(part => part.checkVisibility())"
    return browser.execute_script(script, selector)


def follows(browser):
    until(lambda: shown(browser, "#live"), 10, what="the stream being open")


def is_quiet(serve):
    """Nothing is down, and the one monitor that is checked is up: a server that stood still has missed checks."""
    monitors = serve.admin.get("/api/overview")["monitors"]
    return monitors["up"] == 1 and not monitors["down"]


def add_gone(serve):
    body = {"name": "Gone", "type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}
    return serve.admin.post("/api/monitoring/endpoints", body)["id"]


def test_the_header_and_a_list_follow_what_is_committed(browser, serve):
    sign_in(browser, serve, place="/monitors?q=")
    follows(browser)
    assert "<b>Shop</b>" in text(browser, "main table")
    assert [cookie["name"] for cookie in browser.get_cookies() if not cookie["httpOnly"]] == ["opsapp_zone"]
    typed = browser.find_element(By.CSS_SELECTOR, "main form[method=get] input")
    typed.send_keys("half a wo")
    browser.execute_script("window.same = document.querySelector('main table tbody tr')")
    gone = add_gone(serve)
    until(lambda: "Gone" in text(browser, "main table"), 15, what="the new row")
    until(lambda: browser.title.startswith("(1) "), 15, what="the count in the title")
    assert "1" in text(browser, "#counts .bad")
    assert "icon-bad" in browser.find_element(By.CSS_SELECTOR, "link[rel=icon]").get_attribute("href")
    # A page that was asked for while it went down may have met the monitor down and no incident yet.
    until(lambda: text(browser, ".side [data-badge=incidents]") == "1", 15, what="the count in the menu")
    assert typed.get_attribute("value") == "half a wo"
    assert browser.switch_to.active_element == typed
    assert browser.execute_script("return window.same.isConnected")
    serve.admin.delete(f"/api/monitoring/endpoints/{gone}")
    until(lambda: "Gone" not in text(browser, "main table"), 15, what="the row being gone")
    until(lambda: not browser.title.startswith("("), 15, what="the title without a count")
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []


# What the page asks for (the parts of each question), what its stream tells it, and how often the stream is opened:
# each time it is opened anew everything is asked for.
LISTEN = """
[window.asked, window.told, window.opened] = [[], [], 0];
const ask = window.fetch, Stream = window.EventSource;
window.fetch = (place, how) => { window.asked.push(how?.headers?.["X-Part"] ?? ""); return ask(place, how); };
window.EventSource = class extends Stream {
  constructor(...given) {
    super(...given);
    window.opened += 1;
    for (const kind of ["monitor", "incident", "agent"]) this.addEventListener(kind, () => window.told.push(kind));
  }
};
"""


@pytest.fixture
def heard(browser):
    """`heard()`: how often each part was asked for since the page was loaded, and how often each event was told."""
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": LISTEN})

    def look():
        asked, told, opened = browser.execute_script("return [window.asked, window.told, window.opened]")
        again = opened - 1
        parts = Counter(part for parts in asked for part in parts.split())
        return Counter({part: count - again for part, count in parts.items() if count > again}), Counter(told)

    yield look
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)


def test_nothing_is_asked_for_while_nothing_changes_and_once_for_many_changes(browser, serve, heard):
    until(lambda: is_quiet(serve), 20, what="the first check")
    sign_in(browser, serve, place="/monitors")
    follows(browser)
    for n in range(5):
        serve.admin.post("/api/users", {"username": f"u{n}", "password": "a sound password", "role": "viewer"})
    serve.admin.post("/api/agents", {"label": "of no concern"})
    until(lambda: heard()[1]["agent"], 15, what="the last of what is not on this page")
    asked, told = heard()
    assert max(asked.values(), default=0) <= told["monitor"] + told["incident"], "what came while the page was made"
    made = [{"name": f"many {n}", "type": "push", "interval": 3600} for n in range(20)]
    serve.admin.post("/api/apply", {"document": {"monitors": made}})
    until(lambda: "many 19" in text(browser, "main table"), 15, what="the last of the rows")
    until(lambda: heard()[1]["monitor"] >= told["monitor"] + 20, 15, what="the last of the changes")
    more = heard()[0] - asked
    assert max(more.values()) <= 2, "at once, and for what came while the answer was on its way"


def test_a_lost_connection_is_said_and_made_again(browser, serve):
    sign_in(browser, serve)
    follows(browser)
    serve.kill()
    until(lambda: shown(browser, "#lost"), 15, what="the bar at the top")
    assert "Connection lost" in text(browser, "#lost")
    assert text(browser, "#lost button") == "Try now"
    serve.start()
    # The page tries by itself too, and may have been first: then the button is gone.
    browser.execute_script("document.querySelector('#lost button')?.click()")
    until(lambda: shown(browser, "#live") and not shown(browser, "#lost"), 20, what="the bar being gone")


def test_a_server_that_stands_still_is_said_and_so_is_that_it_goes_on(browser, serve):
    sign_in(browser, serve, place="/monitors")
    follows(browser)
    os.kill(serve.child.pid, signal.SIGSTOP)
    try:
        until(lambda: shown(browser, "#lost"), 15, what="the bar at the top")
        assert "Connection lost" in text(browser, "#lost")
    finally:
        os.kill(serve.child.pid, signal.SIGCONT)
    until(lambda: shown(browser, "#live") and not shown(browser, "#lost"), 20, what="the bar being gone")
    gone = add_gone(serve)
    until(lambda: "Gone" in text(browser, "main table"), 15, what="the new row")
    serve.admin.delete(f"/api/monitoring/endpoints/{gone}")


def test_a_list_is_gone_through_with_keys(browser, serve):
    sign_in(browser, serve, place="/monitors?q=shop")
    follows(browser)  # by then the script is there
    type_into(browser, "body", "j")
    assert focus(browser).text == "<b>Shop</b>"
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    until(lambda: "/monitors/" in browser.current_url, 10, what="the monitor")


def test_signing_out(browser, serve):
    sign_in(browser, serve)
    click(browser, ".menu.mine summary")
    press(browser, ".menu.mine form button")
    assert browser.current_url == f"{serve.url}/login"
    browser.get(f"{serve.url}/")
    assert "/login" in browser.current_url


def test_a_wrong_password_says_so(browser, serve):
    sign_in(browser, serve, "wrong")
    assert "wrong" in text(browser, "[role=alert]")
    assert browser.find_element(By.NAME, "username").get_attribute("value") == "admin"
