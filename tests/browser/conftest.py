"""What the suite shares, because it takes seconds to start: a browser, and a service with one user of each role.

Tests of one service use names of their own. A test that stops the service, or begins with an empty one, has its own:
a fixture of its module named `serve`, which a test asks for before `page`, so that the page is left before its service.
"""

import pytest

from tests.support.browser import chromium
from tests.support.pages import add_users, fill, fresh
from tests.support.process import Serve
from tests.support.sound import complaints

CONFIG = {
    "web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}},
    "status_page": {"gather_s": 0.2, "webhook_allow_networks": ["127.0.0.0/8"]},
    "agents": {"report_interval_s": 1},
}


@pytest.fixture(scope="session")
def driver(tmp_path_factory):
    driver = chromium(tmp_path_factory.mktemp("browser") / "profile")
    yield driver
    driver.quit()


@pytest.fixture
def browser(driver):
    """The shared browser as if it were new, at 1440 px: where the service of a page may be killed or stand still."""
    fresh(driver)
    yield driver
    driver.get("about:blank")


@pytest.fixture
def page(browser):
    """The same. Afterwards nothing may stand in its console."""
    yield browser
    assert complaints(browser) == []


@pytest.fixture(scope="session")
def drivers(tmp_path_factory):
    """Browsers of other people, each started when it is first needed."""
    drivers = []

    def numbered(number):
        while len(drivers) <= number:
            drivers.append(chromium(tmp_path_factory.mktemp("other") / "profile"))
        return drivers[number]

    yield numbered
    for driver in drivers:
        driver.quit()


@pytest.fixture
def others(drivers):
    """`others(2)`: two people more, each with a browser as if it were new."""
    used = []

    def seated(number):
        used.extend(drivers(at) for at in range(number))
        for driver in used:
            fresh(driver)
        return used

    yield seated
    said = [line for driver in used for line in complaints(driver)]
    for driver in used:
        driver.get("about:blank")
    assert said == []


@pytest.fixture(scope="session")
def house(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("house"), CONFIG) as serve:
        add_users(serve)
        serve.ids = fill(serve, "<i>Gone</i>" + "x" * 180)
        yield serve
