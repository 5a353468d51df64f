"""The machine's clock is set back and forth, and everything goes on as if it had not been."""

import pytest
from persistent.TimeStamp import TimeStamp

from opsapp.agents.engine import sweep
from opsapp.agents.resources import add_agent
from opsapp.automations.engine import runretention
from opsapp.automations.resources import board_of
from opsapp.healing.engine.clocks import is_left
from opsapp.healing.logic.lift import Arm
from opsapp.healing.resources import RecentHeal, healing_of
from opsapp.healing.resources.edges import EdgeTrial
from opsapp.healing.resources.trials import Coins
from opsapp.healing.stages.reported import BelievedStep
from opsapp.lib.problems import Conflict, StoreAway
from opsapp.notify.engine import clocks, workers
from opsapp.notify.logic.messagegroups import MessageGroup
from opsapp.notify.resources import inbox
from opsapp.notify.resources.groups import groups_of
from opsapp.runtime import deletions, serieswork
from opsapp.runtime.events import emit
from tests.engine.healing import NGINX
from tests.engine.test_agents_sweep import report, send, status, statuses
from tests.engine.test_automations_schedule import Table
from tests.support.app import Service
from tests.support.monitoring import DOWN, UP, Lookout

HOUR = 3600
STEPS = [-HOUR, HOUR, 25 * HOUR, -25 * HOUR]
FAILED, WELL = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}


class KilledHere(BaseException):
    """The process ends."""


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
    runretention.start(table.service.node)
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
    workers.start(node)
    service.transact(lambda root: groups_of(root).put("a:b", group_at(service.clock.now() + 5), 60.0))
    step(service, seconds)
    now = service.clock.now()
    assert service.transact(lambda root: groups_of(root).due(now + 4, 1)) == []
    assert service.transact(lambda root: groups_of(root).due(now + 6, 1)) == ["a:b"]


@pytest.mark.parametrize(("seconds", "said"), [(-HOUR, "set back by 1 h"), (25 * HOUR, "set forward by 1 d 1 h")])
def test_a_step_is_told_once_and_shown_for_an_hour(service, caplog, seconds, said):
    step(service, seconds)
    assert f"the clock of this machine was {said}" in caplog.text
    for _ in range(3):
        clocks.step(service.node)
    titles = [row.title for row in service.transact(inbox.take, 1000) if row.kind == "clock.set"]
    assert titles == [f"The clock of box was {said}"]
    service.clock.advance(120)
    service.tokens.clear()
    shown = f"the clock of box was {said} (2 min ago)"
    health = service.vera.get("/api/healing/health").json
    assert (health["status"], health["reasons"]) == ("Active", []), "it is over, and nothing to call people for"
    assert health["notes"] == [f"{shown}; everything goes on"]
    found = [found["level"] for found in service.ada.get("/api/doctor").json["findings"] if shown in found["said"]]
    assert found == ["ok"]
    assert "everything goes on" in service.browser("vera").get("/healing")
    service.clock.advance(HOUR)
    service.tokens.clear()
    assert service.vera.get("/api/healing/health").json["notes"] == []


def test_a_clock_that_is_a_little_off_is_no_step(service):
    step(service, 9)
    step(service, -9)
    assert service.node.clock_steps.recent() == []
    assert service.transact(inbox.waiting) is False
    step(service, 10)
    assert [str(seen) for seen in service.node.clock_steps.recent()] == ["set forward by 10 s"]


def test_two_steps_are_two_messages(service):
    step(service, HOUR)
    step(service, -HOUR)
    clocks.step(service.node)
    rows = [row for row in service.transact(inbox.take, 1000) if row.kind == "clock.set"]
    assert len({row.key for row in rows}) == 2


def test_what_is_due_in_a_store_from_the_future_is_due_as_long_after_its_last_change(tmp_path, monkeypatch):
    """The clock was set back while the service was down. What was moved once is not moved again at the next start."""
    moved = []
    for _ in range(2):
        service = Service(tmp_path)
        newest = TimeStamp(service.node.store.db.lastTransaction()).timeTime()
        service.node.clock._now = newest - HOUR
        steps = service.node.clock_steps
        steps.start()
        steps.carry(sweep.LEASE, "here", lambda root, by: moved.append(by))
        service.node.leases.want(sweep.LEASE)
        service.node.leases.step()
        steps.step()
        steps.step()
        service.close()
    assert moved == [pytest.approx(-HOUR, abs=1)]


def test_a_queue_whose_lease_is_another_nodes_is_left_to_it(service):
    moved = []
    service.node.clock_steps.carry("healing", "here", lambda root, by: moved.append(by))
    step(service, HOUR)
    service.node.leases.want("healing")
    service.node.leases.step()
    service.node.clock_steps.step()
    assert moved == []


