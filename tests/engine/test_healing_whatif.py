"""A draft rule over stored readings: it would have done what the same rule has done live."""

from itertools import pairwise

import pytest

from opsapp.healing.engine import rehearsals
from opsapp.healing.logic.lift import Arm, Bets, Trials
from opsapp.healing.logic.moments import address
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.trials import Healed
from opsapp.lib.problems import Invalid
from opsapp.maintenance.resources import HealingWindow, windows_of
from opsapp.monitoring.logic.settings import MonitorSettings
from opsapp.monitoring.resources import Monitor, monitors_of
from opsapp.series import CODES
from opsapp.wire.records import made
from tests.support.dependencies import depend
from tests.support.hosts import place
from tests.support.pastfleet import DAY, PastFleet

HOT = {"id": "hot", "condition": "cpu_percent > 90", "for": 300, "cooldown_s": 3600, "initial_level": "notify",
       "action": {"type": "clear_cache"}}  # fmt: skip
TOLD = {**HOT, "trust_ceiling": "notify"}  # it never comes to act, so that what it lives through is the same
HOUR = 3600


@pytest.fixture
def fleet(tmp_path):
    fleets = []

    def make(*rules, **more):
        directory = tmp_path / str(len(fleets))
        directory.mkdir()
        whole = [made(RuleSettings, rule).stored() | {"id": rule["id"]} for rule in rules]
        fleets.append(PastFleet(directory, *whole, **more))
        return fleets[-1]

    yield make
    for fleet in fleets:
        fleet.close()


def bursts(n, now):
    """Each four hours half an hour of load; each hour three minutes of it, which is too short."""
    at = (now + 977 * n) % 14_400
    return {"cpu_percent": 97.0 if at < 1800 or at % 3600 < 180 else 20.0 + at % 7}


def lived(fleet, rule_id):
    """What the rule has recorded, by target: when each event came, as far as the hold tells."""
    return sorted(
        (entry["target"], entry["created_at"] - 5) for entry in fleet.ward.ledger if entry["rule_id"] == rule_id
    )


def rehearsed(answer):
    return sorted((row["target"], row["at"]) for row in answer["firings"])


def same(first, second, within):
    """Whether both are the same firings, each within so many seconds."""
    assert [target for target, _ in first] == [target for target, _ in second]
    return [abs(one - other) <= within for (_, one), (_, other) in zip(first, second, strict=True)]


def hot_between(*spans):
    """From the beginning of a test on: hot within these spans of seconds, cool before and after."""

    def signal(n, now):
        at = now - BEGIN
        return {"cpu_percent": 97.0 if any(since <= at < until for since, until in spans) else 20.0}

    return signal


BEGIN = 2_683_612_800


@pytest.mark.parametrize("rule", [
    TOLD,
    {**TOLD, "for": 0, "cooldown_s": 600},
    {**TOLD, "for": 60, "condition": "cpu_percent > 90 or load1 > 8"},
    {**TOLD, "for": 1200, "condition": "not cpu_percent <= 90"},
])  # fmt: skip
def test_it_would_have_fired_whenever_it_has(fleet, rule):
    with_rule, without = (fleet(*rules, metrics=("cpu_percent", "load1")) for rules in ((rule,), ()))
    for here, rules in ((with_rule, True), (without, False)):
        here.live(DAY / 2, bursts, rules=rules)
    answer, live = without.asked(rule, days=0.5), lived(with_rule, "hot")
    assert live
    assert all(same(live, rehearsed(answer), within=60))
    assert (answer["total"], answer["left_out"]) == (len(live), 0)


@pytest.mark.nightly("30 simulated days, twice")
@pytest.mark.timeout(1200)
def test_of_a_month_too_with_roll_ups_before_the_last_week(fleet):
    with_rule, without = fleet(TOLD, interval=120.0), fleet(interval=120.0)
    for here, rules in ((with_rule, True), (without, False)):
        here.live(30 * DAY, bursts, rules=rules)
    live, answer = lived(with_rule, "hot"), without.asked(TOLD, days=30)
    assert (answer["total"], answer["left_out"]) == (len(live), 0)
    assert {row["resolution_s"] for row in answer["firings"]} == {120, 300}
    assert all(same(live, rehearsed(answer), within=300))


