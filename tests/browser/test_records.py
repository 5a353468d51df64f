"""What people take away with them, and what they take back: each from the overview, with its clicks counted."""

import base64

import pytest
from selenium.webdriver.common.by import By

from tests.support.browser import text
from tests.support.clicks import Clicks, fits, narrow
from tests.support.pages import look, sign_in
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [390, 1440])
def test_a_deletion_is_taken_back_with_one_click(page, house, width):
    monitor_id = house.admin.post("/api/monitoring/endpoints", {"name": "taken back", "type": "push"})["id"]
    narrow(page, width)
    sign_in(page, house, "ada")
    page.get(f"{house.url}/monitors/{monitor_id}")
    clicks = Clicks(page)
    clicks("#delete form button")
    assert "Monitor taken back deleted." in text(page, ".deleted")
    assert fits(page, width)
    clicks(".deleted button")
    assert text(page, "h1").startswith("taken back")
    assert page.find_elements(By.CSS_SELECTOR, ".deleted") == []
    assert house.admin.get(f"/api/monitoring/endpoints/{monitor_id}")["name"] == "taken back"
    assert clicks.count == 2


def kept_in(page, directory):
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(directory)})


def download(clicks, selector, directory):
    """What a click puts there, once something stands in it; it leads to no other page."""
    clicks.on(selector)
    return until(lambda: next((file for file in directory.glob("*.csv") if file.stat().st_size), None), 20, what="it")


@pytest.mark.parametrize("width", [390, 1440])
def test_the_last_month_of_one_team_as_a_file(page, house, tmp_path, width):
    narrow(page, width)
    sign_in(page, house, "vera")
    kept_in(page, tmp_path)
    clicks = Clicks(page)
    clicks("a[href='/monitors']:not(.opt)" if width > 720 else ".tabs a[href='/monitors']")
    clicks(".head a[href='/monitors/report']")
    page.find_element(By.ID, "r-tag").send_keys("web")
    clicks("main form.filters button")
    assert fits(page, width)
    file = download(clicks, ".head a[href*='report.csv']", tmp_path)
    assert file.name.startswith("uptime-")
    assert file.read_text().startswith("name,monitor_id,monitors,uptime_percent")
    assert clicks.count == 4


@pytest.mark.parametrize("width", [390, 1440])
def test_incidents_and_ledger_of_a_month_as_files(page, house, tmp_path, width):
    narrow(page, width)
    sign_in(page, house, "vera")
    kept_in(page, tmp_path)
    for place, name in (("/incidents", "incidents"), ("/healing/ledger", "ledger")):
        page.get(house.url)
        clicks = Clicks(page)
        if width < 720 and name == "ledger":
            page.get(f"{house.url}{place}")
        elif name == "ledger":
            clicks(".side a[href='/healing']")
            clicks(f".rooms a[href='{place}']")
        else:
            clicks(f"{'.tabs' if width < 720 else '.side'} a[href='{place}']")
        assert fits(page, width)
        file = download(clicks, "#file button[value=csv]", tmp_path)
        assert file.name.startswith(f"{name}-20")
        assert file.read_text().startswith("id,")
        file.unlink()
        assert clicks.count <= 3


def test_a_printed_report_is_its_table_and_nothing_to_press(page, house):
    sign_in(page, house, "vera")
    page.get(f"{house.url}/monitors/report?days=30")
    look(page, "print")
    shown = "return [...document.querySelectorAll(arguments[0])].filter((each) => each.checkVisibility()).length"
    assert page.execute_script(shown, "#report table tbody tr, #report tfoot tr") >= 2
    assert page.execute_script(shown, "h1") == 1
    assert page.execute_script(shown, "button, input, select, form, nav, .btn") == 0
    paper = page.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert base64.b64decode(paper).startswith(b"%PDF-")
    assert page.execute_script("return document.querySelector('#report table').scrollWidth") <= 1440
