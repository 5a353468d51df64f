"""What agents spooled while the service was away is in what forecasts read with the next look, in the order of time."""

import copy
import random
from math import isnan

import pytest

from opsapp.agents.resources import agents_of
from opsapp.healing.config import HealingSettings, PredictionSettings
from opsapp.healing.engine import forecasts, foresight
from opsapp.healing.engine.foresight import Foresight
from opsapp.healing.logic.anomalies import STRANGE
from opsapp.healing.resources import healing_of
from opsapp.runtime import serieswork

HOUR = 3600


class Reporter:
    """An agent that reports each quarter of an hour, and keeps what the service could not take."""

    def __init__(self, service):
        made = service.ada.post_json("/api/agents", {"label": "web", "tags": []}).json
        self.service, self.id, self.spool = service, made["agent_id"], []
        self.headers = {"X-Agent-Key": made["key"]}

    def send(self, value, **more):
        said = {"hostname": "box-1", "os": "linux", "cpu_percent": value, **more}
        self.service.anonymous.post_json(f"/api/agents/{self.id}/report", said, headers=self.headers)
        serieswork.flush(self.service.node)

    def live(self, hours, value):
        for _ in range(4 * hours):
            self.send(value)
            self.service.clock.advance(900)

    def away(self, hours, value):
        for _ in range(4 * hours):
            self.spool.append((value, self.service.clock.now()))
            self.service.clock.advance(900)

    def deliver(self):
        for value, at in self.spool:
            self.send(value, reason="spooled", time=at)


@pytest.fixture
def reporter(service):
    service.node.leases.want("healing")
    service.node.leases.step()
    made = Reporter(service)
    made.live(40, 20.0)
    return made


def look(reporter, known):
    service = reporter.service
    service.node.leases.step()
    forecasts.step(service.node, known)
    number = service.node.transact(lambda root: agents_of(root)[reporter.id].series["cpu_percent"])
    return known.metric(number)


def hours_of(outlook):
    return [None if isnan(value) else round(value, 3) for value in outlook.past.hours()]


def test_spooled_history_is_read_with_the_next_look(reporter):
    known = Foresight()
    look(reporter, known)
    reporter.away(6, 50.0)
    reporter.live(2, 20.0)
    assert hours_of(look(reporter, known)).count(None) == 6
    reporter.deliver()
    outlook = look(reporter, known)
    assert hours_of(outlook).count(50.0) == 6
    assert None not in hours_of(outlook)
    restarted = look(reporter, Foresight())
    assert hours_of(outlook) == hours_of(restarted)
    assert outlook.detector.level == restarted.detector.level


def test_where_too_many_come_back_at_once_the_hours_are_there_and_the_points_follow(reporter, monkeypatch):
    known = Foresight()
    look(reporter, known)
    reporter.away(6, 50.0)
    reporter.live(2, 20.0)
    look(reporter, known)
    reporter.deliver()
    monkeypatch.setattr(foresight, "RESTORED", 0)
    outlook = look(reporter, known)
    assert hours_of(outlook).count(50.0) == 6
    assert None not in hours_of(outlook)
    monkeypatch.undo()
    assert look(reporter, known).detector.level == look(reporter, Foresight()).detector.level != outlook.detector.level


@pytest.mark.parametrize("day", range(4))
def test_after_a_restart_it_says_the_same(reporter, day):
    """Three weeks with a job each night, looked at twice a day; then a look of one that has just started. `day` of the
    four of a block (`tails.BLOCK_S`) on which it begins: a day's rarest depends on what is known of the days before."""
    service, known, dice = reporter.service, Foresight(), random.Random(1)
    service.clock.advance(day * 86_400)
    number = service.node.transact(lambda root: agents_of(root)[reporter.id].series["cpu_percent"])
    for _ in range(42):
        service.clock.advance(43_200)
        begin = int(service.clock.now() // 300) * 300 - 43_200
        for at in range(begin, begin + 43_200, 300):
            value = 20 + 30 * (at % 86_400 < 7200) + dice.gauss(0, 1) + dice.paretovariate(3)
            service.node.series.journal.add(number, at * 1000, value)
        serieswork.flush(service.node)
        before = look(reporter, known).detector
    after = look(reporter, Foresight()).detector
    today = int(service.clock.now() // 86_400)
    days = [detector.rarest_by_day(today - 7, today) for detector in (before, after)]
    assert days[0] == pytest.approx(days[1], abs=0.5)
    past = known.metric(number).past
    for value in (15.0, 23.0, 30.0, 45.0, 70.0):
        scores = [copy.deepcopy(detector).watch(past, service.clock.now(), value).score for detector in (before, after)]
        assert scores[0] == pytest.approx(scores[1], abs=0.02)


def test_the_bound_of_anomalies_is_kept_and_shown(reporter):
    service, known = reporter.service, Foresight()
    service.configure(HealingSettings, prediction=PredictionSettings(false_anomalies_a_week=5))
    look(reporter, known)
    service.tokens.clear()
    assert service.vera.get("/api/healing/health").json["anomalies"] == {"false_a_week": 5, "bound": STRANGE}
    service.node.transact(lambda root: setattr(healing_of(root).foresight, "bound", 7.5))
    restarted = Foresight()
    restarted.retune = lambda *_: None  # as while metrics are still to come back
    look(reporter, restarted)
    assert restarted.bound == 7.5
    assert service.vera.get("/api/healing/health").json["anomalies"]["bound"] == 7.5
    page = service.browser("vera").get("/healing").text
    assert "as rare as 1 in 32,000,000. Expect about 5 false alarms a week" in page


def test_what_another_look_has_taken_is_not_late(reporter):
    node, known = reporter.service.node, Foresight()
    outlook = look(reporter, known)
    reporter.live(1, 20.0)
    assert look(reporter, known) is outlook
    serieswork.follow(node)
    assert node.series.late(0) == {}
