"""The machine's clock is set back and forth, and everything goes on as if it had not been."""

import pytest

from opsapp.agents.engine import sweep
from opsapp.agents.resources import add_agent
from opsapp.automations.engine import housekeeping
from opsapp.automations.resources import board_of
from opsapp.notify.engine import running
from opsapp.notify.logic.grouping import MessageGroup
from opsapp.notify.resources.groups import groups_of
from tests.engine.test_agents_sweep import report, send, status, statuses
from tests.engine.test_automations_schedule import Table
from tests.support.monitoring import DOWN, UP, Lookout

HOUR = 3600
STEPS = [-HOUR, HOUR, 25 * HOUR, -25 * HOUR]
FAILED, WELL = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}


def group_at(due):
    return MessageGroup("a.b", "warning", "t", "", (), None, None, "", due, due, 1, ("t",), due)


def step(service, seconds):
    service.clock.set_by(seconds)
    service.node.clock_steps.step()
    service.tokens.clear()  # a session ends when its hour has come, and these people sign in again


@pytest.fixture
def lookout(service):
    return Lookout(service)


@pytest.mark.parametrize("seconds", STEPS)
def test_a_monitor_goes_down_and_up_as_if_there_had_been_no_step(lookout, seconds):
    monitor_id = lookout.add(interval=60, retries=1)
    lookout.sees[monitor_id] = UP
    lookout.run(120)
    step(lookout.service, seconds)
    assert lookout.monitor(monitor_id)["status"] == "up"
    lookout.sees[monitor_id] = DOWN
    lookout.run(90)
    assert lookout.monitor(monitor_id)["status"] == "down"
    assert [incident["status"] for incident in lookout.incidents()] == ["open"]
    lookout.sees[monitor_id] = UP
    lookout.run(90)
    assert lookout.monitor(monitor_id)["status"] == "up"
    (incident,) = lookout.incidents()
    assert incident["status"] == "resolved"
    assert 0 < incident["duration_minutes"] <= 3


@pytest.mark.parametrize("seconds", STEPS)
def test_a_step_while_a_monitor_is_down_neither_ends_its_incident_nor_begins_another(lookout, seconds):
    monitor_id = lookout.add(interval=60, retries=0)
    lookout.sees[monitor_id] = DOWN
    lookout.run(120)
    step(lookout.service, seconds)
    assert lookout.monitor(monitor_id)["status"] == "down"
    lookout.run(120)
    assert [incident["status"] for incident in lookout.incidents()] == ["open"]
    lookout.sees[monitor_id] = UP
    lookout.run(61)
    assert [incident["status"] for incident in lookout.incidents()] == ["resolved"]
    assert lookout.incidents()[0]["duration_minutes"] >= 0


def test_a_check_under_way_at_the_step_counts_and_blinds_nobody(lookout):
    """It began by the clock as it was before."""
    monitor_id = lookout.add(interval=60, retries=0)
    lookout.sees[monitor_id] = UP
    lookout.run(61)
    entry = lookout.watch.register.entries[monitor_id]
    began = lookout.service.clock.monotonic()
    step(lookout.service, -HOUR)
    assert lookout.watch.take(entry, DOWN, began).standing.status == "down"
    lookout.sees[monitor_id] = UP
    lookout.run(61)
    assert lookout.monitor(monitor_id)["status"] == "up"


@pytest.mark.parametrize("seconds", STEPS)
def test_a_push_monitor_is_late_when_its_call_is_and_not_before(lookout, seconds):
    monitor_id = lookout.add(type="push", url="", interval=60, retries=0)
    url = lookout.monitor(monitor_id)["push_url"]
    lookout.run(1)
    lookout.service.anonymous.post(url)
    lookout.run(30)
    step(lookout.service, seconds)
    lookout.run(25)
    assert lookout.monitor(monitor_id)["status"] == "up"
    lookout.run(40)
    assert lookout.monitor(monitor_id)["status"] == "down"


@pytest.mark.parametrize("seconds", STEPS)
def test_a_rule_fires_on_what_comes_after_the_step(ward, seconds):
    here = ward().at("notify")
    here.report(**WELL).turn()
    step(here.service, seconds)
    here.report(**FAILED).turn().turn(5)
    assert [(entry["rule_id"], entry["outcome"]) for entry in here.ledger] == [("nginx", "notified")]


