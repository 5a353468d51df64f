"""Which machine an agent is on, what its clock shows, whose results count. The agent here is a client with a key."""

from dataclasses import replace

import pytest

from opsapp.agents.engine import give_policies, silences_of, terms_of
from opsapp.agents.engine.policies import catch_up, policies_of
from opsapp.agents.resources import agents_of
from opsapp.wire.policies import Policy, PolicyStep, PolicyTerms
from tests.api.test_agents import Polling

pytestmark = pytest.mark.attack

MOVED_S = 31.0  # more than two report intervals: who was heard before has gone
STEP = PolicyStep("restart_service", {"service": "nginx"})
TERMS = PolicyTerms((Policy("nginx", 'service.nginx.state == "failed"', (STEP,), settle_s=0),), 45.0, 3)


@pytest.fixture
def box(service):
    return Polling(service)


def give(service, box, **more):
    expires_at = service.clock.now() + 86400
    service.node.transact(lambda root: give_policies(root, box.id, replace(TERMS, **more), expires_at=expires_at))


@pytest.mark.shared
def test_who_once_said_which_machine_it_is_on_and_says_it_no_more_is_a_clone(service, box):
    box.report()
    box.report(machine_id="m1")
    assert box.report(status=409)["code"] == "clone"
    assert box.seen()["clone_detected_at"] == int(service.clock.now())
    box.report(machine_id="m1")


def test_two_machines_that_report_with_one_key_are_not_one_host(service, box):
    """The second is refused as long as the first is there; a host that was set up anew takes its place soon."""
    box.report(machine_id="m1", cpu_percent=1)
    service.clock.advance(15)
    assert box.report(status=409, machine_id="m2", cpu_percent=99)["code"] == "clone"
    assert box.seen()["clone_detected_at"] == int(service.clock.now())
    assert box.seen()["metrics"]["cpu_percent"] == 1
    box.report(machine_id="m1")
    service.clock.advance(MOVED_S)
    box.report(machine_id="m2")
    box.report(status=409, machine_id="m1")


@pytest.mark.shared
def test_a_new_key_may_move_to_another_machine_at_once(service, box):
    box.report(machine_id="m1")
    box.key = service.ada.post(f"/api/agents/{box.id}/key").json["key"]
    box.report(machine_id="m2")


def test_a_command_is_ended_by_the_machine_that_has_it(service, box):
    box.report(machine_id="m1", held=[])
    asked = box.ask()
    [sent] = box.report(machine_id="m1", held=[])["commands"]
    assert sent["command_id"] == asked
    held = [{"command_id": asked, "state": "running"}]
    box.report(machine_id="m1", held=held)
    result = {"command_id": asked, "status": "done", "exit_code": 0, "output": "made up"}
    service.clock.advance(MOVED_S)
    box.report(machine_id="m2", held=[], results=[result])
    assert box.command(asked)["status"] == "running", "neither ended nor lost by what another machine says"
    service.clock.advance(MOVED_S)
    box.report(machine_id="m1", held=held, results=[{**result, "output": "true"}])
    assert (box.command(asked)["status"], box.command(asked)["output"]) == ("done", "true")


def test_what_one_machine_was_given_is_not_given_to_another(service, box):
    asked = box.ask()
    [sent] = box.report(machine_id="m1", held=[])["commands"]
    service.clock.advance(MOVED_S)
    assert box.report(machine_id="m2", held=[])["commands"] == []
    service.clock.advance(MOVED_S)
    assert box.report(machine_id="m1", held=[])["commands"] == [sent]
    assert sent["command_id"] == asked


@pytest.mark.parametrize("ahead", [-86400.0, 0.0, 86400.0])
def test_a_hosts_clock_is_measured_shown_and_corrected(service, box, ahead):
    def told(seconds_ago):
        at = service.clock.now() + ahead - seconds_ago
        return {"outcome_id": f"o{seconds_ago}", "rule_id": "nginx", "outcome": "verified", "created_at": at}

    assert box.seen()["clock_skew_s"] is None
    box.report(time=service.clock.now() + ahead, outcomes=[told(100)])
    assert box.seen()["clock_skew_s"] == ahead
    assert service.node.series.live.get(f"agent:{box.id}")["clock_off_s"][0] == abs(ahead)
    [kept] = service.read(lambda root: list(root.system["agent-outcomes"].values()))
    assert kept["created_at"] == service.clock.now() - 100


@pytest.mark.shared
def test_a_message_that_took_long_does_not_move_the_clock(service, box):
    box.report(time=service.clock.now() + 5)
    box.report(time=service.clock.now() - 600, reason="spooled")
    box.report(time=service.clock.now() - 20)
    assert box.seen()["clock_skew_s"] == 5


def test_times_in_which_an_agent_with_policies_was_not_heard_are_remembered(service, box):
    box.report()
    service.clock.advance(100)
    box.report()
    assert service.read(lambda root: silences_of(root, box.id)) == (), "it could not heal alone"
    give(service, box)
    service.clock.advance(30)
    box.report()
    since = service.clock.now()
    service.clock.advance(300)
    box.report()
    assert service.read(lambda root: silences_of(root, box.id)) == ((since, since + 300),)
    assert service.read(lambda root: silences_of(root, "gone")) == ()


@pytest.mark.shared
def test_the_budgets_of_earlier_policies_are_known(service, box):
    assert service.read(lambda root: (terms_of(root, box.id, 1), terms_of(root, "gone", 1))) == (None, None)
    give(service, box)
    give(service, box, budget=7)
    terms = service.read(lambda root: [terms_of(root, box.id, version) for version in (1, 2, 99)])
    assert terms == [(3, 3600.0), (7, 3600.0), (7, 3600.0)]


@pytest.mark.shared
def test_an_agent_with_later_policies_than_a_restored_store_knows_is_given_the_stores(service, box):
    give(service, box)
    answer = box.report(policy_version=41)
    assert (answer["policy_version"], answer["policies"]["bundle"]["version"]) == (42, 42)
    assert answer["time"] == service.clock.now()
    assert service.read(lambda root: policies_of(root, box.id).terms) == TERMS
    service.node.transact(lambda root: catch_up(root, agents_of(root)[box.id], None))
    assert box.report(policy_version=42).get("policies") is None


def test_a_report_that_waited_on_the_host_is_as_old_as_it_says(service, box):
    """One from before a restart of ours, which arrives after the verdict on a heal: what it says was so before."""

    def seen():
        return service.node.series.live.get(f"agent:{box.id}")["service.nginx.state"]

    ahead = 86400.0
    now = service.clock.now()
    box.report(time=now + ahead, services={"nginx": "active"})
    assert seen() == ("active", now)
    service.clock.advance(20)
    box.report(time=now + ahead + 5, services={"nginx": "failed"})
    assert seen() == ("failed", now + 5)
    service.clock.advance(20)
    box.report(services={"nginx": "active"})
    assert seen() == ("active", now + 40), "one that does not say when it was measured"


def test_a_clock_that_was_set_back_does_not_make_readings_old(service, box):
    box.report(time=service.clock.now() + 3600, services={"nginx": "active"})
    service.clock.advance(20)
    box.report(time=service.clock.now(), services={"nginx": "active"})
    assert service.node.series.live.get(f"agent:{box.id}")["service.nginx.state"] == ("active", service.clock.now())
    assert box.seen()["clock_skew_s"] == 0
