"""What the rooms tell people: incidents, agents, approvals; and what one root cause makes of many."""

import pickle

import pytest

from opsapp.agents.engine import reports
from opsapp.agents.engine.lifecycle import create
from opsapp.agents.engine.policies import shown_key
from opsapp.agents.resources import agents_of
from opsapp.approvals.records import NewRequest
from opsapp.approvals.resources import request
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.pipeline import IHealingEngine
from opsapp.monitoring.logic.timetable import next_moment
from opsapp.notify.engine import routes, tell
from opsapp.notify.resources import deliveries_of, inbox
from opsapp.notify.resources.groups import groups_of
from opsapp.wire.reports import HostReport
from tests.support.dependencies import depend
from tests.support.monitoring import DOWN, UP, Lookout


def taken(service):
    return [(row.kind, row.title) for row in service.transact(inbox.take, 100)]


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
    assert (row.kind, row.title, row.text) == ("incident.opened", "Shop is down", "HTTP 500")
    assert (row.key, row.severity, row.tags, row.target) == (
        f"incident:{monitor}", "critical", ("web",), monitor)  # fmt: skip
    lookout.sees[monitor] = UP
    lookout.run(61)
    assert taken(service) == [("incident.resolved", "Shop is up again")]


def test_who_is_told_that_a_short_incident_is_over_reads_its_seconds(service, lookout):
    monitor = lookout.add(name="Shop", interval=5, timeout=1, retries=0)
    lookout.sees[monitor] = DOWN
    lookout.run(20)
    lookout.sees[monitor] = UP
    lookout.run(5)
    (incident,) = service.vera.get("/api/monitoring/incidents").json
    (_, over) = service.transact(inbox.take, 100)
    assert over.text == f"It was down for {incident['resolved'] - incident['started']} s: HTTP 500"


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
        wanted = NewRequest(**about, requested_by="otto", expiry_s=3600, about={}, approvers=("ada",))
        request(root, wanted, 1.0)

    service.transact(ask)
    (row,) = service.transact(inbox.take, 100)
    assert (row.kind, row.title) == ("approval.asked", "Approval wanted: run of Restart")
    assert "Who may decide: ada." in row.text


def routed(service, seconds=0.0):
    """What has been sent so far, once everything that is due is routed: (kind, title, cause, events)."""
    service.clock.advance(seconds)
    service.node.leases.want("notify")
    service.node.leases.step()
    while routes.step(service.node):
        pass
    messages = service.read(lambda root: [one.fields for one in deliveries_of(root).messages.values()])
    return [(one["kind"], one["title"], one["cause"], one["events"]) for one in messages]


def hanging(service, lookout, names, root_name):
    entries = [{"target": root_name, "type": "monitor"}] + [
        {"target": name, "type": "monitor", "depends_on": [root_name]} for name in names]  # fmt: skip
    service.transact(lambda root: depend(root, entries))
    return [lookout.add(name=name) for name in (root_name, *names)]


def test_one_root_cause_is_one_message_when_it_begins_and_one_when_it_is_over(service, lookout):
    monitors = hanging(service, lookout, [f"m{n}" for n in range(14)], "db")
    lookout.sees.update(dict.fromkeys(monitors, DOWN))
    lookout.run(90)
    routed(service, 6)
    told = routed(service, 61)
    assert [(kind, title) for kind, title, _, _ in told] == [("incident.opened", "db is down")]
    assert told[0][3] == 15
    lookout.sees.update(dict.fromkeys(monitors[:9], UP))
    lookout.run(61)
    assert len(routed(service, 61)) == 1  # five of them are not well yet
    lookout.sees.update(dict.fromkeys(monitors, UP))
    lookout.run(61)
    told = routed(service, 61)
    assert [(kind, title) for kind, title, _, _ in told[1:]] == [("incident.resolved", "db is up again")]
    lookout.sees.update({monitors[3]: DOWN})
    lookout.run(90)
    routed(service, 6)
    assert routed(service, 61)[2:] == [("incident.opened", "m2 is down", None, 1)]  # and later ones are their own


def test_a_monitor_that_healing_only_tells_of_is_one_message(service, lookout):
    monitor = lookout.add(name="uplink")
    lookout.sees[monitor] = DOWN
    lookout.run(90)
    routed(service, 6)

    def notified(root):
        tell(root, service.clock.now(), key="heal:uplink", kind="heal.notified", severity="critical",
             title="uplink: down", text="", target="uplink", phase="also", name="uplink")  # fmt: skip

    service.transact(notified)
    routed(service, 6)
    assert [(kind, events) for kind, _, _, events in routed(service, 61)] == [("incident.opened", 2)]


def test_an_agent_that_is_deleted_while_it_is_away_is_not_away_for_ever(service):
    agent_id, _ = service.transact(create, "box-1", [])
    for status in ("online", "offline"):
        service.transact(lambda root, status=status: reports.become(root, agents_of(root)[agent_id], status))
    routed(service, 6)
    service.ada.delete(f"/api/agents/{agent_id}")
    routed(service, 6)
    assert [title for _, title, _, _ in routed(service, 61)] == ["box-1 is offline", "box-1 was deleted"]
    assert service.read(lambda root: len(groups_of(root).homes)) == 0


