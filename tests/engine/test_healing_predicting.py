"""What follows from a forecast: an event one level below for low risk only, or a suggestion; each once."""

import pytest

from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.forecasts import MetricHistory, examine, keep, limits_of, subjects
from opsapp.healing.resources import healing_of
from tests.support.hosts import place

HOUR = 3600.0
DISK = {"id": "disk", "condition": "disk.*.percent >= 90", "escalation_chain": [
    {"action": "storage_cleanup"}, {"action": "journal_vacuum"}]}  # fmt: skip


def past(now, per_hour, end, metric="disk./var.percent", newest=None):
    points = [(now - (96 - hour) * HOUR, end - per_hour * (96 - hour)) for hour in range(97)]
    return MetricHistory(place(), metric, points, newest or points[-1:])


def look(here, *seen):
    now, section = here.clock.now(), here.node.config[HealingSettings].prediction
    _, rules = here.node.transact(subjects)
    rows, news = examine(list(seen), limits_of(rules), section, now)
    here.node.transact(keep, rows, news, now)
    return rows


def suggestions(here):
    return here.node.transact(lambda root: healing_of(root)["suggestions"].active())


def soon(here):
    """85 % now, 0.4 points an hour: 90 % in 12.5 h."""
    here.report(**{"disk__/var__percent": 85.0}).turn()
    return past(here.clock.now(), 0.4, 85.0)


def test_within_a_day_it_is_a_warning_event_one_level_below_for_low_risk_only(ward):
    here = ward(DISK).at("execute", "disk")
    [row] = look(here, soon(here))
    assert (row["agent_id"], row["metric"], row["mount"], row["threshold"]) == ("a1", "disk_percent", "/var", 90)
    assert row["low"] <= row["hits_at"] <= row["high"]
    here.turn().turn(5)
    [entry] = here.ledger
    assert (entry["source"], entry["target"], entry["state"]) == ("prediction", "box-1//var", "awaiting_approval")
    assert entry["action_type"] == "journal_vacuum"  # the first step is of medium risk
    assert any("one level below" in line for line in here.cases[0]["why"])
    assert here.trust("disk").triggers == ()


def test_the_same_forecast_is_one_event_a_day(ward):
    here = ward(DISK).at("notify", "disk")
    for _ in range(3):
        look(here, soon(here))
        here.turn(900).turn(5)
    assert len(here.ledger) == 1
    here.clock.advance(86400)
    look(here, soon(here))
    here.turn().turn(5)
    assert len(here.ledger) == 2


def test_within_three_days_it_is_a_suggestion_that_does_not_come_back(ward):
    here = ward(DISK).at("execute", "disk")
    slow = past(here.clock.now(), 0.1, 85.0)  # in 50 h
    look(here, slow)
    [one] = suggestions(here)
    assert (one["category"], one["severity"], one["rule_id"]) == ("capacity_forecast", "info", "disk")
    here.node.transact(lambda root: healing_of(root)["suggestions"]["1"].dismiss())
    look(here, slow)
    assert (suggestions(here), here.ledger) == ([], [])


@pytest.mark.parametrize(("per_hour", "end"), [(0.01, 50.0), (0.0, 89.0), (0.4, 95.0)])
def test_what_is_far_away_or_there_already_is_neither(ward, per_hour, end):
    here = ward(DISK).at("execute", "disk")
    assert len(look(here, past(here.clock.now(), per_hour, end))) == 1
    here.turn().turn(5)
    assert (suggestions(here), here.ledger) == ([], [])


def test_a_metric_without_a_rule_has_a_threshold_of_the_configuration(ward):
    here = ward(DISK)
    assert [row["threshold"] for row in look(here, past(here.clock.now(), 0.1, 50.0, "mem_percent"))] == [90]
    assert look(here, past(here.clock.now(), 0.1, 50.0, "load1")) == []


def test_a_rule_for_other_agents_is_not_about_this_one(ward):
    here = ward({**DISK, "condition": "disk.*.percent >= 80", "targets": {"agents": ["tag:db"], "monitors": []}})
    assert [row["threshold"] for row in look(here, past(here.clock.now(), 0.1, 50.0))] == [90]


def test_an_anomaly_goes_the_same_way(ward):
    rule = {"id": "cpu", "condition": "cpu_percent > 90", "action": {"type": "clear_cache"}}
    here = ward(rule).at("execute", "cpu").report(cpu_percent=60.0).turn()
    now = here.clock.now()
    look(here, past(now, 0.0, 10.0, "cpu_percent", newest=[(now - 60, 60.0), (now, 62.0)]))
    here.turn().turn(5)
    [entry] = here.ledger
    assert (entry["source"], entry["state"]) == ("anomaly", "awaiting_approval")
    assert entry["condition"] == "cpu_percent >= 20"
    look(here, past(now, 0.0, 10.0, "load1", newest=[(now, 62.0)]))
    assert suggestions(here) == []
    look(here, past(now, 0.0, 10.0, "mem_percent", newest=[(now, 62.0)]))
    assert [one["category"] for one in suggestions(here)] == ["anomaly"]
