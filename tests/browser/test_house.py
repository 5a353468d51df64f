"""The main tasks of the house in a real browser: first steps, a channel with its test, a window, a key, sign in with
a code. Nothing is written to the console."""

import pyotp
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from tests.support.browser import click, text
from tests.support.browser import press as press_there
from tests.support.pages import PASSWORD as HERS
from tests.support.pages import sign_in as sign_in_as
from tests.support.process import PASSWORD, Serve
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
OWN = "a password of my own"


@pytest.fixture
def serve(tmp_path):
    with Serve(tmp_path / "serve", {"web": {"login": {"attempts_per_ip": 100}}}) as serve:
        yield serve


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
    press_there(browser, selector)


@pytest.mark.parametrize("width", [390, 1440])
def test_a_new_admin_takes_the_first_steps(serve, page, receiver, width):
    size(page, width)
    sign_in(page, serve)
    assert text(page, "h1") == "First steps"
    assert "5 steps are left" in text(page, "main")
    fill(page, current=PASSWORD, new=OWN)
    press(page, "#steps form button")
    assert "4 steps are left" in text(page, "main")
    press(page, "#steps .btn.first")
    press(page, 'a[href="/notifications/new?type=webhook"].btn')
    fill(page, name="team", address__address=receiver.url().replace("json", "http"))
    press(page, "#editor .btn.first")
    assert text(page, "h1") == "team"
    press(page, ".head .btn.first")
    assert "The test message was accepted" in text(page, "main")
    assert receiver.messages[0]["title"] == "Test message from opsapp"
    press(page, ".thread a")
    assert "3 steps are left" in text(page, "main")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    press(page, ".head button")
    assert page.current_url == f"{serve.url}/"


@pytest.mark.nightly("the core list has the first steps of an admin")
@pytest.mark.parametrize(
    ("role", "steps", "acts"),
    [
        ("viewer", ["A password of your own"], []),
        ("operator", ["A password of your own", "A monitor", "A status page for others"],
         ["Add a monitor", "All first steps"]),
    ],
)  # fmt: skip
def test_first_steps_are_what_a_role_may_do(serve, page, role, steps, acts):
    serve.admin.post("/api/users", {"username": "new", "password": PASSWORD, "role": role})
    size(page, 390)
    page.get(f"{serve.url}/")
    fill(page, username="new", password=PASSWORD)
    press(page, "main button")
    assert [step.text for step in page.find_elements(By.CSS_SELECTOR, "#steps h2")] == steps
    fill(page, current=PASSWORD, new=OWN)
    press(page, "#steps form button")
    left = len(steps) - 1
    assert (f"{left} steps are left" if left else "All is done") in text(page, "main")
    press(page, ".head .btn")
    assert text(page, "h1") == "Nothing is watched yet."
    offered = [button.text for button in page.find_elements(By.CSS_SELECTOR, "#standing .empty .btn")]
    assert offered[: len(acts)] == acts


def test_a_window_is_planned_and_a_key_is_made_and_ended(page, house):
    sign_in_as(page, house, "ada")
    page.get(f"{house.url}/maintenance/new")
    fill(page, name="patch night", recurring="0 3 * * 0")
    assert text(page, "#covered") == "Nothing is chosen yet.", "nobody has said that everything is meant"
    count = len(house.admin.get("/api/monitoring/endpoints?limit=1000"))
    click(page, "[name=scope-whole]")
    until(lambda: f"It covers {count} monitors" in text(page, "#covered"), 10, what="how much, before it is planned")
    press(page, '#editor button[value="preview"]')
    assert len(page.find_elements(By.CSS_SELECTOR, "#next li")) == 5
    press(page, '#editor button[value="create"]')
    page.get(f"{house.url}/maintenance")
    assert "patch night" in text(page, "#planned")
    page.get(f"{house.url}/settings")
    click(page, "#keys details.ask-more summary")
    page.find_element(By.CSS_SELECTOR, "#keys input[name=name]").send_keys("deploys")
    Select(page.find_element(By.CSS_SELECTOR, "#keys select[name=role]")).select_by_value("viewer")
    press(page, "#keys form.form button")
    assert "shown this once" in text(page, "main")
    page.get(f"{house.url}/settings")
    assert "deploys" in text(page, "#keys")
    click(page, "#keys li details.ask-more summary")  # says what will happen
    press(page, "#keys li form button")
    assert "refused from now on" in text(page, "main")
    [planned] = [each["id"] for each in house.admin.get("/api/maintenance") if each["name"] == "patch night"]
    house.admin.delete(f"/api/maintenance/{planned}")


def test_signing_in_asks_for_a_code(page, house):
    house.admin.post("/api/users", {"username": "recovers", "password": HERS, "role": "viewer"})
    hers = house.client().login("recovers", HERS)
    code = pyotp.TOTP(hers.post("/api/me/totp")["secret"])
    recovery = hers.post("/api/me/totp/confirm", {"code": code.now()})["recovery_codes"]
    sign_in_as(page, house, "recovers")
    assert text(page, "h1") == "Second step"
    fill(page, code=recovery[0])
    press(page, "main button")
    page.get(f"{house.url}/settings")
    assert "It is on" in text(page, "#factor")
