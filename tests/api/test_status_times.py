"""Times on the public page of an incident: both, and one where it was over within the same minute."""

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
