"""What can cut a host off is armed on the agent: confirmed after a verified heal, else undone there."""

import pytest

from opsapp.healing.resources import healing_of
from tests.engine.healing import NGINX
from tests.support.hosts import place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}


@pytest.fixture
def verified(ward):
    """A heal whose agent says that it has armed a timer, measured as well."""
    here = ward().at("execute").report(**FAILED).turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl", armed_s=180)
    here.turn(1).turn(6)
    here.clock.advance(0.5)
    return here.report(**ACTIVE).turn(0.5)


def test_what_is_verified_is_confirmed_before_it_is_final(verified):
    assert verified.hosts.phases() == ["snapshot", "execute", "measure", "confirm"]
    assert verified.ledger[0]["state"] == "verifying"
    verified.hosts.finish("confirm", armed=False, kept=True)
    verified.turn(1)
    assert (verified.ledger[0]["outcome"], verified.trust().verified) == ("verified", 1)


def test_what_arrives_before_the_verdict_is_no_reason_to_act_again_after_it(ward):
    """A report that was begun before the heal was measured says what was; the next one says what is."""
    here = ward({**NGINX, "cooldown_s": 1}).at("execute").report(**FAILED).turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl", armed_s=180)
    here.turn(1).turn(6)
    here.clock.advance(0.5)
    here.report(**ACTIVE).turn(0.5)
    here.report(**FAILED)
    here.hosts.finish("confirm", armed=False, kept=True)
    here.turn(1)
    for _ in range(10):
        here.turn(1)
    assert [entry["outcome"] for entry in here.ledger] == ["verified"]
    here.report(**FAILED).turn().turn(5)
    assert [entry["outcome"] for entry in here.ledger] == ["verified", None]


def test_one_that_was_undone_meanwhile_is_rolled_back(verified):
    verified.hosts.finish("confirm", status="failed", reason="undone: nobody confirmed in time", kept=False)
    verified.turn(1)
    [entry] = verified.ledger
    assert (entry["outcome"], entry["rollback_status"], entry["verified"]) == ("rolled_back", "rolled_back", 0)


def test_a_confirmation_that_nobody_answered_is_not_known(verified):
    for _ in range(2):
        assert verified.ledger[0]["state"] == "verifying"
        verified.hosts.finish("confirm", status="lost", reason="gone")
        verified.turn(1)
    [entry] = verified.ledger
    assert (entry["outcome"], entry["reason"]) == ("inconclusive", "not confirmed: gone")


@pytest.fixture
def tunnel(ward):
    """A tunnel whose reconnecting is under way: the host has been asked, and has not answered."""
    rule = {"id": "tunnel", "condition": "vpn.wg0.up == 0", "settle_s": 5, "verify_timeout_s": 5, "cooldown_s": 3600,
            "action": {"type": "vpn_reconnect"}}  # fmt: skip
    here = ward(rule, places=[place(usable=frozenset({"wg", "wg-quick", "ip", "systemctl"}))])
    here.at("execute", "tunnel").report(vpn__wg0__up=0).turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "tunnel", "state": {}})
    return here.turn(1)


def undone(here, status="done", **data):
    here.hosts.finish("rollback", status=status, **data)
    here.turn(1)
    [entry] = here.ledger
    return entry


def test_what_nobody_could_look_at_is_undone_by_its_agent_and_says_so(tunnel):
    """Its timer takes it back in any case: the entry waits until the host tells."""
    tunnel.hosts.finish("execute", handler="wg-quick", armed_s=55)
    tunnel.turn(1).turn(6).turn(30)
    assert (tunnel.ledger[0]["state"], tunnel.ledger[0]["outcome"]) == ("verifying", None)
    entry = undone(tunnel, restored=True)
    assert (entry["outcome"], entry["rollback_status"], entry["verified"]) == ("rolled_back", "rolled_back", 0)
    assert entry["reason"] == "stale: nothing fresh was reported; restored"
    trust = tunnel.trust("tunnel")
    assert (trust.executions, trust.failed, trust.verified) == (1, 0, 0), "what is not known counts for nothing"
    counted = tunnel.node.transact(
        lambda root: healing_of(root)["ledger"].statistics("vpn_reconnect", "vpn.wg0.up == 0")
    )
    assert counted == (0, 0)


