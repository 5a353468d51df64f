"""How much work a usual check is, in calls: from its due moment to what is handed to the store."""

import gevent
import pytest

from opsapp.monitoring.engine.checks import Checker
from opsapp.monitoring.engine.watch import watch_of
from tests.support.checkedsite import CheckedSite
from tests.support.counting import CountedCalls

MONITORS = 20
ROUNDS = 5
MOST_CALLS = 45  # 59 when each check asked for what is the same for all


class CallsOfTheHouse(CountedCalls):
    """Of functions in Python of our own: what the hub does while it waits for the site does not count."""

    def _note(self, frame, event, _called):
        self.calls += event == "call" and frame.f_globals.get("__name__", "").startswith("opsapp.")


@pytest.fixture
def checker(service):
    checker = watch_of(service.node).checker = Checker(watch_of(service.node))
    yield checker
    checker.measuring.prober.close()


def check_all(service, checker):
    """Each monitor that is due, to its end."""
    service.clock.advance(60)
    checker.dispatch()
    while checker.running:
        gevent.sleep(0.001)


def test_a_usual_check_is_few_calls(service, checker):
    with CheckedSite() as site:
        for number in range(MONITORS):
            body = {"name": f"m{number}", "type": "http", "url": f"{site.url}/{number}", "interval": 60}
            service.otto.post_json("/api/monitoring/endpoints", body)
        checker.watch.follow()
        check_all(service, checker)
        check_all(service, checker)  # up as before, from here on
        before = checker.checks
        with CallsOfTheHouse() as counted:
            for _ in range(ROUNDS):
                check_all(service, checker)
    assert checker.checks - before == ROUNDS * MONITORS
    assert {entry.standing.status for entry in checker.watch.register.entries.values()} == {"up"}
    calls = counted.calls / (ROUNDS * MONITORS)
    assert calls <= MOST_CALLS, calls
