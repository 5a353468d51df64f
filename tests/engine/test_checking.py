"""Checks, states and incidents over the real store with the test's own clock."""

import itertools
import time
from dataclasses import replace

import gevent
import pytest

from opsapp.agents.logic import BACK_WITHIN_S
from opsapp.lib.problems import StoreAway
from opsapp.monitoring.engine import measurements
from opsapp.monitoring.engine.checks import request_check
from opsapp.monitoring.engine.maintenance import WindowEdges
from opsapp.monitoring.engine.register import Register
from opsapp.monitoring.logic.settings import MonitoringSettings
from opsapp.monitoring.logic.timetable import next_moment
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.serieswork import flush
from opsapp.series.observations import DOWN as DOWN_CODE
from opsapp.series.observations import UP as UP_CODE
from opsapp.series.process import Series
from opsapp.wire.probes import Outcome
from tests.support.monitoring import BLIND, DOWN, UP, WARNS, Lookout


@pytest.fixture
def lookout(service):
    return Lookout(service)


def test_a_new_monitor_is_checked_at_once_and_then_every_interval(lookout):
    monitor_id = lookout.add()
    lookout.sees[monitor_id] = UP
    lookout.run(600)
    times = [at for _, at in lookout.checked]
    assert times[0] == 0
    assert len(times) in (10, 11, 12)
    assert all(59.5 <= b - a <= 60.5 for a, b in itertools.pairwise(times[1:]))
    monitor = lookout.monitor(monitor_id)
    assert monitor["status"] == "up"
    assert monitor["response_time_ms"] == 12
    assert lookout.service.clock.now() - monitor["last_check"] <= 60


@pytest.mark.parametrize("retries", [1, 2])
def test_a_new_monitor_is_not_down_before_its_re_checks_whenever_its_regular_check_comes(lookout, retries):
    ids = [lookout.add(name=f"m{number}", retries=retries, interval=40) for number in range(20)]
    for each in ids:
        lookout.sees[each] = DOWN
    lookout.run(10 * retries - 0.5)
    assert {lookout.monitor(each)["status"] for each in ids} == {"pending"}
    lookout.run(2)
    assert {lookout.monitor(each)["status"] for each in ids} == {"down"}


def test_down_opens_one_incident_after_the_retries_and_up_resolves_it(lookout):
    monitor_id = lookout.add()
    lookout.sees[monitor_id] = UP
    lookout.run(60)
    lookout.sees[monitor_id] = DOWN
    lookout.checked.clear()
    lookout.run(200)
    assert lookout.monitor(monitor_id)["status"] == "down"
    times = [at for _, at in lookout.checked]
    assert [round(b - a) for a, b in itertools.pairwise(times[:3])] == [10, 10]
    (incident,) = lookout.incidents()
    assert incident["status"] == "open"
    assert incident["cause"] == "HTTP 500"
    assert incident["monitor_id"] == monitor_id
    assert incident["monitor_name"] == "Shop"
    assert "resolved" not in incident
    assert lookout.monitor(monitor_id)["incident_id"] == incident["id"]
    lookout.sees[monitor_id] = UP
    lookout.run(61)
    (incident,) = lookout.incidents("status=resolved")
    assert incident["resolved"] > incident["started"]
    assert incident["duration_minutes"] == pytest.approx((incident["resolved"] - incident["started"]) / 60, abs=0.01)
    assert lookout.incidents("status=open") == []
    assert lookout.monitor(monitor_id)["incident_id"] is None


def test_state_and_incident_are_one_transaction_and_one_event_each(lookout):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = DOWN
    lookout.run(60)
    lookout.sees[monitor_id] = UP
    lookout.run(60)
    lookout.service.node.events.step()
    told = [(each.kind, each.data["change"], each.data["status"]) for each in lookout.service.node.events.since("")]
    assert told == [
        ("monitor", "created", "pending"),
        ("incident", "opened", "open"),
        ("monitor", "status", "down"),
        ("incident", "resolved", "resolved"),
        ("monitor", "status", "up"),
    ]


