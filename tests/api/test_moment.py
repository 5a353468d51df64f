"""The moment: what was going on at a time on a host, a monitor, in an incident or a case, and its address."""

from datetime import datetime, timezone

import pytest

from opsapp.runtime import serieswork
from tests.support.monitoring import DOWN, UP, Lookout

from .test_agents import Polling

MOMENT = "/api/moment"
HOUR, DAY = 3600, 86_400


@pytest.fixture
def box(service):
    service.clock.advance(60)
    return Polling(service, "db-1", tags=["db"])


def busy(service, box, minutes, cpu, **more):
    for _ in range(minutes):
        box.report(cpu_percent=cpu, disks={"/": 41}, **more)
        service.clock.advance(60)
    serieswork.flush(service.node)


def moment(service, box, **asked):
    query = "&".join(f"{name.rstrip('_')}={value}" for name, value in {"kind": "hosts", "id": box.id, **asked}.items())
    return service.vera.get(f"{MOMENT}?{query}").json


def iso(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def lane(told, name):
    return next(curve["values"] for part in told["lanes"] if part["name"] == name for curve in part["curves"])


def test_a_host_that_was_busy_then_and_silent_later_says_both(service, box):
    busy(service, box, 30, 20)
    peak = int(service.clock.now())
    busy(service, box, 10, 97)
    silent = int(service.clock.now())
    service.clock.advance(HOUR)
    busy(service, box, 20, 20)
    told = moment(service, box, from_="-3h", at=iso(peak + 300))
    values = dict(zip(told["times"], lane(told, "CPU"), strict=True))
    assert max(value for value in values.values() if value is not None) == 97
    gone = [value for at, value in values.items() if silent + 120 < at < silent + HOUR - 300]
    assert gone, "the silent hour is on the axis"
    assert set(gone) == {None}, "and nobody knows anything of it"
    [row] = told["states"]
    assert [part["state"] for part in row["stretches"]] == ["unknown", "up", "unknown", "up"]
    cpu = next(rule for rule in told["rules"] if "cpu_percent" in rule["condition"])
    assert (cpu["holds"], cpu["read"]) == (True, "cpu_percent 97")
    page = service.browser("vera").get(f"/agents/{box.id}?from=-3h&at={iso(peak + 300)}")
    answer = page.html.select_one(".answer").text
    assert "Something stood out" in answer
    assert "The cause is unknown: no host has reported one." in answer, "that it was busy is no cause"
    assert "CPU reached 97 %" in answer
    assert "There is no data of " in answer
    assert "cpu_percent 97" in page.html.select_one("#moment-at").text
    assert "which of them ran then is unknown" in page.html.select_one("#moment-at").text
    later = moment(service, box, from_="-3h", at=iso(silent + HOUR // 2))
    assert {rule["holds"] for rule in later["rules"]} == {None}


@pytest.mark.parametrize(("hours", "step"), [(1, 60), (6, 300), (24, 900), (168, 7200), (720, 28_800), (8760, 345_600)])
def test_whatever_the_range_the_points_are_few(service, box, hours, step):
    busy(service, box, 3, 20)
    told = moment(service, box, from_=f"-{hours}h")
    assert told["step"] == step
    assert told["until"] - told["since"] == hours * HOUR
    assert len(told["times"]) <= 101
    assert lane(told, "CPU")[-1] == 20


def test_the_address_is_absolute_in_utc_and_says_all_of_the_picture(service, box):
    busy(service, box, 3, 20)
    now = int(service.clock.now())
    page = service.browser("vera").get(
        f"/agents/{box.id}?from={iso(now - 7200)}&to={iso(now - 3600)}&at={iso(now - 5000)}"
    )
    shown = page.html.select_one(".mo")
    assert (shown["data-from"], shown["data-to"]) == (iso(now - 7200)[:16] + "Z", iso(now - 3600)[:16] + "Z")
    href = page.html.select_one(".addr a")["href"]
    assert href == f"?from={iso(now - 7200)[:16]}Z&to={iso(now - 3600)[:16]}Z&at={iso(now - 5000)[:16]}Z#moment"
    relative = service.browser("vera").get(f"/agents/{box.id}?from=-2h").html.select_one(".addr a")["href"]
    assert relative.startswith(f"?from={iso(now - 7200)[:16]}Z"), "so that what is copied stays true"


def test_what_is_filled_in_is_by_the_readers_clock(service, box):
    busy(service, box, 3, 20)
    service.vera.put_json("/api/me/settings", {"timezone": "Europe/Berlin"})
    page = service.browser("vera").get(f"/agents/{box.id}?from=2055-01-15T03:00&to=2055-01-15T05:00")
    assert page.html.select_one(".mo")["data-from"] == "2055-01-15T02:00Z"
    assert page.html.select_one("#mo-from")["value"] == "2055-01-15T03:00"
    assert "The address is in UTC, the page in Berlin time." in page.html.select_one(".addr").text


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"from_": "yesterday"}, "from"),
        ({"from_": "2055-01-15T03:00"}, "from"),
        ({"to": "2020-13-01T00:00Z"}, "to"),
        ({"at": "-3x"}, "at"),
        ({"from_": "-1h", "to": "-2h"}, "from"),
        ({"from_": "-700d"}, "from"),
    ],
)
@pytest.mark.shared
def test_a_time_that_is_none_is_refused_with_a_reason(service, box, asked, field):
    query = "&".join(f"{name.rstrip('_')}={value}" for name, value in asked.items())
    refused = service.vera.get(f"{MOMENT}?kind=hosts&id={box.id}&{query}", status=422).json
    assert field in refused["fields"]


