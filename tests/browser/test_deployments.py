"""A deployment is posted by hand, and stands on the axis of its monitor."""

import pytest

from tests.support.browser import press, text, texts
from tests.support.pages import fill_in, sign_in

pytestmark = pytest.mark.browser


def test_it_is_posted_and_stands_on_the_axis_of_its_monitor(page, house):
    body = {"name": "Deployed to", "type": "tcp", "url": f"tcp://127.0.0.1:{house.port}", "interval": 3600}
    monitor = house.admin.post("/api/monitoring/endpoints", body)["id"]
    sign_in(page, house, "otto")
    page.get(f"{house.url}/deployments")
    fill_in(page, "form:has([name=title])", title="shop 4.2.1", monitors="Deployed to")
    press(page, "form:has([name=title]) button:not([type=button])")
    assert "axis" in text(page, ".notice")
    page.get(f"{house.url}/monitors/{monitor}")
    assert "Deployed" in texts(page, ".mo-rows li")
    assert any("Deployed: shop 4.2.1, told by otto" in line for line in texts(page, "ol.ev li"))
