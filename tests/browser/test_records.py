"""What people take away with them, and what they take back: each from the overview, with its clicks counted."""

import pytest
from selenium.webdriver.common.by import By

from tests.support.browser import press, text
from tests.support.pages import sign_in

pytestmark = pytest.mark.browser


class Clicks:
    """Who presses, and how often."""

    def __init__(self, browser):
        self.browser, self.count = browser, 0

    def __call__(self, selector):
        self.count += 1
        found = self.browser.find_element(By.CSS_SELECTOR, selector)  # on a phone the tabs lie over the foot
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
        press(self.browser, selector)


def narrow(page, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def fits(page, width):
    return page.execute_script("return document.documentElement.scrollWidth") <= width


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
