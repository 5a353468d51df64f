"""What is under way loses its ground: its rule, its target, its trust, or the reason for it, at each stage."""

import pytest

from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import drop_rule, put_rule
from opsapp.notify.resources import inbox
from opsapp.wire.records import made
from tests.engine.healing import NGINX
from tests.engine.test_healing_pipeline import window
from tests.support.hosts import place

FAILED = {"service__nginx__state": "failed"}
WELL = {"service__nginx__state": "active"}
SITE = {
    "id": "site",
    "condition": 'monitor.status == "down"',
    "escalation_chain": [{"action": "restart_service", "params": {"service": "nginx"}}, {"action": "clear_cache"}],
    "settle_s": 1,
    "verify_timeout_s": 5,
}
MONITOR = place("shop", agent_id="a1", subject="monitor:m1", names=("shop", "m1"))


def began(ward, *rules, level="execute", **more):
    """The snapshot was asked for."""
    here = ward(*rules, **more).at(level).report(**FAILED).turn().turn(5)
    assert here.hosts.phases() == ["snapshot"]
    return here


def acting(ward, **more):
    """The action is on its way."""
    here = began(ward, **more)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    assert here.hosts.phases() == ["snapshot", "execute"]
    return here


def ends(here):
    return [(entry["outcome"], entry["reason"]) for entry in here.ledger]


def edit(here, **changes):
    def write(root):
        put_rule(root, "nginx", made(RuleSettings, {**NGINX, **changes}), source="api", now=here.clock.now())

    here.node.transact(write)


def drop(here):
    here.node.transact(drop_rule, "nginx")


def disable(here):
    edit(here, enabled=False)


def pause(here):
    here.node.transact(lambda root: setattr(healing_of(root), "switch", {"paused": True, "by": "ada", "at": 0}))


def repair(here):
    here.report(**WELL)


def demote(here):
    here.service.ada.post_json("/api/healing/trust/nginx/demote", {"level": "notify"})


def delete_host(here):
    here.hosts.here = []


def silence(here):
    window(here, "notify_only")


LOSSES = [
    (drop, ("suppressed", "rule_disabled")),
    (disable, ("suppressed", "rule_disabled")),
    (pause, ("suppressed", "paused")),
    (repair, ("withdrawn", "condition_gone")),
    (silence, ("notified", "level notify by now")),
    (demote, ("notified", "level notify by now")),
    (delete_host, ("withdrawn", "target_gone")),
]
each_loss = pytest.mark.parametrize(("loss", "end"), LOSSES, ids=[row[0].__name__ for row in LOSSES])


@each_loss
def test_nothing_is_done_whose_ground_was_lost_while_the_host_was_looked_at(ward, loss, end):
    here = began(ward)
    loss(here)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    assert here.hosts.phases() == ["snapshot"]
    assert ends(here) == [end]
    assert not here.ledger[0]["executed"]
    assert [case["state"] for case in here.cases] == ["closed"]


@pytest.mark.parametrize(("loss", "end"), LOSSES[:-1], ids=[row[0].__name__ for row in LOSSES[:-1]])
@pytest.mark.parametrize("stage", [began, acting])
def test_what_waits_for_a_host_that_is_away_is_taken_back(ward, stage, loss, end):
    """A command waits for an hour; a host that comes back then must not do what nobody wants any more."""
    here = stage(ward)
    here.hosts.here = [place(online=False)]
    loss(here)
    here.turn(1)
    assert here.hosts.sent[-1]["answer"]["status"] == "cancelled"
    assert ends(here) == [end]
    assert not here.ledger[0]["executed"]
    assert loss is drop or here.trust().executions == 0
    assert here.node.transact(lambda root: not list(healing_of(root).snapshots))
    assert here.node.transact(lambda root: not healing_of(root).book.acting)