def test_a_state_shows_no_sooner_than_its_incident(lookout, monkeypatch):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = UP
    lookout.tick()
    settle, seen = lookout.watch.verdicts.settle, []

    def look(*verdict):
        """Whoever asks while the verdict waits for its commit."""
        seen.append((lookout.monitor(monitor_id)["status"], len(lookout.incidents("status=open"))))
        return settle(*verdict)

    monkeypatch.setattr(lookout.watch.verdicts, "settle", look)
    for outcome in (DOWN, UP):
        lookout.sees[monitor_id] = outcome
        lookout.run(61)
    assert seen == [("up", 0), ("down", 1)]
    assert lookout.monitor(monitor_id)["status"] == "up"


def test_settings_that_change_while_a_verdict_waits_for_its_commit_start_afresh(lookout, monkeypatch):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = UP
    lookout.tick()
    settle = lookout.watch.verdicts.settle

    def change(*verdict):
        monkeypatch.setattr(lookout.watch.verdicts, "settle", settle)
        lookout.service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"url": "http://other.example/"})
        lookout.watch.follow()
        lookout.sees[monitor_id] = UP
        return settle(*verdict)

    monkeypatch.setattr(lookout.watch.verdicts, "settle", change)
    lookout.sees[monitor_id] = DOWN
    lookout.run(121)
    assert lookout.service.read(lambda root: monitors_of(root)[monitor_id].state.status) == "up"
    assert lookout.monitor(monitor_id)["status"] == "up"


def test_a_check_under_way_says_nothing_of_settings_that_came_meanwhile(lookout, monkeypatch):
    """The answer of an old address is no verdict on the new one, which is looked at at once."""
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = UP
    lookout.tick()
    measure = lookout.checker.measuring.measure

    def slow(entry):
        monkeypatch.setattr(lookout.checker.measuring, "measure", measure)
        lookout.service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"url": "http://other.example/"})
        lookout.watch.follow()
        return DOWN

    monkeypatch.setattr(lookout.checker.measuring, "measure", slow)
    lookout.run(61)
    lookout.checked.clear()
    lookout.run(1)
    assert lookout.incidents() == []
    assert lookout.monitor(monitor_id)["status"] == "up"


def test_what_was_measured_at_another_address_is_not_shown_for_the_new_one(lookout):
    monitor_id = lookout.add(url="https://shop.example/")
    lookout.sees[monitor_id] = Outcome(True, 12.0, "HTTP 200", {"total": 12.0}, 40.0, "HTTP/2")
    lookout.tick()
    known = lookout.monitor(monitor_id)
    assert (known["cert_days"], known["response_time_ms"], known["protocol"]) == (40.0, 12, "HTTP/2")
    lookout.service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"url": "http://other.example/"})
    shown = lookout.monitor(monitor_id)
    assert shown["status"] == "pending"
    assert {name: shown[name] for name in MEASURED} == dict.fromkeys(MEASURED)


MEASURED = ("cert_days", "response_time_ms", "protocol", "phases", "last_check")


def test_the_days_of_a_certificate_are_told_to_other_nodes_and_outlive_a_restart(lookout):
    """They learn its end when it changes, and that it is still that one from the journal's rows."""
    service = lookout.service
    monitor_id = lookout.add(url="https://shop.example/", interval=300, timeout=10)
    for days in (40.0, 40.0, 90.0):
        lookout.sees[monitor_id] = Outcome(True, 12.0, "HTTP 200", None, days)
        lookout.run(301, step=10)
    flush(service.node)
    other = Series("other", service.node.transact)
    register = Register(MonitoringSettings(), other.live, service.clock)
    for _ in range(2):
        service.node.transact(lambda root: register.catch_up(root) or other.catch_up(root))
        other.tell()
    here = lookout.monitor(monitor_id)["cert_days"]
    assert here == 90.0
    assert other.live.value(f"monitor:{monitor_id}", "cert_days") == pytest.approx(here, abs=0.02)
    told = [each.data["change"] for each in events_of(service) if each.kind == "monitor"]
    assert told == ["created", "status", "certificate"]  # the same certificate again is no news


def events_of(service):
    service.node.events.step()
    return service.node.events.since("")


def test_a_flapping_target_is_flagged(lookout):
    monitor_id = lookout.add(retries=0)
    for n in range(8):
        lookout.sees[monitor_id] = UP if n % 2 else DOWN
        lookout.run(60)
    assert lookout.monitor(monitor_id)["flapping"] is True
    assert len(lookout.incidents()) == 4
    lookout.sees[monitor_id] = UP
    lookout.run(1300)
    assert lookout.monitor(monitor_id)["flapping"] is False


