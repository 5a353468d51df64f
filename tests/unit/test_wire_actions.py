"""The action table: the 55 names, their risks, and that no parameter can become more than one argument."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.agent import native
from opsapp.agent.declared import checked_steps, mistakes
from opsapp.wire.actionparams import UNIT_TIMEOUT_S
from opsapp.wire.actions import ACTIONS
from opsapp.wire.actiontypes import act, own, table, way
from opsapp.wire.commands import check_params
from opsapp.wire.fields import WireError, need, text


def words(text):
    return text.split()


LOW = words("""
restart_container restart_service service_reload service_reset_failed container_pause container_image_pull
process_kill nice_adjust log_rotate temp_cleanup clear_cache flush_dns dns_cache_clear journal_vacuum
package_cache_clean disk_cleanup webhook event_log_clear sfc_scan windows_update_check""")
MEDIUM = words("""
container_recreate service_dependency_restart storage_cleanup cert_renew vpn_reconnect zfs_scrub btrfs_scrub
backup_verify media_queue_cleanup media_library_scan network_interface_restart compose_restart memory_pressure_relief
scale_container trigger_backup automation agent_command chkdsk fsck_schedule scheduled_task_repair iis_app_pool_recycle
wsl_restart""")
HIGH = words("""
host_reboot vm_restart vm_migrate package_security_patch snapshot_rollback firewall_rule_add raid_rebuild
run_playbook run failover_dns driver_rollback group_policy_refresh ad_replication_force""")


def test_the_table_names_all_55_with_their_risk():
    assert {name: action.risk for name, action in ACTIONS.items()} == {
        **dict.fromkeys(LOW, "low"),
        **dict.fromkeys(MEDIUM, "medium"),
        **dict.fromkeys(HIGH, "high"),
    }
    assert Counter(action.risk for action in ACTIONS.values()) == {"low": 20, "medium": 22, "high": 13}


@pytest.mark.parametrize("action", ACTIONS.values(), ids=lambda action: action.name)
def test_every_row_is_whole(action):
    assert action.timeout >= 1
    assert action.settle >= 0
    assert action.describe()["implemented"] is True
    assert set(action.tools()) == {tool for handler in action.handlers for tool in handler.tools}


def test_only_shell_actions_hand_text_to_a_shell():
    shells = {"sh", "bash", "dash", "ash", "zsh", "ksh", "env", "eval", "busybox"}
    for action in ACTIONS.values():
        runs_shell = any(step[0] in shells for handler in action.handlers for step in handler.steps)
        assert runs_shell == action.shell, action.name
    assert {name for name, action in ACTIONS.items() if action.shell} == {"run", "agent_command"}


def test_restart_service_knows_four_ways_in_order():
    action = ACTIONS["restart_service"]
    params = action.check({"service": "nginx"})
    assert [handler.argv(params) for handler in action.handlers] == [
        [["systemctl", "restart", "--", "nginx"]],
        [["service", "nginx", "restart"]],
        [["rc-service", "nginx", "restart"]],
        [["sv", "restart", "nginx"]],
    ]
    assert action.choose({"rc-service", "sv"}.__contains__).tools == ("rc-service",)
    assert action.choose(lambda tool: False) is None


STOPS_S, STARTS_S = 90, 90  # systemd's own limits: it kills what has not stopped, and gives up what has not started


@pytest.mark.parametrize("name", ["restart_service", "service_reload", "service_dependency_restart", "vpn_reconnect"])
def test_who_asks_the_service_manager_waits_for_longer_than_that_may_take(name):
    assert ACTIONS[name].timeout > STOPS_S + STARTS_S


def test_so_does_who_restarts_a_service_by_hand():
    assert check_params("service", {"service": "nginx", "action": "restart"})["timeout"] is None
    assert UNIT_TIMEOUT_S > STOPS_S + STARTS_S, "where systemd does not answer the agent"


def test_a_missing_parameter_comes_from_the_target():
    action = ACTIONS["restart_service"]
    assert action.complete({}, "nginx") == {"service": "nginx"}
    assert action.complete({"service": "demo"}, "nginx") == {"service": "demo"}
    assert ACTIONS["clear_cache"].complete({}, "nginx") == {}


@pytest.mark.parametrize("name", ["temp_cleanup", "journal_vacuum", "log_rotate", "storage_cleanup", "disk_cleanup"])
def test_a_mount_comes_from_an_event_about_one_and_from_no_other(name):
    action = ACTIONS[name]
    assert action.complete({}, "/data") == {"mount": "/data"}
    assert action.complete({"mount": "/"}, "/data") == {"mount": "/"}
    assert action.complete({}, "nginx") == action.complete({}, None) == {}


@pytest.mark.parametrize(
    ("name", "params", "wrong"),
    [
        ("restart_service", {}, "service"),
        ("restart_service", {"service": "--now"}, "service"),
        ("restart_service", {"service": "nginx; reboot"}, "service"),
        ("restart_service", {"service": "nginx", "force": True}, "force"),
        ("process_kill", {}, "pid"),
        ("process_kill", {"pid": 4, "top": "cpu"}, "pid"),
        ("process_kill", {}, "top"),
        ("process_kill", {"pid": 1}, "pid"),
        ("scale_container", {"container": "web"}, "cpu_limit"),
        ("scale_container", {"container": "web"}, "mem_limit"),
        ("nice_adjust", {"pid": 7, "priority": 20}, "priority"),
        ("scale_container", {"container": "web", "mem_limit": "lots"}, "mem_limit"),
        ("firewall_rule_add", {"rule": "-j DROP"}, "rule"),
        ("firewall_rule_add", {"rule": {"direction": "in", "action": "drop", "raw": "x"}}, "rule"),
        ("temp_cleanup", {"path": "tmp"}, "path"),
        ("webhook", {"url": "file:///etc/passwd"}, "url"),
    ],
)
def test_wrong_parameters_are_named(name, params, wrong):
    with pytest.raises(WireError) as caught:
        ACTIONS[name].check(params)
    assert wrong in caught.value.fields


@given(st.sampled_from(sorted(ACTIONS)), st.data())
def test_a_parameter_never_becomes_an_option_or_a_second_argument(name, data):
    action = ACTIONS[name]
    params = {field: data.draw(st.text(max_size=20) | st.integers(-5, 5)) for field in action.params}
    try:
        clean = action.check(params)
    except WireError:
        return
    for handler in action.handlers:
        for step, filled in zip(handler.steps, handler.argv(clean), strict=True):
            assert len(step) == len(filled)
            for before, after in zip(step, filled, strict=True):
                assert action.shell or before.startswith("-") or not after.startswith("-")


def test_a_listing_says_the_type_of_each_parameter():
    for action in ACTIONS.values():
        assert all(param["type"] for param in action.describe()["params"].values()), action.name
    assert ACTIONS["nice_adjust"].describe()["params"]["priority"] == {
        "type": "integer",
        "minimum": -20,
        "maximum": 19,
        "required": False,
        "default": 10,
    }
    rule = ACTIONS["firewall_rule_add"].describe()["params"]["rule"]
    assert (rule["type"], rule["properties"]["direction"]["choices"]) == ("object", ["in", "out"])


NAMED = {"name": need(text())}


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        ([act("a", "low", NAMED)], "no handler"),
        ([act("a", "low", NAMED, way("stop {nam}"))], "no parameter nam"),
        ([act("a", "low", NAMED, way("stop"), target_param="unit")], "no parameter unit"),
        ([act("a", "low", NAMED, way("stop"), either=("name", "pid"))], "no parameter pid"),
        ([act("a", "low", NAMED, where="server", runs="automation_id")], "no parameter automation_id"),
        ([act("a", "low", NAMED, way("stop"), rollback="unit")], "records nothing"),
        ([act("a", "tiny", NAMED, way("stop"))], "tiny is no risk"),
        ([act("a", "low", NAMED, way("stop"))] * 2, "declared twice"),
    ],
)
def test_a_wrong_row_does_not_get_into_the_table(rows, wrong):
    with pytest.raises(ValueError, match=wrong):
        table(*rows)


@pytest.mark.parametrize(
    ("row", "missing"),
    [
        (act("a", "low", NAMED, own("kil_process")), "native step kil_process"),
        (act("a", "low", NAMED, way("sistemctl stop {name}")), "tool sistemctl"),
        (act("a", "low", NAMED, way("systemctl stop {name}", when="tuesday")), "question tuesday"),
        (act("a", "low", NAMED, way("systemctl stop {name}"), snapshot="units"), "kind of snapshot units"),
        (
            act("a", "low", NAMED, way("systemctl stop {name}"), snapshot="unit", rollback="unit"),
            "way back to a snapshot unit",
        ),
    ],
)
def test_an_agent_that_lacks_what_the_table_names_does_not_start(row, missing):
    with pytest.raises(ImportError, match=missing):
        checked_steps([*ACTIONS.values(), row])


def test_a_native_step_is_made_once_and_for_an_action():
    assert mistakes(ACTIONS.values()) == []
    unused = [action for action in ACTIONS.values() if action.name != "process_kill"]
    assert mistakes(unused) == ["there is no use of the native step kill_process"]
    with pytest.raises(ImportError, match="two native steps are called kill_process"):
        native.step(native.STEPS["kill_process"])
