"""Why was this host slow at 03:00 last Tuesday: three clicks from the overview, and the crosshair that reads it."""

from datetime import datetime, timedelta, timezone

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from opsapp.runtime import serieswork
from tests.api.test_agents import Polling
from tests.support import process
from tests.support.app import Service
from tests.support.browser import press, text, type_into
from tests.support.clock import FakeClock
from tests.support.pages import PASSWORD, sign_in
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = pytest.mark.browser
CONFIG = {"web": {"login": {"attempts_per_ip": 100}}}


def last_tuesday():
    """At 03:00 in UTC."""
    now = datetime.now(timezone.utc)
    tuesday = now - timedelta(days=(now.weekday() - 1) % 7 or 7)
    return tuesday.replace(hour=3, minute=0, second=0, microsecond=0)


@pytest.fixture
def serve(tmp_path):
    """A service on which db-1 was busy for ten minutes from `busy` on."""
    (tmp_path / "data").mkdir()
    busy = last_tuesday()
    began = busy.timestamp() - 1800
    service = Service(tmp_path / "data", clock=FakeClock(began))
    service.ada.post_json("/api/users", {"username": "admin", "password": process.PASSWORD, "role": "admin"})
    service.ada.post_json("/api/users", {"username": "tess", "password": PASSWORD, "role": "viewer"})
    box = Polling(service, "db-1")
    for minute in range(60):
        box.report(cpu_percent=97 if 30 <= minute < 40 else 20, disks={"/": 41})
        service.clock.advance(60)
    serieswork.flush(service.node)
    service.close()
    with Serve(tmp_path, CONFIG, data=tmp_path / "data") as serve:
        serve.busy = busy
        yield serve


def fill_moment(page, name, wanted):
    script = "document.getElementById(arguments[0]).value = arguments[1]"
    page.execute_script(script, name, wanted.strftime("%Y-%m-%dT%H:%M"))


def test_why_this_host_was_slow_is_three_clicks_from_the_overview(serve, page):
    page.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "UTC"})
    sign_in(page, serve, "tess")
    page.get(f"{serve.url}/")
    press(page, ".side a[href='/agents']")
    press(page, "main tbody a[href^='/agents/']")
    fill_moment(page, "mo-from", serve.busy - timedelta(minutes=30))
    fill_moment(page, "mo-to", serve.busy + timedelta(minutes=30))
    press(page, ".span button")
    assert "CPU reached 97 % at 03:" in text(page, ".answer")
    type_into(page, "#moment .scrub", Keys.HOME, Keys.ARROW_RIGHT * 32)
    assert text(page, "#moment .lane [data-c='1']") == "97 %", "the figures are those under the crosshair"
    until(lambda: "cpu_percent 97" in text(page, "#moment-at"), 10, what="what was true then")
    assert f"at={serve.busy:%Y-%m-%dT}03:02Z" in page.current_url, "what one sees is what one can send"
    before = page.current_url
    type_into(page, "#moment .scrub", "+")
    until(lambda: page.current_url != before, 10, what="a closer look")
    until(lambda: len(page.find_elements(By.CSS_SELECTOR, "#moment .data tbody tr")) == 30, 10, what="its figures")