def test_observations_carry_the_state_and_how_long_it_lasts(lookout):
    monitor_id = lookout.add(retries=0)
    journal = lookout.service.node.series.journal
    lookout.sees[monitor_id] = UP
    lookout.tick()
    lookout.sees[monitor_id] = DOWN
    lookout.run(60)
    rows = [(value, status, hold) for _, _, value, status, hold in journal._pending if hold]
    assert rows == [(12.0, UP_CODE, 71), (None, DOWN_CODE, 71)]


def test_live_values_for_conditions(lookout):
    monitor_id = lookout.add()
    lookout.sees[monitor_id] = Outcome(True, 34.5, "", certificate_days=80.5)
    lookout.tick()
    live = lookout.service.node.series.live.get(f"monitor:{monitor_id}")
    now = lookout.service.clock.now()
    assert live["status"] == ("up", now)
    assert live["response_time_ms"] == (34.5, now)
    assert live["cert_days"] == (80.5, now)


def test_when_nobody_looks_any_more_it_is_unknown(lookout):
    monitor_id = lookout.add()
    lookout.sees[monitor_id] = UP
    lookout.tick()
    lookout.service.clock.advance(70)
    assert lookout.monitor(monitor_id)["status"] == "up"
    lookout.service.clock.advance(2)
    assert lookout.monitor(monitor_id)["status"] == "unknown"
    assert lookout.service.vera.get("/api/monitoring/endpoints?status=unknown").headers["X-Total-Count"] == "1"


def test_what_nobody_looks_at_is_unknown_since_its_last_check_ceased_to_count(lookout):
    monitor_id = lookout.watch_through((UP, 7200))
    last = lookout.monitor(monitor_id)["last_check"]
    lookout.service.clock.advance(3600)
    shown = lookout.monitor(monitor_id)
    assert shown["status"] == "unknown"
    assert shown["since"] == last + 71  # interval, timeout and a second: so long a check speaks for its monitor
    (trouble,) = lookout.service.vera.get("/api/overview").json["troubles"]
    assert trouble["since"] == shown["since"]


def planned(lookout, monitor_id, start, end):
    window = {"name": "work", "start": f"2055-01-15T{start}", "end": f"2055-01-15T{end}", "scope": [monitor_id]}
    return lookout.service.otto.post_json("/api/maintenance", window).json["id"]


def test_a_window_that_has_begun_says_since_when_before_the_next_check(lookout):
    monitor_id = lookout.watch_through((UP, 60))
    began = int(lookout.service.clock.now()) + 30
    planned(lookout, monitor_id, time.strftime("%H:%M:%S", time.gmtime(began)), "10:00:00")
    lookout.service.clock.advance(40)
    shown = lookout.monitor(monitor_id)
    assert (shown["status"], shown["since"]) == ("maintenance", began)


def test_a_window_that_is_over_leaves_nothing_that_begins_later_than_now(lookout):
    monitor_id = lookout.watch_through((UP, 60))
    window_id = planned(lookout, monitor_id, "07:00:00", "10:00:00")
    lookout.run(70, step=1)  # checked within it
    assert lookout.monitor(monitor_id)["status"] == "maintenance"
    lookout.service.otto.delete(f"/api/maintenance/{window_id}")
    shown = lookout.monitor(monitor_id)
    assert (shown["status"], shown["since"]) == ("unknown", int(lookout.service.clock.now()))


def test_what_was_not_looked_at_since_the_start_is_unknown_since_then(lookout):
    monitor_id = lookout.watch_through((UP, 7200))
    node = lookout.service.node
    node.series.live.drop(f"monitor:{monitor_id}")  # the journal of the process before is gone
    node.started_at = lookout.service.clock.now()
    lookout.service.clock.advance(600)
    shown = lookout.monitor(monitor_id)
    assert (shown["status"], shown["since"]) == ("unknown", int(node.started_at))


def test_what_cannot_be_looked_at_is_unknown_and_opens_nothing(lookout):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = BLIND
    lookout.run(200)
    assert lookout.monitor(monitor_id)["status"] == "unknown"
    assert lookout.monitor(monitor_id)["cause"] == "cannot look"
    assert lookout.incidents() == []


