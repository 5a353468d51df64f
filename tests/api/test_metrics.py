"""GET /metrics, of monitors: what is unknown is in no figure, and every series is there once."""

import pytest

from opsapp.web.config import WebSettings
from tests.support.monitoring import BLIND, DOWN, UP, WARNS, Lookout
from tests.support.scraping import Scrape, scraped

BASE = "/api/monitoring/endpoints"


@pytest.fixture
def lookout(service):
    return Lookout(service)


def test_each_monitor_is_up_or_down_and_says_how_long_it_took(lookout):
    up, down = lookout.watch_through((UP, 60), name="Shop"), lookout.watch_through((UP, 60), (DOWN, 60), name="Mail")
    slow = lookout.watch_through((WARNS, 60), name="Disk")
    scrape = scraped(lookout.service.vera)
    for monitor_id, name, value, state in (
        (up, "Shop", 1, "up"),
        (down, "Mail", 0, "down"),
        (slow, "Disk", 1, "degraded"),
    ):
        labels = {"id": monitor_id, "name": name, "type": "http"}
        assert scrape.value("opsapp_monitor_up", **labels) == value
        assert scrape.of("opsapp_monitor_state", **labels) == {(state,): 1}
    assert scrape.value("opsapp_monitor_response_seconds", id=up) == 0.012
    assert scrape.value("opsapp_monitor_response_seconds", id=down) is None
    assert scrape.families["opsapp_monitor_up"] == "gauge"


def test_what_is_unknown_or_paused_is_not_down(lookout):
    paused = lookout.watch_through((DOWN, 60), name="Paused")
    lookout.service.otto.put_json(f"{BASE}/{paused}", {"enabled": False})
    blind = lookout.watch_through((BLIND, 60), name="Nobody can look")
    old = lookout.watch_through((UP, 60), name="Checked long ago")
    lookout.service.clock.advance(3600)
    never = lookout.add(name="Never checked")
    scrape = scraped(lookout.service.vera)
    assert scrape.of("opsapp_monitor_up") == scrape.of("opsapp_monitor_response_seconds") == {}
    states = {monitor_id: state for monitor_id, _, state, _ in scrape.of("opsapp_monitor_state")}
    assert states == {never: "pending", paused: "paused", blind: "unknown", old: "unknown"}


def test_one_in_a_window_is_neither_up_nor_down(lookout):
    shop = lookout.watch_through((UP, 60), name="Shop")
    window = {"name": "Upgrade", "start": "2020-01-01T00:00:00", "end": "2099-01-01T00:00:00", "scope": [shop]}
    lookout.service.otto.post_json("/api/maintenance", window, status=201)
    scrape = scraped(lookout.service.vera)
    assert scrape.of("opsapp_monitor_state", id=shop, name="Shop", type="http") == {("maintenance",): 1}
    assert scrape.of("opsapp_monitor_up") == {}


def test_two_of_one_name_are_two_series_and_any_name_can_be_read(lookout):
    ids = {lookout.add(name="Shop"), lookout.add(name="Shop"), lookout.add(name='a "quoted" \\ name {x="1"}')}
    scrape = scraped(lookout.service.vera)
    assert {key[0] for key in scrape.of("opsapp_monitor_state")} == ids
    assert {key[1] for key in scrape.of("opsapp_monitor_state")} == {"Shop", 'a "quoted" \\ name {x="1"}'}


def test_one_that_is_deleted_is_gone_from_the_next_scrape(lookout):
    shop = lookout.add(name="Shop")
    lookout.service.ada.delete(f"{BASE}/{shop}")
    assert scraped(lookout.service.vera).of("opsapp_monitor_state") == {}


def test_more_monitors_than_a_scrape_holds_are_counted(lookout, monkeypatch):
    monkeypatch.setattr("opsapp.monitoring.engine.figures.MOST", 2)
    for name in "cab":
        lookout.add(name=name)
    scrape = scraped(lookout.service.vera)
    assert [key[1] for key in scrape.of("opsapp_monitor_state")] == ["a", "b"]
    assert scrape.value("opsapp_monitors_left_out") == 1


def test_the_scrape_token_reads_the_figures_and_no_settings(lookout):
    lookout.add(name="Shop", url="http://someone:barley@shop.example/")
    lookout.service.configure(WebSettings, scrape_token="a scrape token of its own")
    headers = {"Authorization": "Bearer a scrape token of its own"}
    scrape = Scrape(lookout.service.anonymous.get("/metrics", headers=headers).text)
    assert {key[1] for key in scrape.of("opsapp_monitor_state")} == {"Shop"}
    assert "barley" not in scrape.text
    assert "shop.example" not in scrape.text