def test_what_hangs_on_a_host_that_is_away_is_one_message_with_it(service, lookout):
    host, _ = service.transact(create, "box-1", [])

    said = HostReport("box-1", "Debian 12", held=())

    def away(root):
        reports.take_poll(root, agents_of(root)[host], said, key=shown_key("k" * 64), ip="10.0.0.1")
        names = [f"m{n}" for n in range(5)]
        depend(root, [{"target": name, "type": "monitor", "depends_on": ["box-1"]} for name in names], "api")

    service.transact(away)
    monitors = [lookout.add(name=f"m{n}") for n in range(5)]
    lookout.sees.update(dict.fromkeys(monitors, DOWN))
    lookout.run(90)
    service.vera.get("/api/agents")  # the memory of agents follows the store
    assert [(cause, events) for _, _, cause, events in routed(service, 5)] == [("box-1", 5)]


def begins(root, name, now, phase="begins"):
    kind = "incident.opened" if phase == "begins" else "incident.resolved"
    tell(root, now, key=f"incident:{name}", kind=kind, severity="critical", title=f"{name} {phase}", text="",
         target=name, phase=phase, name=name)  # fmt: skip


def members_of(root):
    return sorted(own for _, own in groups_of(root).members)


def test_a_group_of_many_is_stored_as_a_group_of_few(service, lookout):
    """What one more member costs does not grow with those that there are."""
    [db] = hanging(service, lookout, [], "db")
    entries = [{"target": f"x{n}", "type": "service", "depends_on": ["db"]} for n in range(600)]
    service.transact(lambda root: depend(root, [{"target": "db"}, *entries]))
    lookout.sees[db] = DOWN
    lookout.run(90)
    routed(service, 6)
    sizes = []
    for some in (range(300), range(300, 600)):
        service.transact(lambda root, some=some: [begins(root, f"x{n}", service.clock.now()) for n in some])
        routed(service, 6)
        assert len(routed(service, 61)) == 1
        groups = service.read(lambda root: dict(groups_of(root).groups))
        assert {group["open"] for group in groups.values()} == {1 + some.stop}
        sizes.append(len(pickle.dumps(groups)))
    assert abs(sizes[1] - sizes[0]) < 50
    service.transact(lambda root: [begins(root, f"x{n}", service.clock.now(), "over") for n in range(600)])
    lookout.sees[db] = UP
    lookout.run(61)
    assert [title for _, title, *_ in routed(service, 61)] == ["db is down", "db is up again"]
    assert service.read(lambda root: (members_of(root), list(groups_of(root).homes))) == ([], [])


# -- dependants that are found down before their root cause -----------------------------------------------------------


def pass_time(service, lookout, seconds):
    """Checks are made and messages leave while the time passes."""
    for _ in range(seconds):
        lookout.run(1)
        told = routed(service)
    return told


@pytest.fixture
def late(service, lookout):
    """Three monitors that hang on `db`, whose own check is an hour away; and one that hangs on nothing."""
    db, *monitors = hanging(service, lookout, ["m0", "m1", "m2"], "db")
    service.otto.put_json(f"/api/monitoring/endpoints/{db}", {"interval": 3600})
    alone = lookout.add(name="alone")
    lookout.sees.update(dict.fromkeys([db, *monitors, alone], UP))
    lookout.tick()
    service.clock.advance(next_moment(db, 3600, service.clock.now()) - service.clock.now())
    lookout.run(61)
    return db, monitors, alone


def delays(service, lookout, seconds):
    """How long after it was known each failure was told."""
    since = {}
    for _ in range(seconds):
        pass_time(service, lookout, 1)
        messages = service.read(lambda root: [one.fields for one in deliveries_of(root).messages.values()])
        for fields in messages:
            since.setdefault(fields["title"], service.clock.now() - fields["first_at"])
    return since


def test_what_is_found_down_before_its_root_cause_waits_for_it(service, lookout, late):
    """Which monitor is checked first depends on its id. Whatever the order: one root cause is one message, and what
    hangs on nothing waits for nobody."""
    db, monitors, alone = late
    lookout.sees.update(dict.fromkeys([db, *monitors, alone], DOWN))
    waited = delays(service, lookout, 180)
    told = routed(service)
    assert sorted((title, cause, events) for _, title, cause, events in told) == [
        ("alone is down", None, 1), ("db is down", None, 4)]  # fmt: skip
    assert waited["alone is down"] == pytest.approx(5, abs=1)
    lookout.sees.update(dict.fromkeys([db, *monitors], UP))
    told = pass_time(service, lookout, 3700)
    assert [title for _, title, _, _ in told[2:]] == ["db is up again"]


def test_what_hangs_on_something_that_is_well_is_told_when_that_was_measured(service, lookout, late):
    _, monitors, alone = late
    lookout.sees.update({monitors[0]: DOWN, alone: DOWN})
    found = delays(service, lookout, 120)
    assert (found["m0 is down"], found["alone is down"]) == (pytest.approx(5, abs=1), pytest.approx(5, abs=1))


@pytest.mark.parametrize(("wait", "waited"), [(0, 5), (15, 15)])
def test_what_cannot_be_measured_is_not_waited_for_longer_than_is_configured(service, lookout, late, wait, waited):
    _, monitors, alone = late
    service.configure(HealingSettings, cause_wait_s=wait)
    engine = service.node.registry.getUtility(IHealingEngine)
    engine._recheck = lambda subject: None  # it does not answer
    lookout.sees.update({monitors[0]: DOWN, alone: DOWN})
    found = delays(service, lookout, 120)
    assert (found["m0 is down"], found["alone is down"]) == (pytest.approx(waited, abs=2), pytest.approx(5, abs=1))