def test_a_paused_monitor_is_not_checked_and_its_incident_is_resolved(lookout):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = DOWN
    lookout.run(10)
    lookout.service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"enabled": False})
    lookout.checked.clear()
    lookout.run(200)
    assert lookout.checked == []
    assert lookout.monitor(monitor_id)["status"] == "paused"
    assert lookout.incidents()[0]["status"] == "resolved"
    lookout.service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"enabled": True})
    again = lookout.service.clock.now()
    in_phase = next_moment(monitor_id, 60, again) <= again + 5  # its regular moment may fall into these seconds
    lookout.run(5)
    assert len(lookout.checked) == 1 + in_phase
    assert lookout.checked[0][1] == again - lookout.started
    assert lookout.monitor(monitor_id)["status"] == "down"
    assert len(lookout.incidents()) == 2


def test_a_changed_monitor_is_checked_at_once(lookout):
    monitor_id = lookout.add(interval=3600)
    lookout.sees[monitor_id] = UP
    lookout.tick()
    lookout.service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"expected_status": 204})
    lookout.tick()
    assert len(lookout.checked) == 2


def test_a_deleted_monitor_is_forgotten_and_its_incident_resolved(lookout):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = DOWN
    lookout.tick()
    lookout.service.ada.delete(f"/api/monitoring/endpoints/{monitor_id}")
    lookout.checked.clear()
    lookout.run(200)
    assert lookout.checked == []
    assert lookout.incidents()[0]["status"] == "resolved"
    assert lookout.service.node.series.live.get(f"monitor:{monitor_id}") == {}


def test_a_verdict_about_older_settings_says_nothing(lookout):
    monitor_id = lookout.add(retries=0)
    measure = lookout.checker.measuring.measure

    def slow_check(entry):
        lookout.service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"url": "http://other.example/"})
        lookout.checker.measuring.measure = measure
        return DOWN

    lookout.checker.measuring.measure = slow_check
    lookout.sees[monitor_id] = UP
    lookout.tick()
    assert lookout.incidents() == []


def test_an_older_check_that_ends_later_is_not_believed(lookout):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = UP
    lookout.tick()
    entry = lookout.watch.register.entries[monitor_id]
    assert lookout.watch.take(entry, DOWN, began=lookout.service.clock.monotonic() - 5) is None
    assert lookout.monitor(monitor_id)["status"] == "up"


def test_a_store_that_is_away_loses_no_incident(lookout, monkeypatch):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = UP
    lookout.tick()
    lookout.sees[monitor_id] = DOWN
    whole = lookout.service.node.transact

    def away(fn, *values):
        raise StoreAway

    monkeypatch.setattr(lookout.watch.node, "transact", away)
    lookout.checker.check(lookout.watch.register.entries[monitor_id])
    monkeypatch.setattr(lookout.watch.node, "transact", whole)
    assert lookout.incidents() == []
    lookout.run(61)
    assert len(lookout.incidents()) == 1


def test_after_a_restart_the_state_is_the_stored_one_and_nothing_opens_twice(lookout):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = DOWN
    lookout.tick()
    lookout.service.node.registry["opsapp.monitoring"] = type(lookout.watch)(lookout.service.node)
    again = Lookout(lookout.service)
    again.watch.follow()
    assert again.watch.register.entries[monitor_id].standing.alarmed
    again.sees[monitor_id] = DOWN
    again.run(120)
    assert len(again.incidents()) == 1
    again.sees[monitor_id] = UP
    again.run(61)
    assert [each["status"] for each in again.incidents()] == ["resolved"]


def test_in_a_maintenance_window_nothing_opens(lookout):
    window = {"name": "patch", "start": "2055-01-15T08:00:00", "end": "2055-01-15T08:20:00", "scope": []}
    window_id = lookout.service.otto.post_json("/api/maintenance", window, status=201).json["id"]
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = DOWN
    lookout.run(130)
    assert lookout.monitor(monitor_id)["status"] == "maintenance"
    assert lookout.incidents() == []
    lookout.service.otto.delete(f"/api/maintenance/{window_id}")
    lookout.run(60)
    assert lookout.monitor(monitor_id)["status"] == "down"
    assert len(lookout.incidents()) == 1