def test_a_time_shorter_than_what_is_stored_is_widened_and_the_future_is_cut(service, box):
    busy(service, box, 10, 20)
    now = int(service.clock.now())
    told = moment(service, box, from_=iso(now - 100), to=iso(now + 900))
    assert (told["until"], told["until"] - told["since"], told["live"]) == (now, 300, True)
    around = moment(service, box, at=iso(now - 3 * DAY))
    assert (around["since"], around["at"]) == (now - 3 * DAY - HOUR, now - 3 * DAY), (
        "a time alone has an hour either side"
    )


def test_what_nobody_knows_is_not_found(service):
    for kind in ("hosts", "monitors", "incidents", "cases"):
        service.vera.get(f"{MOMENT}?kind={kind}&id=none", status=404)
        service.browser("vera").get(f"/moment/{kind}/none", status=404)
    service.vera.get(f"{MOMENT}?kind=runs&id=none", status=422)


def test_an_outage_a_window_a_run_and_what_people_said_have_a_row_each(service, box):
    busy(service, box, 3, 20)
    service.vera.get("/api/me")
    lookout = Lookout(service)
    shop = lookout.add(name="Shop", agent_id=box.id, retries=0)
    lookout.sees[shop] = UP
    lookout.run(600, step=60)
    lookout.sees[shop] = DOWN
    lookout.run(300, step=60)
    incident = lookout.incidents()[0]["id"]
    service.otto.post_json(
        f"/api/monitoring/incidents/{incident}/updates", {"stage": "identified", "message": "A cable", "public": False}
    )
    service.otto.post_json(
        "/api/maintenance",
        {"name": "Reindex", "start": "2055-01-15T07:00:00", "end": "2055-01-15T09:00:00", "scope": [box.id]},
    )
    lookout.sees[shop] = UP
    lookout.run(300, step=60)
    serieswork.flush(service.node)
    for kind, item_id in (("hosts", box.id), ("monitors", shop), ("incidents", incident)):
        told = service.vera.get(f"{MOMENT}?kind={kind}&id={item_id}").json
        rows = {mark["row"]: mark["words"] for mark in told["marks"]}
        assert rows["outage"].startswith("Shop was down")
        assert rows["people"] == "otto wrote: A cable"
        assert rows["planned"] == "Maintenance: Reindex"
        assert {part["state"] for part in told["states"][0]["stretches"]} >= {"up", "down"}
        assert told["lanes"][0]["name"] == "Response time"
        shown = service.browser("vera").get(f"/moment/{kind}/{item_id}").html
        assert "Down 5 min" in shown.select_one(".answer").text
        assert {"Outages", "People", "Planned"} <= {name.text for name in shown.select(".mo-rows li")}
        assert "otto wrote: A cable" in shown.select_one(".feed.ev").text


def test_what_happens_again_and_again_is_one_event_with_its_number(service, box):
    lookout = Lookout(service)
    shop = lookout.add(name="Shop", retries=0)
    for _ in range(5):
        lookout.sees[shop] = UP
        lookout.run(60, step=60)
        lookout.sees[shop] = DOWN
        lookout.run(60, step=60)
    serieswork.flush(service.node)
    told = service.vera.get(f"{MOMENT}?kind=monitors&id={shop}").json
    outages = sum(mark["row"] == "outage" for mark in told["marks"])
    assert outages > 3, "on the axis each has its mark"
    [event] = service.browser("vera").get(f"/monitors/{shop}").html.select(".feed.ev li")
    assert f"({outages} times)" in event.text
    assert "the last at" in event.text


def test_only_an_address_without_a_time_goes_on(service, box):
    busy(service, box, 5, 20)
    browser = service.browser("vera")
    assert int(browser.get(f"/agents/{box.id}").html.select_one(".mo")["data-again"]) >= 30
    asked = iso(service.clock.now() - 60)
    assert browser.get(f"/agents/{box.id}?at={asked}").html.select_one(".mo")["data-again"] == "0"