def test_one_whose_host_never_comes_back_stays_unknown(tunnel):
    tunnel.hosts.finish("execute", handler="wg-quick", armed_s=55)
    tunnel.turn(1).turn(6).turn(30)
    entry = undone(tunnel, status="expired", reason="not delivered in time")
    assert (entry["outcome"], entry["rollback_status"]) == ("inconclusive", "failed")


def test_one_whose_agent_was_killed_in_the_middle_is_undone_and_says_so(tunnel):
    tunnel.hosts.finish("execute", status="lost", reason="the agent reconnected and does not have it")
    tunnel.turn(1)
    entry = undone(tunnel, restored=True)
    assert (entry["outcome"], entry["reason"]) == (
        "rolled_back",
        "the agent reconnected and does not have it; restored",
    )
    assert tunnel.trust("tunnel").failed == 0


def test_one_whose_agent_was_killed_and_is_not_heard_again_stays_lost(tunnel):
    tunnel.hosts.finish("execute", status="lost", reason="the agent reconnected and does not have it")
    tunnel.turn(1)
    assert undone(tunnel, status="lost")["outcome"] == "lost"


@pytest.mark.parametrize(("back", "outcome", "status"), [
    (True, "rolled_back", "rolled_back"), (False, "failed", "failed")])  # fmt: skip
def test_one_that_failed_half_way_was_undone_at_once(tunnel, back, outcome, status):
    tunnel.hosts.finish("execute", status="failed", reason="no such device", undone=back)
    tunnel.turn(1)
    [entry] = tunnel.ledger
    assert (entry["outcome"], entry["rollback_status"], entry["action_success"]) == (outcome, status, 0)
    assert tunnel.trust("tunnel").failed == 1


@pytest.mark.parametrize(("answer", "outcome"), [
    ({"kept": True}, "verified"), ({"kept": False, "status": "failed"}, "rolled_back")])  # fmt: skip
def test_an_agent_that_died_over_a_confirmation_is_asked_again(verified, answer, outcome):
    verified.hosts.finish("confirm", status="lost", reason="the agent reconnected and does not have it")
    verified.turn(1)
    verified.hosts.finish("confirm", **answer)
    verified.turn(1)
    assert verified.ledger[0]["outcome"] == outcome


def test_a_restart_goes_on_with_the_confirmation(verified):
    verified.restart().turn(1)
    assert verified.hosts.phases().count("confirm") == 1
    verified.hosts.finish("confirm", kept=True)
    verified.turn(1)
    assert verified.ledger[0]["outcome"] == "verified"


def test_what_is_no_danger_to_its_host_stays_when_nobody_knows(ward):
    here = ward({"id": "nginx", "condition": 'service.nginx.state == "failed"', "verify_timeout_s": 5,
                 "action": {"type": "restart_service"}}).at("execute").report(**FAILED).turn().turn(5)  # fmt: skip
    here.hosts.finish("snapshot", snapshot={})
    here.turn(1)
    here.hosts.finish("execute", armed_s=180)
    here.turn(1).turn(6).turn(30)
    assert here.ledger[0]["outcome"] == "inconclusive"
    assert {"confirm", "rollback"}.isdisjoint(here.hosts.phases())


def test_the_agent_is_told_to_wait_as_long_as_its_rule_may_take_to_verify(ward):
    slow = {"id": "slow", "condition": "vpn.wg0.up == 0", "settle_s": 20, "verify_timeout_s": 600,
            "action": {"type": "vpn_reconnect"}}  # fmt: skip
    here = ward(slow, confirm_s=30, places=[place(usable=frozenset({"wg", "wg-quick", "ip", "systemctl"}))])
    here.at("execute", "slow").report(vpn__wg0__up=0).turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "tunnel", "state": {}})
    here.turn(1)
    assert here.hosts.waiting("execute")["params"]["arm_s"] == 650