def test_a_window_of_the_maintenance_room_covers_its_scope_and_nothing_else(lookout):
    """The test's clock says 08:00; the window lasts from 08:02 to 08:12, and checks fall on any moment of a minute."""
    covered, other = (lookout.add(name=name, retries=0) for name in ("covered", "other"))
    lookout.sees |= {covered: UP, other: UP}
    window = {"name": "patch", "start": "2055-01-15T08:02:00", "end": "2055-01-15T08:12:00", "scope": [covered]}
    lookout.service.otto.post_json("/api/maintenance", window, status=201)
    edges, seen = WindowEdges(lookout.service.node, lookout.watch.register, lookout.checker.table), {}
    for second in range(900):
        if second == 60 * 5:
            lookout.sees |= {covered: DOWN, other: DOWN}
        edges.step()
        lookout.tick()
        seen.setdefault(lookout.monitor(covered)["status"], second)
        lookout.service.clock.advance(1)
    assert (seen["up"], seen["maintenance"], seen["down"]) == (0, 120, 720)  # as it turns, not a check later
    begun = {each["monitor_id"]: each["started"] - int(lookout.started) for each in lookout.incidents()}
    assert begun[covered] == 720
    assert 300 <= begun[other] <= 360
    flush(lookout.service.node)
    sla = {each["monitor_id"]: each for each in lookout.service.vera.get("/api/monitoring/sla?days=1").json}
    assert (sla[covered]["maintenance_minutes"], sla[other]["maintenance_minutes"]) == (10.0, 0.0)
    assert sla[covered]["downtime_minutes"] <= 3.1


def test_hanging_checks_have_a_lane_of_their_own(lookout):
    lookout.checker.quick.limit = lookout.checker.slow.limit = 5
    hanging = [lookout.add(name=f"hangs {n}") for n in range(20)]
    good = [lookout.add(name=f"good {n}") for n in range(20)]
    lookout.watch.follow()
    for monitor_id in hanging:
        lookout.watch.register.entries[monitor_id].slow = True
    gate = gevent.event.Event()
    checked = []

    def measure(entry):
        if entry.id in hanging:
            gate.wait()
        checked.append(entry.id)
        return UP

    lookout.checker.measuring.measure = measure
    lookout.checker.dispatch()
    for _ in range(200):
        gevent.sleep(0)
    assert set(checked) == set(good)
    gate.set()
    while lookout.checker.running:
        gevent.sleep(0)
    assert set(checked) == {*good, *hanging}


def test_a_check_on_request_is_fresh_and_counts(lookout):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = DOWN
    lookout.tick()
    lookout.sees[monitor_id] = UP
    lookout.service.clock.advance(1)
    result = request_check(lookout.service.node, monitor_id)
    assert result == ("up", lookout.service.clock.now(), UP)
    assert lookout.incidents()[0]["status"] == "resolved"


def test_a_push_monitor_is_down_when_its_call_is_late(lookout):
    monitor_id = lookout.add(type="push", url="", interval=60, retries=1)
    url = lookout.monitor(monitor_id)["push_url"]
    lookout.run(30)
    assert lookout.monitor(monitor_id)["status"] == "pending"
    for _ in range(5):
        lookout.service.anonymous.get(url)
        lookout.run(59)
        assert lookout.monitor(monitor_id)["status"] == "up"
    lookout.run(4)
    assert lookout.incidents() == []
    lookout.run(15)
    assert lookout.monitor(monitor_id)["status"] == "down"
    assert len(lookout.incidents()) == 1
    lookout.service.anonymous.post(url)
    assert lookout.monitor(monitor_id)["status"] == "up"
    assert lookout.incidents()[0]["status"] == "resolved"


def test_a_push_monitor_that_was_never_called_goes_down(lookout):
    monitor_id = lookout.add(type="push", url="", interval=60, retries=0)
    lookout.run(59)
    assert lookout.monitor(monitor_id)["status"] == "pending"
    lookout.run(5)
    assert lookout.monitor(monitor_id)["status"] == "down"


def test_a_push_monitor_that_is_late_with_its_first_call_was_not_checked_yet(lookout):
    lookout.run(200)  # the service is older than the monitor
    monitor_id = lookout.add(type="push", url="", interval=60, retries=2)
    lookout.run(66)
    assert lookout.monitor(monitor_id)["status"] == "pending"
    assert lookout.monitor(monitor_id)["last_check"] is None
    lookout.run(54)
    whole = lookout.monitor(monitor_id)
    assert whole["status"] == "down"
    assert whole["last_check"]
    assert 60 <= int(whole["cause"].split()[3]) <= 120  # since it was made, not since the service was started


