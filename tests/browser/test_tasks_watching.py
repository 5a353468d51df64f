"""Tasks of a day around monitors and windows, each from the overview, with its clicks counted."""

import pytest
from selenium.webdriver.common.by import By

from tests.support.browser import shown_at_last, text, texts
from tests.support.clicks import Clicks, fits, narrow
from tests.support.pages import fill_in, phone, sign_in
from tests.support.receiver import Receiver
from tests.support.targets import website
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture(params=[1440, 390])
def width(request):
    return request.param


@pytest.fixture
def ada(page, house, width):
    sign_in(page, house, "ada")
    narrow(page, width)
    yield Clicks(page)
    assert fits(page, width)


def test_a_monitor_is_added_and_goes_red_and_green_without_reloading(ada, page, width):
    with website() as site:
        ada.menu("/monitors")
        ada(".head a[href='/monitors/new']")
        fill_in(page, "#monitor-form", name=f"Red and green {width}", url=f"{site.url}/welcome")
        ada.on(".more-fields summary")
        fill_in(page, "#monitor-form", interval="5", timeout="1", retries="0")
        ada("button[value=create]")
        until(lambda: "Up" in text(page, "#now"), 40, what="the first check")
        port = site.port
    until(lambda: "Down" in text(page, "#now"), 40, what="red by itself")
    with website(port=port):
        until(lambda: "Up" in text(page, "#now"), 40, what="green by itself")
    assert ada.count - ada.more == 4


def test_a_host_is_found_by_its_name(ada, page, house, width):
    name = f"a-host-to-be-found-{width}"
    house.admin.post("/api/agents", {"label": name})
    if width == 390:  # the field is a page of its own
        ada(".find a")
        page.find_element(By.ID, "words").send_keys(name)
        ada("main form button")
        ada("#results a")
    else:
        page.find_element(By.ID, "find").send_keys(name)
        until(lambda: page.find_elements(By.CSS_SELECTOR, ".palette a"), 15, what="what was found")
        ada(".palette a")
    assert text(page, "h1").startswith(name)
    assert ada.count == (3 if width == 390 else 1)


def test_a_window_for_three_monitors_says_that_one_is_down(ada, page, house, width):
    admin, kept = house.admin, {"interval": 5, "timeout": 1, "retries": 0, "type": "tcp"}
    ids = [
        admin.post(
            "/api/monitoring/endpoints", kept | {"name": f"Covered {n} of {width}", "url": f"tcp://127.0.0.1:{port}"}
        )["id"]
        for n, port in enumerate((house.port, house.port, 1))
    ]
    until(lambda: admin.get(f"/api/monitoring/endpoints/{ids[2]}")["status"] == "down", 30, what="one being down")
    name = f"Three of them {width}"
    ada.menu("/maintenance")
    ada(".head a[href='/maintenance/new']")
    fill_in(page, "#editor", name=name)
    for monitor_id in ids:
        ada.on(f"[name='scope:{monitor_id}']")
    until(lambda: "1 of them down now" in text(page, "#editor"), 15, what="what it covers, before the button")
    ada("#editor button[value=create]")
    assert text(page, "h1") == name
    made = next(window for window in admin.get("/api/maintenance") if window["name"] == name)
    assert sorted(made["scope"]) == sorted(ids)
    assert ada.count - ada.more == 6


def test_a_channel_is_added_and_tried(ada, page, width):
    with Receiver() as receiver:
        ada.menu("/notifications")
        ada("#add a[href='/notifications/new?type=webhook']")
        fill_in(page, "#editor", name=f"Team chat {width}", address__address=f"http://127.0.0.1:{receiver.port}/in")
        ada("#editor button.first")
        ada("form.act input[value='channel.test'] ~ .savebar button")
        until(lambda: receiver.messages, 20, what="the message")
    assert ada.count - ada.more == 4


def test_a_status_page_has_a_name_and_two_groups(ada, page, house, width):
    house.admin.put("/api/status/settings", {"groups": []})
    members = {f"Sales {width}": f"Shop front {width}", f"Stock {width}": f"Warehouse {width}"}
    for name in members.values():
        house.admin.post("/api/monitoring/endpoints", {"name": name, "type": "push", "tags": ["public"]})
    ada.menu("/statuspage")
    fill_in(page, "#look", name=f"Acme status {width}")
    for number, (name, member) in enumerate(members.items()):
        if number:
            ada("#look button[value='groups:add']")
        fill_in(page, "#look", **{f"groups:{number}:name": name, f"groups:{number}:monitors": member})
    ada("#look .savebar button.first")
    ada(".head a[href='/status']")
    shown_at_last(page, lambda: page.title.endswith(f"Acme status {width}"), "what was saved")
    assert set(members) <= set(texts(page, ".grp summary > span:first-of-type"))
    assert ada.count - ada.more == 4


def test_a_customer_on_a_phone_learns_whether_since_when_and_what_is_done(page, house):
    admin = house.admin
    body = {"name": "Till", "type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}
    till = admin.post("/api/monitoring/endpoints", body | {"tags": ["public"]})["id"]
    incident = until(lambda: admin.get(f"/api/monitoring/incidents?monitor_id={till}"), 30, what="the incident")[0]
    said = {"message": "A cable is being replaced", "public": True, "stage": "identified"}
    admin.post(f"/api/monitoring/incidents/{incident['id']}/updates", said)
    phone(page)
    until(lambda: told_of(page, house, "Till is down", "A cable is being replaced"), 20, what="the page having it")
    assert "since" in text(page, ".verdict").lower()


def told_of(page, house, *words):
    """Whether the status page says all this of one open incident: of several, for other tests have theirs."""
    page.get(f"{house.url}/status")
    return any(all(each in told for each in words) for told in texts(page, "article.open"))