def test_of_what_is_summed_up_it_finds_the_same_within_a_bucket(fleet):
    with_rule, without = fleet(TOLD, hosts=1), fleet(hosts=1)
    for here, rules in ((with_rule, True), (without, False)):
        here.live(DAY / 2, bursts, rules=rules)
        here.clock.advance(9 * DAY)
        here.settle()
    live, answer = lived(with_rule, "hot"), without.asked(TOLD, days=10)
    assert [row["resolution_s"] for row in answer["firings"]] == [300] * len(live)
    assert all(same(live, rehearsed(answer), within=300))
    assert answer["unknown_s"] >= 9 * DAY


def test_what_was_not_measured_is_unknown_and_never_zero(fleet):
    here = fleet(hosts=1)
    here.live(2 * HOUR, hot_between((0, 900)), rules=False)
    here.clock.advance(4 * HOUR)
    here.live(2 * HOUR, hot_between(), rules=False)
    answer = here.asked(HOT, days=0.5)
    assert (answer["total"], answer["would_act"]) == (1, 1)
    assert abs(answer["unknown_s"] - 8 * HOUR) < 600
    assert [round(span["until"] - span["at"], -3) for span in answer["by_target"][0]["unknown"]] == [14_000, 14_000]
    services = here.asked({**HOT, "condition": 'service.nginx.state == "failed"', "targets": {"agents": ["box-0"],
                           "monitors": []}}, days=0.5)  # fmt: skip
    assert (services["total"], services["would_act"], services["over_by_itself"]) == (None, None, None)
    assert (services["expected_saved_minutes"], services["not_kept"]) == (None, ["service.nginx.state"])
    assert [(row["target"], row["firings"], row["unknown_s"]) for row in services["by_target"]] == [
        ("box-0", None, DAY / 2)
    ]


def test_one_failure_fires_again_after_each_cooldown_and_is_one_failure(fleet):
    here = fleet(hosts=1)
    here.live(4 * HOUR, hot_between((600, 3 * HOUR)), rules=False)
    answer = here.asked(HOT, days=0.2)
    assert (answer["total"], answer["failures"]) == (3, 1)
    rows = answer["firings"][::-1]
    assert [row["again"] for row in rows] == [False, True, True]
    assert [second["at"] - first["at"] for first, second in pairwise(rows)] == [3600, 3600]
    assert [row["would_act"] for row in rows] == [True, False, False]
    assert {row["lasted_s"] for row in rows} == {3 * HOUR - 600}


def test_what_was_over_by_itself_within_the_time_that_the_act_would_have_had(fleet):
    here = fleet(hosts=1)
    here.live(4 * HOUR, hot_between((600, 960), (2 * HOUR, 3 * HOUR)), rules=False)
    answer = here.asked(HOT, days=0.2)
    assert [row["over_by_itself"] for row in answer["firings"][::-1]] == [True, False]
    assert answer["over_by_itself"] == 1
    assert answer["expected_saved_minutes"] is None
    assert answer["why"] == "no trial has shown yet what clear_cache does"


def window(root, since, until, action="suppress"):
    windows_of(root)["w1"] = HealingWindow(
        {"target": "box-0", "duration": "1h", "reason": "patch", "action": action, "created_by": "otto",
         "created_at": since, "expires_at": until}
    )  # fmt: skip


@pytest.mark.parametrize("action", ["suppress", "notify_only"])
def test_a_window_would_have_stopped_it(fleet, action):
    here = fleet(hosts=1)
    here.node.transact(window, BEGIN + HOUR, BEGIN + 2 * HOUR, action)
    here.live(4 * HOUR, hot_between((HOUR + 600, HOUR + 1800), (3 * HOUR, 3.5 * HOUR)), rules=False)
    answer = here.asked(HOT, days=0.2)
    assert [row["blocked_by"] for row in answer["firings"][::-1]] == [["window"], ["level"]]
    assert (answer["would_act"], answer["stopped_by"][0]["firings"]) == (1, 1)


def test_a_release_would_have_lowered_the_level_that_it_may_reach(fleet):
    here = fleet(hosts=1)
    here.node.transact(window, BEGIN + HOUR, BEGIN + 2 * HOUR, "release")
    here.live(4 * HOUR, hot_between((HOUR + 600, HOUR + 1800), (3 * HOUR, 3.5 * HOUR)), rules=False)
    answer = here.asked({**HOT, "trust_ceiling": "approve"}, days=0.2)
    assert [row["blocked_by"] for row in answer["firings"][::-1]] == [["at stake"], ["level"]]


