"""Root causes among monitors, which are looked at when their turn comes: whatever is found first, one heal."""

import pytest

from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.wire.actions import ACTIONS
from tests.support.dependencies import depend
from tests.support.hosts import place

DOWN = {
    "id": "down",
    "condition": 'monitor.status == "down"',
    "action": {"type": "restart_service", "params": {"service": "nginx"}},
    "settle_s": 1,
    "cooldown_s": 30,
    "verify_timeout_s": 30,
}
GRAPH = [{"target": "db"}, {"target": "web", "depends_on": ["db"]}, {"target": "far"}]


def monitor(name):
    return place(name, "a1", subject=f"monitor:{name}", names=(name, f"id-{name}"), interval=60.0)


@pytest.fixture
def shop(ward):
    """`web` depends on `db`; both have monitors that the rule looks at."""
    here = ward(DOWN, places=[place(), monitor("db"), monitor("web"), monitor("far")]).at("execute", "down")
    here.node.transact(lambda root: depend(root, GRAPH))
    for name in ("db", "web", "far"):
        here.report(f"monitor:{name}", status="up")
    return here.turn()


def looked_at(here, name, status):
    """A check that was asked for ends so."""
    [done] = [done for subject, done in here.hosts.rechecked if subject == f"monitor:{name}"][-1:]
    began = here.clock.now()
    here.clock.advance(0.1)
    here.report(f"monitor:{name}", status=status)
    done(began)
    return here


def heals(here):
    return [(entry["target"], entry["outcome"]) for entry in here.ledger if entry["action_type"]]


def healed(here, name):
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).turn(ACTIONS["restart_service"].settle)
    looked_at(here, name, "up").turn(0.5)
    return here


def test_what_the_target_hangs_on_is_looked_at_at_once_and_waited_for(shop):
    shop.report("monitor:web", status="down").turn()
    assert [subject for subject, _ in shop.hosts.rechecked] == ["monitor:db"]
    shop.turn(5).turn(5)  # the check of db runs into its time-out
    assert shop.hosts.phases() == []
    shop.hosts.doubts.add("monitor:db")  # it failed, and is looked at again before anything is said
    [done] = [done for _, done in shop.hosts.rechecked]
    done(shop.clock.now())
    shop.turn(10)
    assert shop.hosts.phases() == []
    shop.hosts.doubts.clear()
    shop.report("monitor:db", status="down").turn().turn(5)
    assert shop.hosts.phases() == ["snapshot"]
    healed(shop, "db")
    assert heals(shop) == [("db", "verified")]
    [web] = [entry for entry in shop.ledger if entry["target"] == "web"]
    assert (web["outcome"], web["reason"]) == ("suppressed", "root cause db: depends on db")


def test_what_hangs_on_something_that_is_well_is_healed_after_the_hold(shop):
    shop.report("monitor:web", status="down").turn()
    looked_at(shop, "db", "up").turn(5)
    assert shop.hosts.phases() == ["snapshot"]


def test_a_doubt_that_never_ends_keeps_nothing_from_being_healed(shop):
    shop.report("monitor:web", status="down").turn()
    shop.hosts.doubts.add("monitor:db")
    shop.pass_time(59)
    assert shop.hosts.phases() == []
    shop.turn(2)
    assert shop.hosts.phases() == ["snapshot"]
    [case] = shop.cases
    assert len([line for line in case["why"] if "may have failed" in line]) == 1


def test_a_monitor_that_is_paused_is_not_looked_at_and_not_waited_for(shop):
    shop.hosts.here = [place(), monitor("db")._replace(online=False), monitor("web")]
    shop.hosts.doubts.add("monitor:db")
    shop.turn(2).report("monitor:web", status="down").turn().turn(5)
    assert shop.hosts.rechecked == []
    assert shop.hosts.phases() == ["snapshot"]


def test_a_target_that_hangs_on_nothing_has_nothing_looked_at(shop):
    shop.report("monitor:far", status="down").turn().turn(5)
    assert shop.hosts.rechecked == []
    assert shop.hosts.phases() == ["snapshot"]


def test_after_the_root_cause_was_healed_only_what_was_measured_since_counts(shop):
    shop.report("monitor:db", status="down").turn().turn(5)
    shop.report("monitor:web", status="down").turn()
    healed(shop, "db")
    shop.pass_time(50)  # web was looked at before, and its turn has not come
    assert heals(shop) == [("db", "verified")]
    assert {entry["outcome"] for entry in shop.ledger if entry["target"] == "web"} == {"suppressed"}
    shop.report("monitor:web", status="up").turn().turn(60)
    assert heals(shop) == [("db", "verified")]