@each_loss
def test_what_the_host_has_been_given_is_seen_through(ward, loss, end):
    """Somebody may be doing it: it is verified, and said what came of it. Only what would follow is not begun."""
    here = acting(ward)
    loss(here)
    here.turn(1)
    assert here.hosts.sent[-1]["answer"] is None
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).turn(6)
    here.clock.advance(0.5)
    here.report(**WELL).turn(0.5)
    if loss is delete_host:
        here.turn(61)
        assert ends(here) == [("inconclusive", "stale: nothing fresh was reported")]
    else:
        assert [outcome for outcome, _ in ends(here)] == ["verified"]


def test_people_hear_of_what_only_notifies_by_now(ward):
    here = began(ward)
    here.node.transact(inbox.take, 10_000)
    demote(here)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    assert [row.kind for row in here.node.transact(inbox.take, 10_000)] == ["heal.notified"]


def test_an_approved_heal_goes_on_at_approve_and_not_below(ward):
    here = ward().at("approve").report(**FAILED).turn().turn(5)
    [asked] = here.service.ada.get("/api/approvals").json
    here.service.ada.post_json(f"/api/approvals/{asked['request_id']}/approve", {})
    here.turn(1)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    assert here.hosts.phases() == ["snapshot", "execute"]


def test_a_rule_that_only_asks_now_does_not_act_by_itself(ward):
    here = began(ward)
    here.service.ada.post_json("/api/healing/trust/nginx/demote", {"level": "approve"})
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    assert ends(here) == [("withdrawn", "level approve by now")]


# -- whose evidence it is ---------------------------------------------------------------------------------------------


def anew(here):
    drop(here)
    edit(here, escalation_chain=[{"action": "service_reload", "params": {}}])


@pytest.mark.parametrize("change", [lambda here: edit(here, action={"type": "service_reload"}), anew])
def test_what_comes_of_a_heal_is_no_evidence_about_a_rule_that_was_edited_meanwhile(ward, change):
    here = acting(ward)
    change(here)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).turn(6)
    here.clock.advance(0.5)
    here.report(**WELL).turn(0.5)
    assert [outcome for outcome, _ in ends(here)] == ["verified"]
    trust = here.trust()
    assert (trust.current_level, trust.executions, trust.verified) == ("notify", 0, 0)


def test_an_edit_of_what_it_does_not_do_leaves_the_evidence(ward):
    here = acting(ward)
    edit(here, description="about nginx", cooldown_s=60)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).turn(6)
    here.clock.advance(0.5)
    here.report(**WELL).turn(0.5)
    assert (here.trust().executions, here.trust().verified) == (1, 1)


# -- a monitor that is deleted ----------------------------------------------------------------------------------------


def site_down(ward, level):
    here = ward(SITE, places=[place(), MONITOR]).at(level, "site")
    here.report("monitor:m1", status="down").turn().turn(5)
    return here


def test_no_next_step_is_taken_for_a_monitor_that_was_deleted_while_the_first_was_verified(ward):
    here = site_down(ward, "execute")
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1)
    here.hosts.here = [place()]
    here.turn(6).turn(6)
    assert here.hosts.phases() == ["snapshot", "execute"]
    assert [outcome for outcome, _ in ends(here)] == ["inconclusive", "withdrawn"]
    assert ends(here)[1][1] == "target_gone"


def test_nobody_is_asked_any_longer_about_a_monitor_that_was_deleted(ward):
    here = site_down(ward, "approve")
    [asked] = here.service.ada.get("/api/approvals").json
    here.hosts.here = [place()]
    here.service.ada.post_json(f"/api/approvals/{asked['request_id']}/approve", {}, status=409)
    here.turn(1)
    assert ends(here)[0][0] == "withdrawn"
    assert here.hosts.sent == []


def test_the_request_about_a_deleted_monitor_is_withdrawn_by_itself(ward):
    here = site_down(ward, "approve")
    here.hosts.here = [place()]
    here.turn(61)
    assert ends(here) == [("withdrawn", "target_gone")]
    assert here.service.ada.get("/api/approvals").json == []