def test_what_a_window_holds_back_comes_when_it_ends_as_it_does_live(fleet):
    """A suppressed alert is tried again each minute, and is one as soon as nothing suppresses it."""
    here, without = fleet(TOLD, hosts=1), fleet(hosts=1)
    for each, rules in ((here, True), (without, False)):
        each.node.transact(window, BEGIN + HOUR, BEGIN + 2 * HOUR)
        each.live(4 * HOUR, hot_between((HOUR + 600, 3 * HOUR)), rules=rules)
    answer, live = without.asked(TOLD, days=0.2), lived(here, "hot")
    assert [row["would"] for row in answer["firings"][::-1]] == ["suppress", "notify"]
    assert all(same(live, rehearsed(answer), within=60))


def test_a_target_that_it_hangs_on_would_have_been_the_cause(fleet):
    """Both are hot at the same time, and then the one below alone."""
    here = fleet(hosts=2)
    graph = [{"target": "box-1"}, {"target": "box-0", "depends_on": ["box-1"]}]
    here.node.transact(lambda root: depend(root, graph))

    def signal(n, now):
        at = now - BEGIN
        return {"cpu_percent": 97.0 if at < HOUR or (n == 0 and 2 * HOUR <= at < 3 * HOUR) else 20.0}

    here.live(4 * HOUR, signal, rules=False)
    rows = {(row["target"], row["again"], *row["blocked_by"]) for row in here.asked(HOT, days=0.2)["firings"]}
    assert rows == {("box-1", False, "level"), ("box-0", False, "root cause"), ("box-0", False, "level")}


def test_the_brake_would_have_stopped_the_last_of_too_many(fleet):
    here = fleet(hosts=4, brake={"max_heals_per_hour": {"rule": 2}})
    here.live(2 * HOUR, hot_between((600, HOUR)), rules=False)
    answer = here.asked(HOT, days=0.1)
    assert sorted(tuple(row["blocked_by"]) for row in answer["firings"]) == [
        ("brake",), ("brake",), ("level",), ("level",)
    ]  # fmt: skip
    assert answer["would_act"] == 2


def test_what_is_protected_is_left_alone(fleet):
    here = fleet(hosts=1, protected={"targets": ("box-0",)})
    here.live(2 * HOUR, hot_between((600, HOUR)), rules=False)
    assert [row["blocked_by"] for row in here.asked(HOT, days=0.1)["firings"]] == [["protected"]]


def test_each_mount_is_a_target(fleet):
    here = fleet(hosts=1, metrics=("disk./.percent", "disk./var.percent"))

    def signal(n, now):
        return {"disk./.percent": 40.0, "disk./var.percent": 95.0 if now - BEGIN > HOUR else 60.0}

    here.live(3 * HOUR, signal, rules=False)
    rule = {**HOT, "condition": "disk.*.percent > 90"}
    answer = here.asked(rule, days=0.1)
    assert {row["target"]: row["firings"] for row in answer["by_target"]} == {"box-0//": 0, "box-0//var": 2}


def test_what_the_action_did_elsewhere_says_what_it_would_save(fleet):
    """Of others' trials: 9 of 10 recovered with it, 3 of 10 without; a heal takes a minute."""
    other = {**HOT, "id": "other", "condition": "cpu_percent > 99"}
    here = fleet(other, hosts=1)
    here.node.transact(_tried)
    here.live(6 * HOUR, hot_between((HOUR, 2 * HOUR), (3 * HOUR, 4 * HOUR)), rules=False)
    answer = here.asked(HOT, days=0.25)
    saved = answer["expected_saved_minutes"]
    assert answer["learned_from"] == ["other"]
    assert saved["value"] == pytest.approx(0.6 * 2 * (55 - 1), abs=4)
    assert saved["low"] < saved["value"] < saved["high"]


def _tried(root):
    state = healing_of(root)["trust"]["other"]
    bets = Bets(last=(3,) * 9 + (2,) + (1,) * 3 + (0,) * 7)
    tried = state.trust.tried(Trials(Arm(10, 9), Arm(10, 3), bets))
    state.become(root, tried, cause="test", now=float(BEGIN))
    healing_of(root).trials.durations_of("other", tried.definition).took(Healed(90.0, 60.0))