def test_what_is_due_is_moved_when_the_store_is_back(service, monkeypatch):
    moved, node = [], service.node
    node.clock_steps.carry("healing", "here", lambda root, by: moved.append(by))
    node.leases.want("healing")
    node.leases.step()
    with monkeypatch.context() as away:
        away.setattr(node, "transact", gone)
        step(service, HOUR)
    assert moved == []
    node.clock_steps.step()
    assert moved == [HOUR]


def test_what_is_due_is_moved_once_though_somebody_else_looks_meanwhile(service):
    moved, steps = [], service.node.clock_steps

    def move(root, by):
        moved.append(by)
        steps.step()

    steps.carry("healing", "here", move)
    service.node.leases.want("healing")
    service.node.leases.step()
    step(service, -HOUR)
    assert moved == [-HOUR]


def gone(*_):
    raise StoreAway


@pytest.mark.parametrize("seconds", STEPS)
def test_the_brake_counts_the_heals_of_the_last_hour_whatever_the_clock_says(ward, seconds):
    here = ward().at("execute").report(**FAILED).turn().turn(5)
    here.heal(**WELL)
    counted = here.node.transact(lambda root: len(healing_of(root).recent(here.clock.now())))
    step(here.service, seconds)
    assert here.node.transact(lambda root: len(healing_of(root).recent(here.clock.now()))) == counted == 1
    here.clock.advance(HOUR)
    assert here.node.transact(lambda root: len(healing_of(root).recent(here.clock.now()))) == 0


@pytest.fixture
def left_alone(ward, monkeypatch):
    """By its coin, for a minute of which twenty seconds are over."""
    from opsapp.healing.engine import world

    monkeypatch.setattr(world, "_coin", lambda _root, _case_id: 0.0)
    quick = {**NGINX, "settle_s": 5, "verify_timeout_s": 55, "cooldown_s": 60}
    here = ward(quick, holdout={"share": 0.5}, trial={"share": 0.5}).at("execute").report(**FAILED).turn().turn(5)
    return here.pass_time(20, step=10, **FAILED)


@pytest.mark.parametrize("seconds", STEPS)
def test_an_outage_has_one_coin_whatever_the_clock_says(left_alone, seconds):
    def arm_of_outage(root):
        return healing_of(root).trials.arm_of_outage("nginx", "box-2", left_alone.clock.now() - 20)

    step(left_alone.service, seconds)
    assert left_alone.node.transact(arm_of_outage) == "control"


def test_nothing_is_worked_while_trials_are_moved_and_their_coins_are_not(left_alone, monkeypatch):
    """A process that ends there leaves both whole: each is moved with its mark, in one transaction."""

    def times(root):
        trials = healing_of(root).trials
        return [at for at, _ in trials.due], [outage.began_at for outage in trials.coins["nginx"].outages]

    def broken(_coins, _by):
        raise KilledHere

    due, began = left_alone.node.transact(times)
    with monkeypatch.context() as patch:
        patch.setattr(Coins, "move", broken)
        with pytest.raises(KilledHere):
            step(left_alone.service, HOUR)
    assert left_alone.engine.work()
    while left_alone.node.transact(is_left):
        assert left_alone.engine.work()
    assert left_alone.node.transact(times) == ([at + HOUR for at in due], [at + HOUR for at in began])


@pytest.mark.parametrize("seconds", STEPS)
def test_what_is_left_alone_has_its_window_to_recover_whatever_the_clock_says(left_alone, seconds):
    here = left_alone
    step(here.service, seconds)
    here.pass_time(20, step=10, **FAILED)
    assert here.trust().control == Arm(), "its minute is not over"
    here.report(**WELL).turn()
    assert here.trust().control == Arm(1, 1)


@pytest.mark.parametrize("seconds", STEPS)
def test_what_does_not_recover_is_known_when_its_window_is_over(left_alone, seconds):
    here = left_alone
    step(here.service, seconds)
    here.pass_time(60, step=10, **FAILED)
    assert here.trust().control == Arm(1, 0)


@pytest.mark.parametrize("seconds", STEPS)
def test_a_heal_of_a_parent_is_followed_for_as_long_as_it_would_have_been(ward, seconds):
    here = ward()
    now = here.clock.now()
    here.node.transact(lambda root: healing_of(root).edges.follow(EdgeTrial("web", "db", now, now + 200), now + 50))
    step(here.service, seconds)

    def followed(root):
        edges, moved = healing_of(root).edges, here.clock.now()
        [trial] = edges.of_child("web")
        due = [len(edges.ready(moved + after, 9)) for after in (49, 50)]
        return trial.healed_at - moved, trial.ends_at - moved, due

    assert here.node.transact(followed) == (0, 200, [0, 1])


