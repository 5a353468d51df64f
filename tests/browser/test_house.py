"""The main tasks of the house in a real browser: first steps, a channel with its test, a window, a key, sign in with
a code. Nothing is written to the console."""

import pyotp
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from tests.support.browser import chromium, text
from tests.support.browser import press as click
from tests.support.process import PASSWORD, Serve
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
OWN = "a password of my own"


@pytest.fixture
def serve(tmp_path):
    with Serve(tmp_path / "serve", {"web": {"login": {"attempts_per_ip": 100}}}) as serve:
        yield serve


@pytest.fixture
def browser(tmp_path, serve):
    """Gone before the service is: what it says then is no fault of a page."""
    driver = chromium(tmp_path / "profile")
    yield driver
    said = [line["message"] for line in driver.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
    driver.quit()
    assert said == []


def size(browser, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def fill(browser, **values):
    for name, value in values.items():
        for field in browser.find_elements(By.NAME, name.replace("__", ".")):
            if field.is_displayed():
                field.clear()
                field.send_keys(value)


def sign_in(browser, serve, password=PASSWORD):
    browser.get(f"{serve.url}/")
    fill(browser, username="admin", password=password)
    press(browser, "main button")


def press(browser, selector):
    """As a person does: scrolled to first, for on a phone the tabs lie over the foot of the window."""
    browser.execute_script(
        "arguments[0].scrollIntoView({block: 'center'})", browser.find_element(By.CSS_SELECTOR, selector)
    )
    click(browser, selector)


@pytest.mark.parametrize("width", [390, 1440])
def test_a_new_admin_takes_the_first_steps(browser, serve, receiver, width):
    size(browser, width)
    sign_in(browser, serve)
    assert text(browser, "h1") == "First steps"
    assert "5 steps are left" in text(browser, "main")
    fill(browser, current=PASSWORD, new=OWN)
    press(browser, "#steps form button")
    assert "4 steps are left" in text(browser, "main")
    press(browser, "#steps .btn.first")
    press(browser, 'a[href="/notifications/new?type=webhook"].btn')
    fill(browser, name="team", address__address=receiver.url().replace("json", "http"))
    press(browser, "#editor .btn.first")
    assert text(browser, "h1") == "team"
    press(browser, ".head .btn.first")
    assert "The test message was accepted" in text(browser, "main")
    assert receiver.messages[0]["title"] == "Test message from opsapp"
    press(browser, ".thread a")
    assert "3 steps are left" in text(browser, "main")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    press(browser, ".head button")
    assert browser.current_url == f"{serve.url}/"


@pytest.mark.nightly("the core list has the first steps of an admin")
@pytest.mark.parametrize(
    ("role", "steps", "acts"),
    [
        ("viewer", ["A password of your own"], []),
        ("operator", ["A password of your own", "Something that is watched", "A status page for others"],
         ["Add a monitor", "All first steps"]),
    ],
)  # fmt: skip
def test_first_steps_are_what_a_role_may_do(browser, serve, role, steps, acts):
    serve.admin.post("/api/users", {"username": "new", "password": PASSWORD, "role": role})
    size(browser, 390)
    browser.get(f"{serve.url}/")
    fill(browser, username="new", password=PASSWORD)
    press(browser, "main button")
    assert [step.text for step in browser.find_elements(By.CSS_SELECTOR, "#steps h2")] == steps
    fill(browser, current=PASSWORD, new=OWN)
    press(browser, "#steps form button")
    left = len(steps) - 1
    assert (f"{left} steps are left" if left else "All is done") in text(browser, "main")
    press(browser, ".head .btn")
    assert text(browser, "h1") == "Nothing is watched yet."
    offered = [button.text for button in browser.find_elements(By.CSS_SELECTOR, "#standing .empty .btn")]
    assert offered[: len(acts)] == acts


def test_a_window_is_planned_and_a_key_is_made_and_ended(browser, serve):
    size(browser, 1440)
    sign_in(browser, serve)
    browser.get(f"{serve.url}/maintenance/new")
    fill(browser, name="patch night", recurring="0 3 * * 0")
    assert text(browser, "#covered") == "Nothing is chosen yet.", "nobody has said that everything is meant"
    browser.find_element(By.NAME, "scope-whole").click()
    until(
        lambda: "It covers 0 monitors" in text(browser, "#covered"), 10, what="how much that is, before it is planned"
    )
    press(browser, '#editor button[value="preview"]')
    assert len(browser.find_elements(By.CSS_SELECTOR, "#next li")) == 5
    press(browser, '#editor button[value="create"]')
    browser.get(f"{serve.url}/maintenance")
    assert "patch night" in text(browser, "#planned")
    browser.get(f"{serve.url}/settings")
    browser.find_element(By.CSS_SELECTOR, "#keys details.ask-more summary").click()
    browser.find_element(By.CSS_SELECTOR, "#keys input[name=name]").send_keys("deploys")
    Select(browser.find_element(By.CSS_SELECTOR, "#keys select[name=role]")).select_by_value("viewer")
    press(browser, "#keys form.form button")
    assert "shown this once" in text(browser, "main")
    browser.get(f"{serve.url}/settings")
    assert "deploys" in text(browser, "#keys")
    browser.find_element(By.CSS_SELECTOR, "#keys li details.ask-more summary").click()  # says what will happen
    press(browser, "#keys li form button")
    assert "refused from now on" in text(browser, "main")


def test_signing_in_asks_for_a_code(browser, serve):
    secret = serve.admin.post("/api/me/totp")["secret"]
    code = pyotp.TOTP(secret)
    recovery = serve.admin.post("/api/me/totp/confirm", {"code": code.now()})["recovery_codes"]
    sign_in(browser, serve)
    assert text(browser, "h1") == "Second step"
    fill(browser, code=recovery[0])
    press(browser, "main button")
    browser.get(f"{serve.url}/settings")
    assert "It is on" in text(browser, "#factor")
