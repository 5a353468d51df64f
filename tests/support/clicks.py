"""Somebody with a mouse or a thumb, whose clicks are counted: what a task of a day costs, typing aside."""

from selenium.webdriver.common.by import By

from .browser import click, press


class Clicks:
    """Who presses, and how often."""

    def __init__(self, browser):
        self.browser, self.count = browser, 0
        self.more = 0  # presses on *More*, behind which a phone has most of the menu

    def find(self, selector):
        """Where it can be pressed: on a phone the tabs lie over the foot."""
        element = self.browser.find_element(By.CSS_SELECTOR, selector)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        return element

    def __call__(self, selector):
        """What leads to another page."""
        self.count += 1
        self.find(selector)
        press(self.browser, selector)

    def menu(self, place):
        """To this place of the menu: at the left on a desk, under the thumb on a phone."""
        link = f"a[href='{place}']"
        if self.find(f".side {link}").is_displayed():
            return self(f".side {link}")
        if not self.browser.find_element(By.CSS_SELECTOR, f".tabs {link}").is_displayed():
            self.on(".tabs summary")
            self.more += 1
        return self(f".tabs {link}")

    def on(self, selector):
        """What stays on its page: a tick, a choice, a summary."""
        self.count += 1
        self.find(selector)
        click(self.browser, selector)


def narrow(page, width):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def fits(page, width):
    return page.execute_script("return document.documentElement.scrollWidth") <= width