def test_an_agent_monitor_is_up_while_its_agent_reports(lookout):
    box = lookout.service.ada.post_json("/api/agents", {"label": "box"}).json
    monitor_id = lookout.add(type="agent", url=f"agent://{box['agent_id']}", interval=10, retries=0)
    lookout.tick()
    assert lookout.monitor(monitor_id)["status"] == "unknown"
    for _ in range(4):
        report, key = {"hostname": "box-1", "os": "Debian 12", "uptime_s": 3600}, {"X-Agent-Key": box["key"]}
        lookout.service.anonymous.post_json(f"/api/agents/{box['agent_id']}/report", report, headers=key)
        lookout.run(15)
    assert lookout.monitor(monitor_id)["status"] == "up"
    lookout.run(40)
    assert lookout.monitor(monitor_id)["status"] == "down"
    assert "no report for" in lookout.incidents()[0]["cause"]


def test_an_agent_monitor_is_unknown_until_its_agent_had_time_to_come_back_after_an_outage_of_ours(lookout):
    service = lookout.service
    agent = service.ada.post_json("/api/agents", {"label": "box"}).json
    monitor_id = lookout.add(type="agent", url=f"agent://{agent['agent_id']}", interval=10, retries=0)
    sent, headers = {"hostname": "box", "os": "Debian 12"}, {"X-Agent-Key": agent["key"]}
    service.anonymous.post_json(f"/api/agents/{agent['agent_id']}/report", sent, headers=headers)
    lookout.run(20)
    assert lookout.monitor(monitor_id)["status"] == "up"
    assert [host["status"] for host in service.vera.get("/api/agents").json] == ["online"]
    service.clock.advance(600)
    service.node.started_at = service.clock.now()
    lookout.run(BACK_WITHIN_S - 5)
    assert lookout.monitor(monitor_id)["status"] == "unknown"
    assert lookout.incidents() == []
    lookout.run(30)
    assert lookout.monitor(monitor_id)["status"] == "down"


def test_an_agent_monitor_is_no_outage_while_a_stopped_agent_has_time_to_come_back(lookout):
    service = lookout.service
    agent = service.ada.post_json("/api/agents", {"label": "box"}).json
    monitor_id = lookout.add(type="agent", url=f"agent://{agent['agent_id']}", interval=10, retries=0)

    def report(**more):
        sent, headers = {"hostname": "box", "os": "Debian 12", **more}, {"X-Agent-Key": agent["key"]}
        service.anonymous.post_json(f"/api/agents/{agent['agent_id']}/report", sent, headers=headers)

    for _ in range(3):
        report()
        lookout.run(15)
        report(stopped=True)
        assert service.vera.get("/api/agents").json[0]["stopped_at"]
        lookout.run(20)
        assert lookout.monitor(monitor_id)["status"] == "unknown"
    assert lookout.incidents() == []
    lookout.run(25)
    assert lookout.monitor(monitor_id)["status"] == "down"
    assert "its agent was stopped" in lookout.incidents()[0]["cause"]


def test_the_configuration_says_when_a_certificate_is_near_its_end_also_after_a_reload(lookout):
    monitor_id = lookout.add()
    lookout.sees[monitor_id] = Outcome(True, 5.0, "", certificate_days=20.0)
    lookout.run(60)
    assert lookout.monitor(monitor_id)["status"] == "up"
    node = lookout.service.node
    node.config = node.config.having(MonitoringSettings(certificate_warn_days=30))
    see = lookout.checker.measuring.measure
    lookout.checker.configure()
    lookout.checker.measuring.measure = see
    lookout.run(60)
    assert lookout.monitor(monitor_id)["status"] == "degraded"
    assert "certificate" in lookout.monitor(monitor_id)["cause"]


def test_nodes_share_the_checks_and_take_over(lookout, monkeypatch):
    ids = {lookout.add(name=f"m{n}") for n in range(40)}
    lookout.sees = dict.fromkeys(ids, UP)
    alive = ["box", "other"]
    monkeypatch.setattr(lookout.service.node.nodes, "working", lambda role: tuple(alive))
    lookout.run(5)
    ours = {monitor_id for monitor_id, _ in lookout.checked}
    assert 5 < len(ours) < 35
    lookout.checked.clear()
    alive.remove("other")
    lookout.run(61)
    assert {monitor_id for monitor_id, _ in lookout.checked} == ids


