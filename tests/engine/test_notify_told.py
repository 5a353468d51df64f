"""What the rooms tell people: incidents, agents, approvals; and what one root cause makes of many."""

import pytest

from opsapp.agents.engine import reports
from opsapp.agents.engine.lifecycle import create
from opsapp.agents.resources import agents_of
from opsapp.approvals.resources import request
from opsapp.healing.resources import healing_of
from opsapp.notify.engine import routing
from opsapp.notify.resources import deliveries_of, inbox
from opsapp.wire.messages import check_report
from tests.support.monitoring import DOWN, UP, Lookout


def taken(service):
    return [(row["kind"], row["title"]) for row in service.transact(inbox.take, 100)]


@pytest.fixture
def lookout(service):
    return Lookout(service)


def test_an_incident_is_told_when_it_opens_and_when_it_ends(service, lookout):
    monitor = lookout.add(name="Shop", tags=["web"])
    lookout.sees[monitor] = UP
    lookout.run(61)
    assert taken(service) == []
    lookout.sees[monitor] = DOWN
    lookout.run(90)
    (row,) = service.transact(inbox.take, 100)
    assert (row["kind"], row["title"], row["text"]) == ("incident.opened", "Shop is down", "HTTP 500")
    assert (row["key"], row["severity"], row["tags"], row["target"]) == (
        f"incident:{monitor}", "critical", ("web",), monitor)  # fmt: skip
    lookout.sees[monitor] = UP
    lookout.run(61)
    assert taken(service) == [("incident.resolved", "Shop is up again")]


@pytest.mark.parametrize("how", ["delete", "pause"])
def test_an_incident_that_ends_otherwise_is_not_called_resolved(service, lookout, how):
    monitor = lookout.add(name="Shop")
    lookout.sees[monitor] = DOWN
    lookout.run(90)
    taken(service)
    if how == "delete":
        service.ada.delete(f"/api/monitoring/endpoints/{monitor}")
    else:
        service.otto.put_json(f"/api/monitoring/endpoints/{monitor}", {"enabled": False})
    assert taken(service) == [("incident.closed", "The incident of Shop is closed")]


def test_an_agent_that_falls_silent_and_comes_back_is_told_and_its_first_report_is_not(service):
    agent_id, _ = service.transact(create, "box-1", ["prod"])

    def become(status):
        service.transact(lambda root: reports.become(root, agents_of(root)[agent_id], status))

    become("online")
    assert taken(service) == []
    become("offline")
    become("dead")
    become("online")
    assert taken(service) == [("agent.offline", "box-1 is offline"), ("agent.online", "box-1 is online again")]


def test_a_question_is_told(service):
    about = {"kind": "run", "subject": "Restart", "plan": {}, "reason": "otto wants it", "risk": "high"}

    def ask(root):
        request(root, **about, requested_by="otto", now=1.0, expiry_s=3600, about={}, approvers=("ada",))

    service.transact(ask)
    (row,) = service.transact(inbox.take, 100)
    assert (row["kind"], row["title"]) == ("approval.asked", "Approval wanted: run of Restart")
    assert "Who may decide: ada." in row["text"]


def test_what_hangs_on_a_host_that_is_away_is_one_message_with_it(service, lookout):
    host, _ = service.transact(create, "box-1", [])

    said = check_report({"hostname": "box-1", "os": "Debian 12", "held": []})

    def away(root):
        reports.take_poll(root, agents_of(root)[host], said, ip="10.0.0.1")
        names = [f"m{n}" for n in range(5)]
        healing_of(root)["dependencies"].declare(
            [{"target": name, "type": "monitor", "depends_on": ["box-1"]} for name in names], "api"
        )

    service.transact(away)
    monitors = [lookout.add(name=f"m{n}") for n in range(5)]
    lookout.sees.update(dict.fromkeys(monitors, DOWN))
    lookout.run(90)
    service.clock.advance(5)
    service.node.leases.want("notify")
    service.node.leases.step()
    while routing.step(service.node):
        pass
    told = service.read(lambda root: [one.fields for one in deliveries_of(root).messages.values()])
    assert [(one["cause"], one["events"]) for one in told] == [("box-1", 5)]