def test_what_is_first_found_down_right_after_its_root_cause_was_healed_has_the_hold_to_come_up(shop):
    shop.report("monitor:db", status="down").turn().turn(5)
    healed(shop, "db")
    shop.report("monitor:web", status="down").turn().turn(5)
    assert [(entry["target"], entry["outcome"], entry["reason"]) for entry in shop.ledger][1:] == [
        ("web", "suppressed", "root cause db: it is over, not measured afterwards")
    ]
    shop.turn(60)  # the same check again says nothing new
    assert len(shop.ledger) == 2
    shop.report("monitor:web", status="down").turn()
    looked_at(shop, "db", "up").turn(5)
    assert shop.hosts.phases()[-1] == "snapshot"


def test_what_stays_down_after_its_root_cause_was_healed_is_healed_itself(shop):
    shop.report("monitor:db", status="down").turn().turn(5)
    shop.report("monitor:web", status="down").turn()
    healed(shop, "db")
    shop.clock.advance(10)
    shop.report("monitor:web", status="down")
    shop.turn().pass_time(30)
    looked_at(shop, "db", "up")
    shop.pass_time(40)
    assert shop.hosts.phases()[-1] == "snapshot"
    assert heals(shop)[0] == ("db", "verified")
    assert [entry["target"] for entry in shop.ledger if entry["state"] == "executing"] == ["web"]


# -- agents -----------------------------------------------------------------------------------------------------------

ILL = {"id": "ill", "condition": "ill == 1", "action": {"type": "clear_cache"}, "settle_s": 1, "cooldown_s": 30}
CHAIN = [{"target": "db"}, {"target": "cache", "depends_on": ["db"]}, {"target": "web", "depends_on": ["cache"]}]


def agent(name):
    return place(name, name, interval=60.0)


@pytest.fixture
def hosts(ward):
    """Hosts that report every minute: `web` depends on `cache`, and that on `db`."""
    here = ward(ILL, waves="off", places=[agent("db"), agent("cache"), agent("web")]).at("execute", "ill")
    here.node.transact(lambda root: depend(root, CHAIN))
    for name in ("db", "cache", "web"):
        here.report(f"agent:{name}", ill=0)
    return here.turn(20)


def measured(here, name, ill):
    """What an agent that was asked for a report says."""
    [done] = [done for subject, done in here.hosts.rechecked if subject == f"agent:{name}"][-1:]
    began = here.clock.now()
    here.clock.advance(0.1)
    here.report(f"agent:{name}", ill=ill)
    done(began)
    return here


def suppressed(here):
    return {entry["target"]: entry["reason"] for entry in here.ledger if entry["outcome"] == "suppressed"}


def test_agents_above_are_asked_for_a_report_and_the_root_is_named(hosts):
    hosts.report("agent:web", ill=1).turn()
    assert sorted(subject for subject, _ in hosts.hosts.rechecked) == ["agent:cache", "agent:db"]
    measured(hosts, "cache", 1).turn().turn(6)
    assert (hosts.ledger, hosts.hosts.sent) == ([], [])  # db has not answered: it may be the root
    measured(hosts, "db", 1).turn().turn(1)
    assert set(suppressed(hosts)) == {"web", "cache"}
    assert all(reason.startswith("root cause db") for reason in suppressed(hosts).values())
    hosts.turn(6)
    assert [one["agent_id"] for one in hosts.hosts.sent] == ["db"]


def test_a_failure_does_not_pass_through_what_is_known_to_be_well(hosts):
    hosts.report("agent:db", ill=1).turn().turn(1)
    hosts.report("agent:web", ill=1).turn()
    measured(hosts, "cache", 0).turn(6)
    assert suppressed(hosts) == {}
    assert sorted(one["agent_id"] for one in hosts.hosts.sent) == ["db", "web"]


def test_a_failure_passes_through_what_nobody_measures(hosts):
    hosts.hosts.here = [agent("db"), agent("web"), agent("cache")._replace(online=False)]
    hosts.turn(2).report("agent:db", ill=1).turn().turn(1)
    hosts.report("agent:web", ill=1).turn().turn(6)
    assert list(suppressed(hosts)) == ["web"]


