"""Somebody and something new comes in: with the clicks counted, at both widths, and what is to be copied copied."""

import pyotp
import pytest
from selenium.webdriver.common.by import By

from tests.browser.conftest import CONFIG
from tests.support.browser import click, press, text
from tests.support.clicks import Clicks, fits, narrow
from tests.support.pages import PASSWORD, add_users, fill_in, sign_in
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = pytest.mark.browser
WIDTHS = pytest.mark.parametrize("width", [390, 1440])


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A service where operators need a second factor."""
    web = {"login": {**CONFIG["web"]["login"], "second_factor": ["operator"]}}
    with Serve(tmp_path_factory.mktemp("strict"), CONFIG | {"web": web}) as serve:
        add_users(serve)
        yield serve


def copy(clicks, page):
    """What the first *Copy* puts into the clipboard."""
    page.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    clicks.count += 1
    click(page, "[data-copy]")
    until(lambda: text(page, "[data-copy]") == "Copied", 10, what="it is copied")
    return page.execute_async_script("navigator.clipboard.readText().then(arguments[0])")


@WIDTHS
def test_a_host_is_added_and_its_command_copied(page, house, width):
    narrow(page, width)
    sign_in(page, house, "ada")
    clicks = Clicks(page)
    if width == 390:
        click(page, ".tabs summary")
        clicks.count += 1
    clicks(".tabs a[href='/agents']" if width == 390 else ".side a[href='/agents']")
    clicks(".head a[href='/agents/add']")
    fill_in(page, "main", label=f"copied {width}")
    clicks("main form.act button.first")
    command = copy(clicks, page)
    assert command.startswith("printf 'X-Agent-Key: ")
    assert command.endswith(f"' | curl -fsS -H @- {house.url}/api/agents/install-script | sh")
    assert fits(page, width)
    assert clicks.count == (5 if width == 390 else 4)


@WIDTHS
def test_somebody_is_invited_chooses_a_password_and_sets_up_the_factor_of_the_role(page, strict, width):
    name = f"grace{width}"
    narrow(page, width)
    sign_in(page, strict, "ada")
    page.get(f"{strict.url}/users")
    clicks = Clicks(page)
    fill_in(page, "#invite", username=name)
    page.find_element(By.CSS_SELECTOR, "#invite [name=role] [value=operator]").click()
    clicks("#invite form button.first")
    link = copy(clicks, page)
    assert fits(page, width)
    assert clicks.count == 2
    page.delete_all_cookies()
    page.get(link)
    assert fits(page, width)
    clicks = Clicks(page)
    fill_in(page, "main", password=PASSWORD)
    clicks("main button.first")
    assert page.current_url == f"{strict.url}/second-factor"
    page.get(f"{strict.url}/monitors")
    assert page.current_url == f"{strict.url}/second-factor", "nothing else until it is on"
    clicks("main button.first")
    assert fits(page, width)
    fill_in(page, "#turn-on", code=pyotp.TOTP(text(page, ".copied code")).now())
    clicks("#turn-on button.first")
    assert text(page, "h1") == "The second factor is on"
    clicks("main a.first")
    assert page.current_url == f"{strict.url}/"
    assert clicks.count == 4
    shown = strict.admin.get(f"/api/users/{name}")
    assert (shown["role"], shown["totp_enabled"]) == ("operator", True)


def test_without_script_what_is_to_be_copied_can_be_selected(page, house):
    sign_in(page, house, "ada")
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.get(f"{house.url}/agents/add")
        fill_in_plain(page, "label", "by hand")
        press(page, "main form.act button.first")
        assert text(page, ".copied code").startswith("printf 'X-Agent-Key: ")
        assert not page.find_element(By.CSS_SELECTOR, "[data-copy]").is_displayed()
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def fill_in_plain(page, name, value):
    page.find_element(By.CSS_SELECTOR, f"main [name={name}]").send_keys(value)
