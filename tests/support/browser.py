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
# The driver puts every question off until the page is there. Where it misses the moment it waits for as long as this:
# its own 300 s are those of a test, and nobody would hear which question it was.
PAGE_S = 90


def chromium(profile):
    """A browser with an empty profile. Both programs are named, or selenium would look for them on the network."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    browser.set_page_load_timeout(PAGE_S)
    return browser


def text(browser, selector):
    """What the first such element shows; nothing where there is none. In one step of the browser, as everything that
    is asked of a live page: between two of them the page may put another part in its place."""
    script = "const it = document.querySelector(arguments[0]); return it?.checkVisibility() ? it.innerText.trim() : ''"
    return browser.execute_script(script, selector)


def texts(browser, selector):
    """What each of them shows."""
    script = """return [...document.querySelectorAll(arguments[0])].filter((each) => each.checkVisibility())
        .map((each) => each.innerText.trim())"""
    return browser.execute_script(script, selector)


def press(browser, selector):
    """Click what leads to another page, and wait for that page: the driver may return before the browser has left."""
    before = browser.find_element(By.TAG_NAME, "html")
    until(lambda: clicked(browser, selector), 10, what=f"a click on {selector}")
    arrived(browser, before)


def clicked(browser, selector):
    """Whether what was found there was still there when it was clicked, and has heard of it: the driver clicks where it
    was when it looked, and a live page may move it meanwhile."""
    note = """window.heard = true;
        document.addEventListener("noted", () => { window.heard = false; });  // where scripts are off, nobody says so
        document.dispatchEvent(new Event("noted"));
        arguments[0].addEventListener("click", () => { window.heard = true; }, true);"""
    try:
        element = browser.find_element(By.CSS_SELECTOR, selector)
        browser.execute_script(note, element)
        element.click()
    except StaleElementReferenceException:
        return False
    try:
        return browser.execute_script("return window.heard !== false")
    except WebDriverException:  # the page that was asked has gone meanwhile
        return True


def arrived(browser, before):
    """Wait until another page has taken the place of the one whose root element is `before`, and is whole."""
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