def test_what_does_not_answer_is_waited_for_as_long_as_is_configured(hosts):
    hosts.report("agent:web", ill=1).turn()
    hosts.pass_time(14)
    assert hosts.hosts.sent == []
    hosts.pass_time(2)
    assert [one["agent_id"] for one in hosts.hosts.sent] == ["web"]
    [case] = hosts.cases
    assert len([line for line in case["why"] if "is being measured" in line]) == 1


def test_a_report_that_nobody_asked_for_counts_when_it_was_surely_measured_afterwards(hosts):
    """An agent that polls answers nothing; its next report is as good, unless it was measured before the alert."""
    hosts.report("agent:web", ill=1).turn(1)
    for name in ("cache", "db"):
        hosts.report(f"agent:{name}", ill=0)
    hosts.turn(5)
    assert hosts.hosts.sent == []
    for name in ("cache", "db"):
        hosts.report(f"agent:{name}", ill=0)
    hosts.turn(1)
    assert [one["agent_id"] for one in hosts.hosts.sent] == ["web"]


def test_what_hung_on_a_root_that_was_healed_within_the_hold_has_to_be_measured_again(hosts):
    """The root is well again before the case of its dependant is over: its last report is from before that."""
    hosts.report("agent:web", ill=1).turn()
    measured(hosts, "db", 1).turn().turn(5)
    hosts.hosts.finish("snapshot", snapshot={})
    hosts.turn(0.5)
    hosts.hosts.finish("execute")
    hosts.turn(0.5).turn(ACTIONS["clear_cache"].settle)
    hosts.report("agent:db", ill=0).turn(0.5)
    assert heals(hosts) == [("db", "verified")]
    measured(hosts, "cache", 0).turn(1).turn(10)
    assert list(suppressed(hosts)) == ["web"]
    assert heals(hosts) == [("db", "verified")]


def sent_to(here, name):
    return [one["params"]["phase"] for one in here.hosts.sent if one["agent_id"] == name]


@pytest.mark.parametrize(("ill", "becomes"), [(0, ("withdrawn", "condition_gone")), (1, (None, ""))])
def test_what_a_heal_above_may_have_brought_up_is_measured_again_before_it_is_healed(hosts, ill, becomes):
    """The heal of the root is not verified yet, but what lies between is up already, so no failure passes through it.
    What hangs on that was measured before, and has as long as the hold to come up as well."""
    hosts.hosts.looks_back = False
    hosts.report("agent:db", ill=1).turn().turn(5)
    hosts.hosts.finish("snapshot", snapshot={})
    hosts.turn(0.5)
    hosts.report("agent:web", ill=1).turn()
    hosts.hosts.finish("execute")
    hosts.turn(0.5)
    measured(hosts, "cache", 0).turn(5)
    assert sent_to(hosts, "web") == ["measure"]
    hosts.report("agent:web", ill=ill).turn(1)
    phases = sent_to(hosts, "web")
    assert phases == ["measure"] + ["snapshot"] * ill
    [web] = [entry for entry in hosts.ledger if entry["target"] == "web"]
    assert (web["outcome"], web["reason"]) == becomes


def test_while_a_heal_above_acts_what_was_measured_before_it_waits(hosts):
    """Nobody knows yet when it has acted: it counts from when it was asked to."""
    hosts.report("agent:db", ill=1).turn().turn(5)
    hosts.report("agent:web", ill=1).turn()
    measured(hosts, "cache", 0).turn(4)
    hosts.hosts.finish("snapshot", snapshot={})
    hosts.turn(0.5).turn(2)
    assert sent_to(hosts, "db") == ["snapshot", "execute"]
    assert sent_to(hosts, "web") == []
    [case] = [case for case in hosts.cases if case["target"] == "web"]
    assert case["why"][-1] == "something that it depends on was just healed"


def test_what_was_measured_long_after_a_heal_above_is_healed_as_it_is(hosts):
    """What the heal of the root brings up has had the time to come up."""
    hosts.report("agent:db", ill=1).turn().turn(5)
    hosts.hosts.finish("snapshot", snapshot={})
    hosts.turn(0.5)
    hosts.hosts.finish("execute")
    hosts.turn(0.5).turn(6)
    hosts.report("agent:web", ill=1).turn()
    measured(hosts, "cache", 0).turn(5)
    assert sent_to(hosts, "web") == ["snapshot"]


