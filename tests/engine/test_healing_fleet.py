"""What healing knows of the real rooms of agents and monitors, as it asks them."""

import pytest

from opsapp.agents.engine import command_of, reports, send_command
from opsapp.agents.logic import BACK_WITHIN_S
from opsapp.agents.resources import agents_of
from opsapp.healing.engine.fleet import Fleet
from tests.support.monitoring import DOWN, UP, Lookout


@pytest.fixture
def fleet(service):
    lookout = Lookout(service)
    monitor = lookout.add(name="Shop", interval=60, retries=2)
    lookout.sees[monitor] = UP
    lookout.run(61)
    return Fleet(), lookout, monitor


def doubtful(service, fleet, monitor):
    return fleet.doubtful(service.node, f"monitor:{monitor}")


def test_a_monitor_is_in_doubt_from_its_first_failed_check_until_it_is_down_or_up(service, fleet):
    made, lookout, monitor = fleet
    assert not doubtful(service, made, monitor)
    lookout.sees[monitor] = DOWN
    checks = len(lookout.checked)
    while len(lookout.checked) == checks:  # until its turn comes
        lookout.run(0.5)
    assert lookout.monitor(monitor)["status"] == "up"
    assert doubtful(service, made, monitor)
    lookout.run(30)
    assert lookout.monitor(monitor)["status"] == "down"
    assert not doubtful(service, made, monitor)
    assert not doubtful(service, made, "nobody")


def test_a_paused_monitor_is_looked_at_by_nobody(service, fleet):
    made, lookout, monitor = fleet
    assert service.node.transact(made.inventory).monitors.keys() == {"Shop", monitor}
    service.otto.put_json(f"/api/monitoring/endpoints/{monitor}", {"enabled": False})
    lookout.run(1)
    assert service.node.transact(made.inventory).monitors == {}


def test_reports_and_checks_alone_make_no_new_inventory(service, fleet):
    """It is asked for every two seconds, and what is made of it costs with each host and monitor that there is."""
    made, lookout, _ = fleet
    agent = service.ada.post_json("/api/agents", {"label": "box"}).json

    def report(**more):
        sent, headers = {"hostname": "box", "os": "Debian 12"} | more, {"X-Agent-Key": agent["key"]}
        service.anonymous.post_json(f"/api/agents/{agent['agent_id']}/report", sent, headers=headers)

    report(cpu_percent=1)
    before = service.transact(lambda root: id(made.inventory(root)))
    for cpu in range(5):
        lookout.run(15)
        report(cpu_percent=cpu)
        assert service.transact(lambda root: id(made.inventory(root))) == before
    lookout.run(600)  # it is silent
    assert service.transact(lambda root: id(made.inventory(root))) != before


def test_what_was_deleted_is_known_no_more(service, fleet):
    made, _, monitor = fleet
    agent = service.ada.post_json("/api/agents", {"label": "box"}).json["agent_id"]
    subjects = (f"monitor:{monitor}", f"agent:{agent}")
    assert [service.transact(made.knows, one) for one in subjects] == [True, True]
    service.ada.delete(f"/api/monitoring/endpoints/{monitor}")
    service.ada.delete(f"/api/agents/{agent}")
    assert [service.transact(made.knows, one) for one in subjects] == [False, False]


def test_a_command_is_taken_back_until_somebody_was_given_it(service):
    agent = service.ada.post_json("/api/agents", {"label": "box"}).json
    asked = {"command": "true"}
    first, second = (service.transact(send, agent["agent_id"], asked) for _ in range(2))
    assert service.transact(Fleet().recall, agent["agent_id"], first)
    assert service.transact(command_of, agent["agent_id"], first).status == "cancelled"
    assert not service.transact(Fleet().recall, agent["agent_id"], first)
    service.transact(offer, agent["agent_id"])
    assert not service.transact(Fleet().recall, agent["agent_id"], second)
    assert service.transact(command_of, agent["agent_id"], second).status == "queued"
    assert not service.transact(Fleet().recall, agent["agent_id"], "unknown")
    assert not service.transact(Fleet().recall, "nobody", second)


