"""Debian's Chromium without a window, and waiting for the page that a click leads to."""

import shutil
from typing import NamedTuple

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
    # What pulses without end is drawn sixty times a second. What moves, and for whom, has tests that ask for it.
    "--force-prefers-reduced-motion",
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


def shown_at_last(browser, shows, what):
    """Load a page again until it shows that. A status page is dear to make, and made for a part of the time at most."""
    until(lambda: shows() or browser.refresh(), 20, what=what)


def press(browser, selector):
    """Click what leads to another page, and wait for that page: the driver may return before the browser has left."""
    before = browser.find_element(By.TAG_NAME, "html")
    click(browser, selector)
    arrived(browser, before)


def click(browser, selector):
    """Click what stays on its page, however much the page moves and whatever it puts in another's place meanwhile."""
    until(lambda: clicked(browser, selector), 10, what=f"a click on {selector}")


def type_into(browser, selector, *typed):
    """Keys to what may be put in another's place between the look for it and the keys."""
    until(lambda: _typed(browser, selector, typed), 10, what=f"keys to {selector}")


def _typed(browser, selector, typed):
    try:
        browser.find_element(By.CSS_SELECTOR, selector).send_keys(*typed)
    except StaleElementReferenceException:
        return False
    return True


def keys(browser, *typed):
    """Keys to whatever has the focus when they come."""
    webdriver.ActionChains(browser, duration=0).send_keys(*typed).perform()


class Focus(NamedTuple):
    """What has the focus: what is written on it, where it leads, which it is, and how the focus is seen."""

    text: str
    href: str
    id: str
    name: str  # what `data-name` says
    seen: str


def focus(browser):
    """In one step of the browser, as with `text`."""
    script = """const at = document.activeElement, style = getComputedStyle(at);
        return [at.innerText?.trim() ?? "", at.href ?? "", at.id, at.dataset.name ?? "",
          style.outlineStyle + style.outlineWidth + style.boxShadow]"""
    return Focus(*browser.execute_script(script))


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
