"""What a host may heal by itself: only what would be done on it without a person."""

import json

import pytest

from opsapp.healing.config import BrakeSettings, HealingSettings, HealsPerHour
from opsapp.healing.logic.brake import Load
from opsapp.healing.logic.windows import ActiveWindow
from opsapp.healing.stages.alone import drawn_shares, policies
from opsapp.runtime.secrets.chainkey import keyed_draw
from opsapp.wire.policies import PolicyBundle, check_bundle, sign
from opsapp.wire.records import plain

from .world import BOX, trust, world
from .world import rule as bare

TERMS = {"for": "10s", "cooldown_s": 300, "settle_s": None}
NAMES = ("box-1", "web", "a1")


def rule(**changes):
    return bare(**{**TERMS, **changes})


def given(tags=(), level="execute", host=BOX, **changes):
    one = changes.pop("rule", None) or rule()
    return policies(host, NAMES, tags, world(one, levels={"nginx-down": level}, **changes))


def test_a_rule_that_acts_by_itself_is_given():
    [policy] = given()
    assert policy.rule_id == "nginx-down"
    assert [step.action for step in policy.steps] == ["restart_service"]


@pytest.mark.parametrize("level", ["observation", "dry-run", "notify", "approve"])
def test_one_that_would_ask_or_only_tell_is_not(level):
    assert given(level=level) == []


@pytest.mark.parametrize(
    "changed",
    [
        {"enabled": False},
        {"action": {"type": "host_reboot"}},  # high risk
        {"action": {"type": "agent_command", "params": {"command": "true"}}},  # a shell
        {"action": {"type": "webhook", "params": {"url": "http://hook.example/"}}},  # not the host's to do
        {"action": {"type": "restart_service", "target": "box-2"}},  # on another host
        {"action": {"type": "btrfs_scrub", "params": {"mount": "/"}}},  # no such tool there
        {"action": {"type": "restart_service", "params": {"service": "sshd.service"}}},  # protected
        {"targets": {"agents": ["tag:db"], "monitors": []}},
        {"targets": {"agents": [], "monitors": ["tag:web"]}},
        {"condition": 'monitor.status == "down"'},
    ],
)
def test_what_is_not_for_this_host_alone_is_left_out(changed):
    assert given(rule=rule(**changed)) == []


@pytest.mark.parametrize("target", ["box-1", "web", "a1"])
def test_a_rule_that_names_this_host_is_for_it(target):
    assert len(given(rule=rule(action={"type": "restart_service", "target": target}))) == 1


def test_under_its_ceiling():
    held = trust("execute", rule_id="nginx-down", ceiling="approve")
    assert given(trust={"nginx-down": held}) == []


def test_restraint_holds_alone_too():
    assert given(paused=True) == []
    assert given(host=BOX._replace(ambiguous=True)) == []
    for effect in ("suppress", "queue", "notify"):
        assert given(windows=[ActiveWindow("w", frozenset({"web"}), effect, None)]) == []
    assert len(given(windows=[ActiveWindow("w", frozenset({"other"}), "suppress", None)])) == 1


def shares(fleet, rule, hosts):
    """Their lots are drawn in the reverse order of their names."""
    settings = HealingSettings(brake=BrakeSettings(HealsPerHour(fleet=fleet, rule=rule)))
    drawn = drawn_shares(settings, map(str, range(hosts)), lambda name: -float(name))
    return [drawn[str(host)] for host in range(hosts)]


def test_the_shares_come_to_the_limit_of_the_fleet_and_no_more():
    assert shares(60, 10, 0) == []
    assert shares(60, 10, 1) == [10]
    assert shares(60, 10, 7) == [8, 8, 8, 9, 9, 9, 9]
    assert shares(60, 10, 20) == [3] * 20
    assert shares(60, 10, 1000) == [0] * 940 + [1] * 60
    assert shares(0, 10, 5) == [0] * 5
    assert shares(60, 0, 5) == [0] * 5


def test_an_agent_would_take_it():
    bundle = PolicyBundle(tuple(given()), 45, 3, agent_id="a1", version=1, issued_at=0, expires_at=9)
    sent = json.loads(json.dumps(plain(bundle)))
    assert check_bundle(sent, sign(sent, "secret"), "secret", "a1") == bundle


def test_a_rule_without_a_settle_time_leaves_it_to_the_action():
    assert "settle_s" not in plain(given()[0])
    assert plain(given(rule=rule(settle_s=7))[0])["settle_s"] == 7


def test_a_host_alone_waits_for_the_proof_as_long_as_the_service_would():
    given_s = [plain(given(rule=rule(verify_timeout_s=value))[0])["verify_timeout_s"] for value in (None, 200)]
    assert given_s == [60, 200]


def test_past_the_brake_none_is_given():
    assert given(load=Load(fleet=60)) == []


def test_without_the_key_nobody_is_drawn_for_more_than_all_have():
    settings = HealingSettings(brake=BrakeSettings(max_heals_per_hour=HealsPerHour(fleet=10, rule=60)))
    drawn = drawn_shares(settings, map(str, range(4)), lambda name: keyed_draw(b"", name))
    assert drawn == dict.fromkeys("0123", 2)
