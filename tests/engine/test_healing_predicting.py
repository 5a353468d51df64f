"""What follows from a forecast or an anomaly: an event one level below for low risk only, or a suggestion; once."""

import random
from itertools import pairwise

import pytest

from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.forecasts import close, examine, is_coming, keep, subjects
from opsapp.healing.engine.foresight import Foresight, MetricNews, Point, limits_of
from opsapp.healing.resources import healing_of
from opsapp.notify.resources import inbox
from opsapp.wire.records import plain
from tests.support.hosts import place

HOUR, FINE = 3600.0, 300.0
DISK = {"id": "disk", "condition": "disk.*.percent >= 90", "escalation_chain": [
    {"action": "storage_cleanup"}, {"action": "journal_vacuum"}]}  # fmt: skip

CPU = {"id": "cpu", "condition": "cpu_percent > 90", "action": {"type": "clear_cache"}}


def past(now, per_hour, end, metric="disk./var.percent", days=4, noise=0.05, number=1, last=None):
    dice = random.Random(1)
    begin = now - now % HOUR
    hours = [Point(begin - (back + 0.5) * HOUR, end - per_hour * (back + 0.5) + dice.gauss(0, noise), 240)
             for back in range(24 * days - 1, -1, -1)]  # fmt: skip
    return MetricNews(place(), metric, number, tuple(hours), (), last or Point(now, end, 1))


def look(here, *news, foresight=None):
    now, section = here.clock.now(), here.node.config[HealingSettings].prediction
    foresight = foresight or Foresight()
    _, rules = here.node.transact(subjects)
    foresight.begin({})
    seen = examine(foresight, news, limits_of(rules), section, now)
    here.node.transact(keep, seen, now)
    rows = [row for one in seen.values() for row in one.rows]
    here.node.transact(close, list(seen), [row for row in rows if is_coming(row)], now)
    foresight.end()
    return [*map(plain, rows)]


def suggestions(here):
    return here.node.transact(lambda root: [*map(plain, healing_of(root)["suggestions"].active())])


def soon(here):
    """85 % now, 0.4 points an hour: 90 % in 12.5 h."""
    here.report(**{"disk__/var__percent": 85.0}).turn()
    return past(here.clock.now(), 0.4, 85.0)


def test_within_a_day_it_is_a_warning_event_one_level_below_for_low_risk_only(ward):
    here = ward(DISK).at("execute", "disk")
    [row] = look(here, soon(here))
    assert (row["agent_id"], row["metric"], row["mount"], row["threshold"]) == ("a1", "disk_percent", "/var", 90)
    assert row["now"] == 85.0
    assert row["low"] <= row["hits_at"] <= row["high"]
    assert abs(row["hits_at"] - here.clock.now() - 12.5 * HOUR) < 3 * HOUR
    assert all(spoke["low"] <= spoke["half_low"] <= spoke["half_high"] <= spoke["high"] for spoke in row["fan"])
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


@pytest.mark.parametrize("source", ["forecast", "anomaly"])
def test_what_is_foretold_of_a_rule_at_notify_is_told(ward, source):
    """The disk was full in 12.5 hours, and nobody heard of it."""
    here = ward(DISK if source == "forecast" else CPU).at("notify", "disk" if source == "forecast" else "cpu")
    if source == "forecast":
        look(here, soon(here))
    else:
        here.report(cpu_percent=60.0).turn()
        look(here, odd(here.clock.now(), 60.0, "cpu_percent"))
    here.turn().turn(5)
    [entry] = here.ledger
    assert entry["outcome"] == "notified"
    told = [row for row in here.node.transact(inbox.take, 100) if row.kind.startswith("heal.")]
    assert [row.target.partition("/")[0] for row in told] == ["box-1"]


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


def test_what_is_beyond_its_threshold_is_reached_now_and_does_not_break_next(ward):
    here = ward(DISK)
    now = int(here.clock.now())
    [row] = look(here, past(now, 0.4, 95.0))
    assert (row["hits_at"], row["low"], row["high"]) == (now, now, now)
    assert here.node.transact(lambda root: healing_of(root).foresight.soonest) == ()


def test_who_is_silent_raises_nothing(ward):
    here = ward(DISK).at("execute", "disk")
    now = here.clock.now()
    assert look(here, past(now, 0.4, 85.0, last=Point(now - 1000, 85.0, 1))) == []
    here.turn().turn(5)
    assert (suggestions(here), here.ledger) == ([], [])


