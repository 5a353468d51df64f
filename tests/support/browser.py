"""Debian's Chromium without a window, and waiting for the page that a click leads to."""

import shutil

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.common.by import By

from tests.support.waiting import until

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def chromium(profile):
    """A browser with an empty profile. Both programs are named, or selenium would look for them on the network."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def press(browser, selector):
    """Click what leads to another page, and wait for that page: the driver may return before the browser has left."""
    before = browser.find_element(By.TAG_NAME, "html")
    browser.find_element(By.CSS_SELECTOR, selector).click()
    until(lambda: is_gone(before), 15, what="the next page")
    until(lambda: browser.execute_script("return document.readyState") == "complete", 15, what="the whole page")


def is_gone(element):
    try:
        element.is_enabled()
    except (StaleElementReferenceException, NoSuchElementException):
        return True
    except WebDriverException as wrong:
        return "does not belong to the document" in str(wrong)
    return False