def test_more_than_can_be_thought_over_is_refused_with_what_can(fleet, monkeypatch):
    here = fleet(hosts=3)
    here.live(HOUR, hot_between(), rules=False)
    monkeypatch.setattr(rehearsals, "TARGET_DAYS", 20)
    with pytest.raises(Invalid) as refused:
        here.asked(HOT, days=10)
    assert "2 of them at most" in refused.value.fields["days"]
    assert here.asked(HOT, days=5)["total"] == 0
    for since, until in ((BEGIN, BEGIN), (BEGIN - 40 * DAY, BEGIN), (BEGIN + 2 * HOUR, None)):
        with pytest.raises(Invalid) as refused:
            here.asked(HOT, since=since, until=until)
        assert refused.value.fields.keys() == {"from"}


def test_of_a_monitor_its_status_and_its_response_time(fleet):
    here = fleet(hosts=1)
    number = here.node.transact(_monitored, here.node.series.numbers.take()[0])
    here.ward.hosts.here.append(place("shop", None, subject="monitor:m1", names=("shop", "m1"), interval=60.0))
    journal, down = here.node.series.journal, range(BEGIN + HOUR, BEGIN + 2 * HOUR)
    for at in range(BEGIN + 60, BEGIN + 4 * HOUR, 60):
        here.clock.advance(60)
        journal.add(number, at * 1000, None if at in down else 900.0 if at > down.stop + HOUR else 80.0,
                    CODES["down" if at in down else "up"], 180)  # fmt: skip
    here.settle()
    for later in (0, 9 * DAY):  # raw, and summed up
        here.clock.advance(later)
        here.settle()
        asked = {"days": 10 if later else 0.2}
        answer = here.asked({**HOT, "condition": 'monitor.status == "down"'}, **asked)
        [row] = [row for row in answer["firings"] if not row["again"]]
        assert abs(row["at"] - down.start - 300) <= row["resolution_s"]
        assert abs(row["lasted_s"] - HOUR) <= 2 * row["resolution_s"]
        assert row["link"].startswith("/monitors/m1" + address(row["since"] - HOUR, 0, 0).partition("&")[0])
        slow = here.asked({**HOT, "condition": "response_time_ms > 500"}, **asked)
        [row] = [row for row in slow["firings"] if not row["again"]]
        assert abs(row["at"] - down.stop - HOUR - 300) <= row["resolution_s"] + 60


def _monitored(root, number):
    monitor = Monitor(MonitorSettings(name="shop", type="http"), number, float(BEGIN))
    monitors_of(root)["m1"] = monitor
    return number


@pytest.mark.parametrize("limit", ["MOST_FIRINGS", "MOST_CHANGES"])
def test_what_fires_too_often_for_the_time_is_refused(fleet, monkeypatch, limit):
    here = fleet(hosts=1)
    here.live(3 * HOUR, hot_between((0, 600), (1200, 1800), (2400, 3000)), rules=False)
    monkeypatch.setattr(rehearsals, limit, 2)
    with pytest.raises(Invalid) as refused:
        here.asked(HOT, days=0.2)
    assert "too often" in refused.value.fields["rule.condition"]


@pytest.mark.parametrize("other", ['service.nginx.state == "failed"', 'event.name == "DiskFull"'])
def test_what_hangs_on_a_reading_without_history_is_unknown_where_that_decides(fleet, other):
    here = fleet(hosts=2)
    hot = hot_between((600, 3600))
    here.live(2 * HOUR, lambda n, now: hot(n, now) if n == 0 else {"cpu_percent": 20.0}, rules=False)
    both = here.asked({**HOT, "condition": f"cpu_percent > 90 and {other}"}, days=0.08)
    assert (both["total"], both["failures"], both["would_act"], both["over_by_itself"]) == (None,) * 4
    names = ", ".join(both["not_kept"])
    assert other.partition(" ")[0] in names
    assert both["why"] == f"while the rest of the condition holds, it hangs on what has no history: {names}"
    assert [row["firings"] for row in both["by_target"]] == [None, 0], "of the one that was never hot all is known"


def test_what_holds_without_a_reading_that_has_no_history_is_counted(fleet):
    here = fleet(hosts=1)
    here.live(2 * HOUR, hot_between((600, 3600)), rules=False)
    either = here.asked({**HOT, "condition": 'cpu_percent > 90 or service.nginx.state == "failed"'}, days=0.08)
    assert (either["total"], either["not_kept"]) == (1, ["service.nginx.state"])
    assert either["unknown_s"] > HOUR / 2