@pytest.mark.parametrize("seconds", STEPS)
def test_for_runs_out_when_it_would_have(ward, seconds):
    rule = {"id": "load", "condition": "load1 > 5", "for": "60s", "action": {"type": "clear_cache"}}
    here = ward(rule).at("notify", "load")
    here.report(load1=9.0).turn()
    here.report(load1=9.0).turn(30)
    step(here.service, seconds)
    here.report(load1=9.0).turn(20)
    assert here.ledger == []
    here.report(load1=9.0).turn(15)
    here.turn(5)
    assert [entry["rule_id"] for entry in here.ledger] == ["load"]


@pytest.mark.parametrize("seconds", STEPS)
def test_an_agent_is_online_while_it_reports_and_offline_when_it_does_not(service, seconds):
    node = service.node
    node.leases.want(sweep.LEASE)
    node.leases.step()
    agent = service.transact(lambda root: add_agent(root, "web", [], service.clock.now())[0])
    report(service, agent)
    service.clock.advance(10)
    step(service, seconds)
    node.leases.step()
    sweep.step(node)
    report(service, agent)
    service.clock.advance(15)
    sweep.step(node)
    assert statuses(service) == [("pending", "online")]
    service.clock.advance(20)
    node.leases.step()
    sweep.step(node)
    assert statuses(service) == [("pending", "online"), ("online", "offline")]


@pytest.mark.parametrize("seconds", STEPS)
def test_a_heal_is_verified_by_what_is_measured_after_the_step(ward, seconds):
    here = ward().at("execute").report(**FAILED).turn().turn(5)
    step(here.service, seconds)
    here.heal(**WELL)
    assert [(entry["outcome"], entry["verified"]) for entry in here.ledger] == [("verified", 1)]


@pytest.mark.parametrize("seconds", STEPS)
def test_a_heal_that_settles_is_verified_when_it_would_have_been(ward, seconds):
    here = ward().at("execute").report(**FAILED).turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1)
    assert [case["state"] for case in here.cases] == ["settling"]
    step(here.service, seconds)
    here.pass_time(60, step=5, **WELL)
    assert [(entry["outcome"], entry["verified"]) for entry in here.ledger] == [("verified", 1)]


@pytest.mark.parametrize("seconds", STEPS)
def test_a_cooldown_lasts_as_long_as_it_would_have(ward, seconds):
    rule = {"id": "load", "condition": "load1 > 5", "cooldown_s": 600, "action": {"type": "clear_cache"}}
    here = ward(rule).at("notify", "load")
    here.report(load1=9.0).turn().turn(5)
    step(here.service, seconds)
    here.pass_time(500, step=10, load1=9.0)
    first = len(here.ledger)
    here.pass_time(200, step=10, load1=9.0)
    assert (first, len(here.ledger)) == (1, 2)


@pytest.mark.parametrize("seconds", STEPS)
def test_a_retry_comes_and_a_run_is_out_of_time_when_they_would_have(tmp_path, seconds):
    table = Table(tmp_path)
    housekeeping.start(table.service.node)
    table.tick()
    rows = [(table.clock.now() + 60, "run", "retry"), (table.clock.now() + 10, "other", "timeout")]
    table.service.transact(lambda root: board_of(root).moments.update(rows))
    step(table.service, seconds)
    assert table.service.transact(lambda root: [at for at, _, _ in board_of(root).moments]) == [
        table.clock.now() + 10,
        table.clock.now() + 60,
    ]
    table.down()


def test_a_command_for_an_agent_that_is_away_waits_as_long_as_it_would_have(service):
    node = service.node
    node.leases.want(sweep.LEASE)
    node.leases.step()
    sweep.start(node)
    agent = service.transact(lambda root: add_agent(root, "web", [], service.clock.now())[0])
    report(service, agent)
    command = send(service, agent, expiry=300)
    step(service, HOUR)
    sweep.step(node)
    assert status(service, agent, command) == "queued"
    step(service, -2 * HOUR)
    service.clock.advance(301)
    node.leases.step()
    sweep.step(node)
    assert status(service, agent, command) == "expired"


@pytest.mark.parametrize("seconds", [-HOUR, HOUR])
def test_a_message_that_is_tried_again_and_one_that_is_gathered_go_when_they_would_have(service, seconds):
    node = service.node
    node.leases.want("notify")
    node.leases.step()
    running.start(node)
    service.transact(lambda root: groups_of(root).put("a:b", group_at(service.clock.now() + 5), 60.0))
    step(service, seconds)
    now = service.clock.now()
    assert service.transact(lambda root: groups_of(root).due(now + 4, 1)) == []
    assert service.transact(lambda root: groups_of(root).due(now + 6, 1)) == ["a:b"]
