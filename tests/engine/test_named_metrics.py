"""What `healing.prediction.metrics` names is history: reports come in, series are stored, a forecast appears."""

import pytest

from opsapp.agents.config import NamedMetrics
from opsapp.agents.logic import MOST_NAMED
from opsapp.agents.resources import agents_of
from opsapp.healing.config import HealingSettings, PredictionSettings
from opsapp.healing.engine import forecasts
from opsapp.healing.engine.foresight import Foresight
from opsapp.runtime import serieswork

RULE = {"id": "mail", "condition": "queue.mail > 90", "action": {"type": "clear_cache"}, "initial_level": "notify"}


class Reporter:
    """An agent that polls with metrics of its own."""

    def __init__(self, service):
        made = service.ada.post_json("/api/agents", {"label": "web", "tags": []}).json
        self.service, self.id = service, made["agent_id"]
        self.headers = {"X-Agent-Key": made["key"]}

    def report(self, **metrics):
        said = {"hostname": "box-1", "os": "linux", "metrics": {k.replace("__", "."): v for k, v in metrics.items()}}
        self.service.anonymous.post_json(f"/api/agents/{self.id}/report", said, headers=self.headers)

    def fill(self, hours=96, step=3):
        """A queue that grows by 0.2 an hour, from 60."""
        for at in range(0, hours, step):
            self.report(queue__mail=60 + at * 0.2, queue__other=1.0, heat=3.0)
            self.service.clock.advance(step * 3600)
            serieswork.flush(self.service.node)
        self.report(queue__mail=60 + hours * 0.2, queue__other=1.0, heat=3.0)
        serieswork.flush(self.service.node)

    def kept(self):
        return sorted(self.service.transact(lambda root: list(agents_of(root)[self.id].series)))


@pytest.fixture
def reporter(service):
    return Reporter(service)


def name(service, *metrics):
    service.configure(HealingSettings, prediction=PredictionSettings(metrics=metrics))
    assert service.node.config[NamedMetrics].metrics == metrics


def foreseen(service):
    service.tokens.clear()  # they live a day
    service.node.leases.want("healing")
    service.node.leases.step()
    forecasts.step(service.node, Foresight())
    return {row["metric"]: row for row in service.vera.get("/api/healing/forecasts").json}


def test_a_metric_of_the_agents_own_that_is_named_gets_a_forecast(service, reporter):
    name(service, "queue.mail")
    service.ada.post_json("/api/healing/rules", RULE)
    reporter.fill()
    assert reporter.kept() == ["queue.mail"]
    row = foreseen(service)["queue.mail"]
    assert (row["now"], row["threshold"]) == (60 + 96 * 0.2, 90)
    assert abs(row["hits_at"] - service.clock.now() - 54 * 3600) < 8 * 3600


def test_one_that_is_not_named_is_no_history(service, reporter):
    service.ada.post_json("/api/healing/rules", RULE)
    reporter.fill(hours=48)
    assert (reporter.kept(), foreseen(service)) == ([], {})


def test_one_that_is_named_later_is_kept_from_then_on(service, reporter):
    reporter.report(queue__mail=1)
    name(service, "queue.*")
    reporter.report(queue__mail=2)
    assert reporter.kept() == ["queue.mail"]


def test_of_too_many_the_first_are_kept_and_the_log_says_so_once(service, reporter, caplog):
    name(service, "*")
    many = {f"own__{number:03}": float(number) for number in range(MOST_NAMED + 6)}
    for _ in range(2):
        reporter.report(**many)
    assert reporter.kept() == [f"own.{number:03}" for number in range(MOST_NAMED)]
    said = [record.getMessage() for record in caplog.records if "healing.prediction.metrics" in record.getMessage()]
    assert len(said) == 1
    assert f"agent {reporter.id} reports 6 metrics too many" in said[0]