def test_a_metric_without_a_rule_has_a_threshold_of_the_configuration(ward):
    here = ward(DISK)
    assert [row["threshold"] for row in look(here, past(here.clock.now(), 0.1, 50.0, "mem_percent"))] == [90]
    assert look(here, past(here.clock.now(), 0.1, 50.0, "load1")) == []


def crossed(fan, edge, threshold):
    """When the line that is drawn of this edge meets the threshold."""
    for left, right in pairwise(fan):
        if left[edge] < threshold <= right[edge]:
            share = (threshold - left[edge]) / (right[edge] - left[edge])
            return left["at"] + share * (right["at"] - left["at"])
    return None


def test_words_and_picture_of_a_forecast_are_one_answer(ward):
    """The picture has some points of many. What it draws meets the threshold when the words say so, edge by edge."""
    here = ward(DISK)
    [row] = look(here, soon(here))
    for edge, at in (("expected", "hits_at"), ("high", "low"), ("low", "high"), ("half_low", "likely_by")):
        assert abs(crossed(row["fan"], edge, 90) - row[at]) < 120, edge
    assert [hour["at"] % HOUR for hour in row["past"]] == [HOUR // 2] * 24, "an hour's mean is of its middle"
    assert row["past"][-1]["value"] < row["now"]


def test_a_rule_for_other_agents_is_not_about_this_one(ward):
    here = ward({**DISK, "condition": "disk.*.percent >= 80", "targets": {"agents": ["tag:db"], "monitors": []}})
    assert [row["threshold"] for row in look(here, past(here.clock.now(), 0.1, 50.0))] == [90]


def test_agents_that_are_gone_have_no_forecasts(ward):
    here = ward(DISK)
    look(here, past(here.clock.now(), 0.4, 85.0))
    kept = here.node.transact(
        lambda root: (healing_of(root).foresight.about(None, None), healing_of(root).foresight.soonest)
    )
    assert [len(rows) for rows in kept] == [1, 1]
    assert not {"fan", "past"} & kept[1][0].keys()
    here.node.transact(close, [], [], here.clock.now())
    assert here.node.transact(lambda root: healing_of(root).foresight.about(None, None)) == []


def odd(now, value, metric, number=1):
    """Three days of 10 give or take, and a newest point that is something else."""
    dice = random.Random(2)
    slot = now - now % FINE
    points = [Point(slot - (back + 0.5) * FINE, 10 + dice.gauss(0, 0.5), 20) for back in range(864, 0, -1)]
    points.append(Point(slot - 0.5 * FINE, value, 20))
    return MetricNews(place(), metric, number, (), tuple(points), Point(now, value, 1))


def test_an_anomaly_goes_the_same_way(ward):
    here = ward(CPU).at("execute", "cpu").report(cpu_percent=60.0).turn()
    look(here, odd(here.clock.now(), 60.0, "cpu_percent"))
    here.turn().turn(5)
    [entry] = here.ledger
    assert (entry["source"], entry["state"]) == ("anomaly", "awaiting_approval")
    assert entry["condition"].startswith("cpu_percent >= 3")  # half the way back: 35
    assert suggestions(here) == []
    look(here, odd(here.clock.now(), 60.0, "mem_percent"))
    assert [one["category"] for one in suggestions(here)] == ["anomaly"]


def test_what_is_far_below_the_usual_is_an_anomaly_too_and_no_event_for_a_rule_about_the_top(ward):
    rules = {"id": "cpu", "condition": "cpu_percent > 90", "action": {"type": "clear_cache"}}
    here = ward(rules, {**rules, "id": "idle", "condition": "cpu_percent < 2"}).at("notify", "cpu").at("notify", "idle")
    here.report(cpu_percent=10.0).turn()
    look(here, odd(here.clock.now(), 10.2, "cpu_percent"))
    assert (suggestions(here), here.ledger) == ([], [])
    look(here, odd(here.clock.now(), 0.0, "cpu_percent"))
    here.turn().turn(5)
    assert [(entry["source"], entry["rule_id"]) for entry in here.ledger] == [("anomaly", "idle")]
    look(here, odd(here.clock.now(), 0.0, "mem_percent"))
    [one] = suggestions(here)
    assert one["message"].startswith("box-1: mem_percent is at 0, usually about ")


def test_what_was_odd_long_ago_is_not_told_after_a_restart(ward):
    here = ward(DISK)
    news = odd(here.clock.now() - 7200, 60.0, "mem_percent")
    look(here, news._replace(last=Point(here.clock.now(), 10.0, 1)))
    assert suggestions(here) == []
