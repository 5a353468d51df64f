"""What the public page says of the past: times, and what went down together as one line."""

import pytest

from tests.support.monitoring import DOWN, UP, Lookout


@pytest.mark.parametrize(("seconds", "begins"), [(10, "At "), (180, "From ")])
def test_one_minute_is_said_once(service, seconds, begins):
    lookout = Lookout(service)
    shop = lookout.add(name="Shop", tags=["public"], retries=0, interval=5, timeout=1)
    lookout.sees[shop] = UP
    lookout.run(60 - service.clock.now() % 60 + 5, step=5)
    lookout.sees[shop] = DOWN
    lookout.run(seconds, step=5)
    lookout.sees[shop] = UP
    lookout.run(10, step=5)
    (incident,) = service.vera.get(f"/api/monitoring/incidents?monitor_id={shop}").json
    assert incident["resolved"] is not None
    page = service.anonymous.get(f"/status/incidents/{incident['id']}").html
    said = " ".join(page.select_one(".verdict p").text.split())
    assert said.startswith(begins)
    assert len(page.select(".verdict time")) == (1 if begins == "At " else 2)


def outage(service, names, tag="public"):
    """All of them down and up again, together."""
    lookout = Lookout(service)
    ids = [lookout.add(name=name, tags=[tag], retries=0, interval=5, timeout=1) for name in names]
    for outcome, seconds in ((UP, 20), (DOWN, 120), (UP, 20)):
        lookout.sees |= dict.fromkeys(ids, outcome)
        lookout.run(seconds, step=5)
    return ids


def past_lines(page):
    return [" ".join(line.text.split()) for line in page.html.select(".day .one")]


@pytest.mark.parametrize("place", ["/status", "/status/history"])
def test_what_went_down_together_is_one_line_and_hides_nothing_else(service, place):
    outage(service, ["Mail"])
    service.clock.advance(600)
    outage(service, [f"Shop {number:02}" for number in range(30)])
    page = service.anonymous.get(place)
    lines = page.html.select(".day .one")
    assert len(lines) == 2
    title = " ".join(lines[0].select_one("summary").text.split())
    assert title.startswith("30 services were down")
    assert title.count("Shop") == 6
    assert title.endswith("and 24 more")
    assert len(lines[0].select("li a")) == 30
    assert "Mail was down" in lines[1].text


def test_what_somebody_wrote_about_stands_alone(service):
    ids = outage(service, ["a", "b", "c", "d"])
    rows = service.vera.get(f"/api/monitoring/incidents?monitor_id={ids[0]}").json
    said = {"stage": "resolved", "message": "A cable.", "public": True}
    service.otto.post_json(f"/api/monitoring/incidents/{rows[0]['id']}/updates", said)
    lines = past_lines(service.anonymous.get("/status"))
    assert len(lines) == 2
    assert any("A cable." in line for line in lines)


def test_one_service_that_flaps_is_not_several(service):
    lookout = Lookout(service)
    shop = lookout.add(name="Shop", tags=["public"], retries=0, interval=5, timeout=1)
    for _ in range(3):
        for outcome in (UP, DOWN):
            lookout.sees[shop] = outcome
            lookout.run(20, step=5)
    lookout.sees[shop] = UP
    lookout.run(20, step=5)
    (line,) = past_lines(service.anonymous.get(f"/status/monitors/{shop}"))
    assert line.startswith("Shop was down 3 times")
