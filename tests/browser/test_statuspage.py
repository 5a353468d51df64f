"""The public status page in a real browser: both schemes, a phone and a desk, without script, cookie or complaint."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browser import shown_at_last, text
from tests.support.pages import look
from tests.support.process import Serve
from tests.support.sound import sound
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve")) as serve:
        for n in range(15):
            port = serve.port if n else 1
            body = {"name": f"Part {n:02}", "type": "tcp", "url": f"tcp://127.0.0.1:{port}", "interval": 3600}
            serve.admin.post("/api/monitoring/endpoints", body | {"timeout": 60, "retries": 0, "tags": ["public"]})
        known = {"up", "down"}
        until(
            lambda: {each["status"] for each in serve.client().get("/api/monitoring/status-page")["monitors"]} == known,
            20,
            what="a check of each",
        )
        until(lambda: serve.admin.get("/api/monitoring/incidents"), 20, what="the incident")
        yield f"{serve.url}/status"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1200])
def test_the_page_fits_and_follows_the_scheme(page, url, width, scheme, tmp_path):
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    look(page, scheme)
    page.get(url)
    shown_at_last(page, lambda: text(page, "article.open h3") == "Part 00 is down", "the incident")
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    paper = page.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
    assert paper.startswith("rgba(247, 247, 245" if scheme == "light" else "rgba(15, 16, 15")
    bars = page.find_elements(By.CSS_SELECTOR, ".comp .bars")
    assert len(bars) == 15
    assert all(strip.size["width"] >= 90 and strip.size["height"] >= 20 for strip in bars)
    assert text(page, ".verdict h1") == "Part 00 is down"
    assert "Partial outage since" in text(page, ".verdict p")
    bars[0].send_keys(Keys.ARROW_LEFT)
    assert "no data" in text(page, ".dayread")
    assert page.get_cookies() == []
    sound(page)
    page.get(page.find_element(By.CSS_SELECTOR, ".comp h3 a").get_attribute("href"))
    assert text(page, "h1") == "Part 00"
    sound(page)
    assert page.save_screenshot(str(tmp_path / f"status-{scheme}-{width}.png"))
