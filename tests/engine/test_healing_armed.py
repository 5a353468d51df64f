"""What can cut a host off is armed on the agent: confirmed after a verified heal, else undone there."""

import pytest

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


def test_one_that_was_undone_meanwhile_is_rolled_back(verified):
    verified.hosts.finish("confirm", status="failed", reason="undone: nobody confirmed in time", kept=False)
    verified.turn(1)
    [entry] = verified.ledger
    assert (entry["outcome"], entry["rollback_status"], entry["verified"]) == ("rolled_back", "rolled_back", 0)


def test_a_confirmation_that_nobody_answered_is_not_known(verified):
    verified.hosts.finish("confirm", status="lost", reason="gone")
    verified.turn(1)
    [entry] = verified.ledger
    assert (entry["outcome"], entry["reason"]) == ("inconclusive", "not confirmed: gone")


def test_a_restart_goes_on_with_the_confirmation(verified):
    verified.restart().turn(1)
    assert verified.hosts.phases().count("confirm") == 1
    verified.hosts.finish("confirm", kept=True)
    verified.turn(1)
    assert verified.ledger[0]["outcome"] == "verified"


def test_what_is_not_verified_is_not_confirmed(ward):
    here = ward({"id": "nginx", "condition": 'service.nginx.state == "failed"', "verify_timeout_s": 5,
                 "action": {"type": "restart_service"}}).at("execute").report(**FAILED).turn().turn(5)  # fmt: skip
    here.hosts.finish("snapshot", snapshot={})
    here.turn(1)
    here.hosts.finish("execute", armed_s=180)
    here.turn(1).turn(6).turn(30)
    assert here.ledger[0]["outcome"] == "inconclusive"
    assert "confirm" not in here.hosts.phases()


def test_the_agent_is_told_to_wait_as_long_as_its_rule_may_take_to_verify(ward):
    slow = {"id": "slow", "condition": "vpn.wg0.up == 0", "settle_s": 20, "verify_timeout_s": 600,
            "action": {"type": "vpn_reconnect"}}  # fmt: skip
    here = ward(slow, confirm_s=30, places=[place(usable=frozenset({"wg", "wg-quick", "ip", "systemctl"}))])
    here.at("execute", "slow").report(vpn__wg0__up=0).turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "tunnel", "state": {}})
    here.turn(1)
    assert here.hosts.waiting("execute")["params"]["arm_s"] == 650