@pytest.mark.parametrize("seconds", STEPS)
def test_what_hosts_did_alone_counts_against_their_budget_whatever_the_clock_says(ward, seconds):
    here = ward()
    now = here.clock.now()

    def noted(root):
        healing_of(root).alone["a1"] = (BelievedStep(now - 60, "nginx", "box-1/nginx", 0, False),)
        healing_of(root).go_on(now, RecentHeal(now - 60, "nginx", None, "box-1/nginx"))

    here.node.transact(noted)
    step(here.service, seconds)

    def ago(root):
        [alone], [further] = healing_of(root).alone["a1"], healing_of(root).further
        return [here.clock.now() - at for at in (alone[0], further.at)]

    assert here.node.transact(ago) == [60, 60]


def test_nothing_is_deleted_while_a_clock_is_days_ahead(service):
    cleaned = service.node.supervisor.add("x-purge", lambda: False, every=1.0, lease="housekeeping", cleans=True)
    other = service.node.supervisor.add("x-look", lambda: False, every=1.0, lease="housekeeping")
    service.node.clock_steps.start()
    service.node.leases.want("housekeeping")
    service.node.leases.step()

    def work():
        service.node.leases.step()
        return cleaned._may_work(), other._may_work()

    step(service, 25 * HOUR)
    assert work() == (False, True)
    step(service, -25 * HOUR)
    assert work() == (True, True)
    step(service, 400 * 24 * HOUR)
    assert work() == (False, True)
    service.clock.advance(24 * HOUR + 1)
    assert work() == (True, True)


def test_no_series_is_deleted_while_a_clock_is_years_ahead(lookout):
    node = lookout.service.node
    monitor_id = lookout.watch_through((UP, 120))
    node.leases.want(serieswork.LEASE)
    node.leases.step()

    def rows():
        while serieswork.fold(node):
            pass
        while serieswork.merge(node):
            node.leases.step()
        number = lookout.watch.register.entries[monitor_id].series
        start = int(lookout.started * 1000)
        return node.transact(lambda root: node.series.reading(root).totals(start, start + 3_600_000, [number])[number])

    before = rows()
    step(lookout.service, 3 * 365 * 24 * HOUR)
    node.leases.step()
    assert rows() == before


@pytest.mark.parametrize("seconds", [-HOUR, HOUR])
def test_who_reads_the_store_after_a_step_is_told_again_of_the_last_seconds_only(service, seconds):
    node, told = service.node, []
    node.clock_steps.follow(node.events.move)
    for number in range(3):
        service.transact(lambda root, number=number: emit(root, "x", {"number": number}))
        node.events.step()
        told.append(node.events.since("")[-1].id)
        service.clock.advance(60)
    step(service, seconds)
    assert node.events.last_before(service.clock.now() - 90) == told[1]


def test_what_a_node_with_another_clock_tells_is_heard_now(service):
    node = service.node
    node.events.step()
    node.clock._now -= HOUR
    service.transact(lambda root: emit(root, "x", {}))
    node.clock._now += HOUR
    node.events.step()
    assert [event.at for event in node.events.since("")] == [service.clock.now()]


@pytest.mark.parametrize("seconds", STEPS)
def test_what_was_deleted_can_be_put_back_for_as_long_as_it_could(service, seconds):
    node = service.node
    node.leases.want(deletions.LEASE)
    node.leases.step()
    deletions.start(node)
    monitor = {"name": "web", "type": "http", "url": "https://web.example.org/"}
    path = "/api/monitoring/endpoints"
    monitor_id = service.ada.post_json(path, monitor).json["id"]
    deletion = service.ada.delete(f"{path}/{monitor_id}").headers["X-Undo"]
    step(service, seconds)
    deletions.step(node)
    [kept] = service.ada.get("/api/deleted").json
    assert kept["id"] == deletion
    service.clock.advance(deletions.KEPT_S)
    assert service.ada.get("/api/deleted").json == []
    service.ada.post(f"/api/deleted/{deletion}/undo", status=404)


def test_only_the_node_with_the_lease_moves_what_waits(service):
    """Every queue of every engine; else each node of a cluster would move it."""
    for engine in service.node.engines:
        engine(service.node)
    queues = list(service.node.clock_steps._carried.values())
    assert len(queues) > 5
    for queue in queues:
        with pytest.raises(Conflict, match="does not hold the lease"):
            service.node.transact(queue.move, 60.0)