def test_of_a_root_that_is_over_what_lies_between_is_not_named(hosts):
    """The intermediate has not been measured since, and is still taken for ill."""
    hosts.report("agent:db", ill=1).turn()
    hosts.report("agent:cache", ill=1).turn().turn(5)
    hosts.hosts.finish("snapshot", snapshot={})
    hosts.turn(0.5)
    hosts.hosts.finish("execute")
    hosts.turn(0.5).turn(ACTIONS["clear_cache"].settle)
    hosts.report("agent:db", ill=0).turn(0.5)
    hosts.report("agent:web", ill=1).turn()
    assert suppressed(hosts) == {
        "cache": "root cause db: depends on db",
        "web": "root cause db: it is over, not measured afterwards",
    }


# -- monitors that no rule looks at -----------------------------------------------------------------------------------


@pytest.fixture
def watched(ward):
    """Two monitors of the service itself; the rule is about neither, but about a host that hangs on the one."""
    here = ward(places=[place()]).at("execute")
    body = {"type": "tcp", "url": "tcp://127.0.0.1:9", "enabled": False}
    make = here.service.ada.post_json
    made = {name: make("/api/monitoring/endpoints", {**body, "name": name}).json["id"] for name in ("db", "isp")}
    graph = [{"target": "db"}, {"target": "box-1", "depends_on": ["db"]}]
    here.service.ada.put_json("/api/healing/dependencies", {"dependencies": graph})
    return here, made


def _goes_down(root, monitor_id, now):
    incidents_of(root).start(monitors_of(root)[monitor_id], "timeout", now)


def shown(here):
    found = here.service.vera.get("/api/healing/dependencies").json
    return {node["target"]: node["status"] for node in found["nodes"]}, found["root_causes"]


@pytest.mark.parametrize("name", ["db", "its id"])
def test_a_monitor_that_is_down_is_a_root_cause_without_any_rule(watched, name):
    here, made = watched
    if name == "its id":
        name = made["db"]
        graph = [{"target": name}, {"target": "box-1", "depends_on": [name]}]
        here.service.ada.put_json("/api/healing/dependencies", {"dependencies": graph})
    here.node.transact(_goes_down, made["db"], here.clock.now())
    statuses, causes = shown(here)
    assert (statuses[name], causes) == ("failed", [name])
    here.report(service__nginx__state="failed").turn().turn(5)
    assert [(entry["outcome"], entry["reason"]) for entry in here.ledger] == [
        ("suppressed", f"root cause {name}: depends on box-1 → {name}")
    ]
    assert here.hosts.sent == []


def test_an_external_target_is_a_monitor_like_any_other(watched):
    here, made = watched
    graph = [{"target": "isp", "type": "external", "site": "berlin"}, {"target": "box-1", "site": "berlin"}]
    here.service.ada.put_json("/api/healing/dependencies", {"dependencies": graph})
    here.node.transact(_goes_down, made["isp"], here.clock.now())
    here.report(service__nginx__state="failed").turn().turn(5)
    assert shown(here)[0]["isp"] == "failed"
    assert [(entry["outcome"], entry["reason"]) for entry in here.ledger] == [
        ("suppressed", "root cause isp: everything at site berlin depends on it")
    ]


def test_what_nobody_declared_is_no_root_cause(watched):
    here, made = watched
    here.node.transact(_goes_down, made["isp"], here.clock.now())
    here.report(service__nginx__state="failed").turn().turn(5)
    assert here.hosts.phases() == ["snapshot"]
    assert "isp" not in shown(here)[1]


def test_after_an_incident_of_the_root_cause_only_what_was_measured_since_counts(watched):
    """Nobody heals it: it came up again by itself."""
    here, made = watched
    here.hosts.here = [place(), place("db", None, subject=f"monitor:{made['db']}", names=("db", made["db"]))]
    here.node.transact(_goes_down, made["db"], here.clock.now())
    here.report(service__nginx__state="failed").turn().turn(5)
    here.node.transact(_comes_up, made["db"], here.clock.now())
    here.turn(20).turn(20)
    assert here.hosts.phases() == []
    assert len(here.ledger) == 1
    here.report(service__nginx__state="failed").turn()
    here.pass_time(30, step=5, service__nginx__state="failed")
    [done] = [done for _, done in here.hosts.rechecked]
    done(here.clock.now())
    here.turn(1)
    assert here.hosts.phases() == ["snapshot"]


def _comes_up(root, monitor_id, now):
    incidents, [each] = incidents_of(root), list(incidents_of(root).open)
    incidents.end(each, now)