@pytest.mark.parametrize(
    ("seen", "quorum", "status"),
    [
        ([UP, UP, UP], 2, "up"),
        ([UP, DOWN, UP], 2, "up"),
        ([UP, DOWN, DOWN], 2, "down"),
        ([DOWN, BLIND, BLIND], 2, "unknown"),
        ([DOWN, BLIND, BLIND], 1, "down"),
        ([BLIND, BLIND, BLIND], 1, "unknown"),
        ([WARNS, UP, UP], 1, "degraded"),
        ([WARNS, UP, UP], 2, "up"),
        ([WARNS, DOWN, UP], 2, "degraded"),
        ([WARNS, DOWN, DOWN], 2, "down"),
    ],
)
def test_a_quorum_of_agents_decides(lookout, monkeypatch, seen, quorum, status):
    monitor_id = lookout.add(retries=0)
    outcomes = dict(zip("abc", seen, strict=True))
    monkeypatch.setattr(measurements, "probe_from_agent", lambda node, agent_id, target: outcomes[agent_id])
    lookout.watch.follow()
    entry = lookout.watch.register.entries[monitor_id]
    entry.settings = replace(entry.settings, probe_from=("a", "b", "c"), quorum=quorum)
    lookout.tick()
    assert lookout.monitor(monitor_id)["status"] == status


def test_when_our_own_network_is_gone_nothing_opens(tmp_path, monkeypatch):
    from tests.support.app import Service
    from tests.support.targets import blackhole, refused_port

    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    service = Service(tmp_path)
    with blackhole() as alive:
        dead = f"tcp://127.0.0.1:{refused_port()}"
        service.node.config = service.node.config.having(MonitoringSettings(connectivity=(dead, dead)))
        lookout = Lookout(service)
        monitor_id = lookout.add(type="tcp", url=dead, interval=5, timeout=2, retries=0)
        lookout.run(20)
        assert lookout.monitor(monitor_id)["status"] == "unknown"
        assert lookout.monitor(monitor_id)["cause"] == "the network of this service is down"
        assert lookout.incidents() == []
        references = (dead, f"tcp://127.0.0.1:{alive}")
        service.node.config = service.node.config.having(MonitoringSettings(connectivity=references))
        lookout.checker.configure()
        lookout.run(20)
        assert lookout.monitor(monitor_id)["status"] == "down"
    service.close()


def test_the_configuration_says_when_a_monitor_is_flapping_and_how_far_apart_it_is_asked_again(service):
    node = service.node
    node.config = node.config.having(MonitoringSettings(flapping_changes=2, retry_spacing_s=2))
    lookout = Lookout(service)
    monitor_id = lookout.add(retries=2, interval=3600)
    lookout.sees[monitor_id] = DOWN
    lookout.run(5)
    assert [at for _, at in lookout.checked][:3] == [0, 2, 4]
    lookout.sees[monitor_id] = UP
    lookout.run(3601, step=20)
    assert lookout.monitor(monitor_id)["flapping"] is True


@pytest.mark.parametrize("how", ["disable", "delete"])
def test_a_monitor_that_is_down_stops_being_checked_while_a_window_covers_another(lookout, how):
    """Who tells of its end asks for the windows, and by them for all monitors, in the transaction that ends it."""
    service = lookout.service
    other, monitor_id = lookout.add(name="Other"), lookout.add(retries=0, tags=["public"])
    lookout.sees |= {other: UP, monitor_id: DOWN}
    window = {"name": "w", "start": "2058-01-01T00:00:00", "end": "2058-01-01T01:00:00", "scope": [other]}
    made = service.otto.post_json("/api/maintenance", window | {"autonomy_override": "disabled"}).json["id"]
    service.otto.post(f"/api/maintenance/{made}/activate")
    lookout.run(20)
    assert lookout.monitor(monitor_id)["status"] == "down"
    path = f"/api/monitoring/endpoints/{monitor_id}"
    if how == "disable":
        service.otto.put_json(path, {"enabled": False})
    else:
        service.ada.delete(path)
    lookout.tick()
    lookout.checked.clear()
    lookout.run(300)
    assert {each for each, _ in lookout.checked} == {other}
    shown = {each["id"]: each["status"] for each in service.vera.get("/api/monitoring/endpoints").json}
    assert shown.get(monitor_id) == ("paused" if how == "disable" else None)
    assert "down" not in str(service.anonymous.get("/api/status/public").json)