def send(root, agent_id, params):
    return send_command(root, agent_id, "shell", params, requested_by="healing")


def offer(root, agent_id):
    """A session was given what waits, and has not said that it has it."""
    root["api"]["agents"][agent_id].commands.offer("session", 0.0, again=False)


@pytest.mark.parametrize(
    ("kind", "params", "by", "meddles"),
    [
        ("shell", {"command": "systemctl restart nginx"}, "otto", True),
        ("shell", {"command": "true"}, "run:r1", True),
        ("shell", {"command": "true"}, "healing", False),  # a fault of chaos, and its end
        ("service", {"service": "nginx", "action": "restart"}, "otto", True),
        ("service", {"service": "nginx", "action": "status"}, "otto", False),
        ("process_list", {}, "otto", False),
        (
            "heal",
            {
                "heal_id": "c.0",
                "token": 1,
                "phase": "execute",
                "action_type": "restart_service",
                "params": {"service": "nginx"},
            },
            "healing",
            False,
        ),
        (
            "heal",
            {
                "heal_id": "c.0",
                "token": 1,
                "phase": "rollback",
                "action_type": "restart_service",
                "snapshot": {},
                "params": {"service": "nginx"},
            },
            "healing",
            True,
        ),
    ],
)
def test_what_people_and_runs_do_on_a_host_is_known(service, kind, params, by, meddles):
    agent, now = service.ada.post_json("/api/agents", {"label": "box"}).json["agent_id"], service.clock.now()

    def asked(root):
        send_command(root, agent, kind, params, requested_by=by)

    service.transact(asked)
    seen = service.transact(Fleet().intervened, f"agent:{agent}", agent, now - 5)
    assert seen == (now if meddles else None)
    service.clock.advance(10)
    assert service.transact(Fleet().intervened, f"agent:{agent}", agent, now + 5) is None
    assert service.transact(Fleet().intervened, "agent:gone", "gone", now) is None


def test_who_takes_an_incident_is_at_work_on_its_monitor(service, fleet):
    made, lookout, monitor = fleet
    lookout.sees[monitor] = DOWN
    lookout.run(200)
    [incident] = service.vera.get("/api/monitoring/incidents?status=open").json
    before = service.clock.now()
    assert service.transact(made.intervened, f"monitor:{monitor}", None, incident["started"]) is None
    service.clock.advance(5)
    service.otto.post_json(f"/api/monitoring/incidents/{incident['id']}/acknowledge", {})
    assert service.transact(made.intervened, f"monitor:{monitor}", None, before) == int(service.clock.now())
    assert service.transact(made.intervened, f"monitor:{monitor}", None, service.clock.now() + 5) is None


# -- hosts that are away --------------------------------------------------------------------------------------------


@pytest.fixture
def box(service, fleet):
    """A host that has fallen silent while the service was not there, or was: what is known of it afterwards."""
    _, lookout, _ = fleet
    agent = service.ada.post_json("/api/agents", {"label": "box"}).json
    sent, headers = {"hostname": "box", "os": "Debian 12"}, {"X-Agent-Key": agent["key"]}
    service.anonymous.post_json(f"/api/agents/{agent['agent_id']}/report", sent, headers=headers)

    def become(root):
        reports.become(root, agents_of(root)[agent["agent_id"]], "offline")

    def starts(*, told):
        lookout.run(600)
        if told:
            service.transact(become)
            lookout.run(1)
        service.node.started_at = service.clock.now()

    return starts


def away(service, made):
    return service.transact(lambda root: sorted(made.inventory(root).hosts_away))


def test_after_a_start_a_host_has_time_to_come_back_before_it_counts_as_away(service, fleet, box):
    made, lookout, _ = fleet
    box(told=False)
    assert away(service, made) == []
    lookout.run(BACK_WITHIN_S + 1)
    assert away(service, made) == ["box"]


def test_a_host_that_was_away_before_the_start_is_away(service, fleet, box):
    box(told=True)
    assert away(service, fleet[0]) == ["box"]
