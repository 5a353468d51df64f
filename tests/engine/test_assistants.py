"""A proposed action on its way: proposed, allowed by a person, done once by the pipeline with its gates, measured."""

import pytest

from opsapp.approvals.config import ApprovalSettings
from opsapp.assistants.config import AssistantSettings
from opsapp.assistants.engine import allowing
from opsapp.assistants.resources import desk_of
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine.trace import trace
from opsapp.healing.resources import healing_of
from opsapp.runtime.secrets.chainkey import chain_key
from tests.engine.healing import Ward
from tests.support.assistants import REASON, Door

ASKED = {
    "host": "box-1",
    "action": "restart_service",
    "params": {"service": "nginx"},
    "condition": 'service.nginx.state == "failed"',
    "reason": REASON,
}


@pytest.fixture
def ward(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    made = Ward(tmp_path)
    made.node.transact(lambda root: healing_of(root).rules.__delitem__("nginx"))
    yield made
    made.close()


@pytest.fixture
def door(ward):
    return Door(ward.service)


def decide(ward, request_id, vote="approve", status=200):
    return ward.service.ada.post_json(f"/api/approvals/{request_id}/{vote}", {"comment": "go on"}, status=status).json


def proposed(ward, door, **changes):
    ward.report(service__nginx__state="failed").turn()
    return door.data("propose_action", **{**ASKED, **changes})["request_id"]


def rules(ward):
    return ward.node.transact(lambda root: list(healing_of(root).rules.keys()))


def end(ward):
    ward.node.transact(allowing.end_what_is_over, ward.clock.now())


def traced(ward):
    return ward.node.transact(lambda root: trace(root, chain_key(root), ward.node.config[HealingSettings]))


def phases(ward):
    return ward.hosts.phases()


def test_nothing_is_done_before_a_persons_yes_and_nothing_after_a_no(ward, door):
    request_id = proposed(ward, door)
    ward.pass_time(30, service__nginx__state="failed")
    assert (phases(ward), rules(ward), ward.ledger) == ([], [], [])
    decide(ward, request_id, "reject")
    ward.pass_time(30, service__nginx__state="failed")
    assert (phases(ward), rules(ward), ward.ledger) == ([], [], [])


def test_with_a_yes_it_is_done_once_verified_and_both_names_are_known(ward, door):
    request_id = proposed(ward, door)
    request = ward.service.ada.get(f"/api/approvals/{request_id}").json
    assert request["assistant"]["whatif"]["now"] == {"holds": 1, "false": 0, "unknown": 0}
    decide(ward, request_id)
    assert decide(ward, request_id, status=409)["code"] == "already_decided"
    ward.pass_time(8, service__nginx__state="failed")
    ward.heal(service__nginx__state="active")
    [entry] = ward.ledger
    assert (entry["outcome"], entry["action_type"], entry["rule_id"]) == (
        "verified",
        "restart_service",
        f"once-{request_id}",
    )
    heal = ward.service.ada.get(f"/api/approvals/{entry['approval_id']}").json
    assert (heal["kind"], heal["requested_by"], heal["decided_by"]) == ("heal", "assistant claude", "ada")
    assert (heal["proposal"], heal["assistant"]["reason"]) == (request_id, REASON)
    assert phases(ward).count("execute") == 1
    end(ward)
    assert rules(ward) == []
    ward.pass_time(700, 10, service__nginx__state="failed")
    assert phases(ward).count("execute") == 1
    assert ward.verdict().valid
    assert traced(ward) == []


def test_the_brake_the_pause_and_the_level_hold_for_it_as_for_any_heal(ward, door):
    request_id = proposed(ward, door)
    ward.service.ada.post_json("/api/healing/pause", {})
    decide(ward, request_id)
    ward.pass_time(20, service__nginx__state="failed")
    assert phases(ward) == []


def test_a_window_that_forbids_heals_forbids_it(ward, door):
    request_id = proposed(ward, door)
    ward.service.ada.post_json("/api/healing/maintenance", {"target": "box-1", "duration": "1h", "action": "suppress"})
    decide(ward, request_id)
    ward.pass_time(20, service__nginx__state="failed")
    assert phases(ward) == []


def test_what_is_over_by_itself_is_left_alone_and_the_permission_ends(ward, door):
    request_id = proposed(ward, door)
    decide(ward, request_id)
    ward.report(service__nginx__state="active").turn()
    ward.pass_time(30, service__nginx__state="active")
    end(ward)
    assert (phases(ward), rules(ward)) == ([], [f"once-{request_id}"])
    ward.clock.advance(ward.node.config[AssistantSettings].act_within_s)
    end(ward)
    assert rules(ward) == []
    assert ward.node.transact(lambda root: desk_of(root).grants) == {}
    ward.pass_time(60, service__nginx__state="failed")
    assert phases(ward) == []


def test_the_permission_is_for_exactly_this(ward, door):
    """Somebody edits the rule meanwhile: what it does now was never allowed, so the pipeline asks."""
    request_id = proposed(ward, door)
    decide(ward, request_id)
    ward.service.ada.put_json(
        f"/api/healing/rules/once-{request_id}", {"action": {"type": "restart_service", "params": {"service": "ssh"}}}
    )
    ward.report(service__nginx__state="failed").turn()
    ward.pass_time(10, service__nginx__state="failed")
    assert phases(ward) == []


def test_what_the_action_has_by_default_is_part_of_what_is_allowed(ward, door):
    request_id = proposed(ward, door, action="nice_adjust", params={"pid": 4711})
    decide(ward, request_id)
    ward.pass_time(8, service__nginx__state="failed")
    [entry] = ward.ledger
    heal = ward.service.ada.get(f"/api/approvals/{entry['approval_id']}").json
    assert (heal["status"], heal["plan"]["params"]["priority"]) == ("approved", 10)


def test_a_permission_moves_with_the_clock(ward, door):
    from opsapp.assistants.resources import move

    decide(ward, proposed(ward, door))
    [before] = ward.node.transact(lambda root: list(desk_of(root).grants.values()))
    ward.node.transact(move, 3600.0)
    [after] = ward.node.transact(lambda root: list(desk_of(root).grants.values()))
    assert after.until - before.until == 3600.0


def test_an_operator_whose_assistant_it_is_does_not_allow_it_and_an_admin_not_where_it_is_strict(ward):
    request_id = proposed(ward, Door(ward.service, "otto"))
    assert ward.service.otto.post_json(f"/api/approvals/{request_id}/approve", {}, status=403)
    decide(ward, request_id)
    own = proposed(ward, Door(ward.service, "ada"), params={"service": "other"})
    ward.service.configure(ApprovalSettings, strict=True)
    decide(ward, own, status=403)
