"""Whatever happens in whatever order: one terminal outcome per event, no effect twice, dry run as the deed."""

import random
from dataclasses import replace

import pytest

from opsapp.healing.engine import arrivals
from opsapp.healing.engine.rehearse import dry_run
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.case import RuleEvent
from opsapp.healing.stages.ledger import OUTCOMES
from opsapp.healing.whatif import EventAsked
from opsapp.wire.records import plain
from tests.support.hosts import place

RULES = (
    {
        "id": "nginx",
        "condition": "service.*.failed == 1",
        "severity": "critical",
        "escalation_chain": [{"action": "service_reset_failed"}, {"action": "restart_service"}],
        "cooldown_s": 30,
        "verify_timeout_s": 10,
        "settle_s": 2,
    },
    {"id": "cpu", "condition": "cpu_percent > 90", "action": {"type": "log_rotate"}, "cooldown_s": 20, "settle_s": 1},
    {
        "id": "box",
        "condition": 'container.web.state == "wild"',
        "action": {"type": "container_pause"},
        "settle_s": 1,
        "verify_timeout_s": 10,
    },
)
LEVELS = ("observation", "dry-run", "notify", "approve", "execute")
WIDE = {"max_heals_per_hour": {"fleet": 999, "site": 999, "rule": 999}, "max_unhealthy_percent": 99}


def settle(here, dice):
    """Hosts answer, people vote, time passes, until no case is open, and none stands for anything new."""
    for _ in range(400):
        for one in here.hosts.sent:
            if one["answer"] is None and one["params"].get("phase") != "measure":
                status = dice.choice(["done", "done", "done", "failed", "lost", "timeout"])
                here.hosts.finish(
                    one["params"]["phase"], status=status, snapshot={"kind": "x"}, restored=True, among=one
                )
        for waiting in here.service.vera.get("/api/approvals").json:
            vote = dice.choice(["approve", "reject"])
            here.service.otto.post(f"/api/approvals/{waiting['request_id']}/{vote}", expect_errors=True)
        here.turn(2)
        if not here.node.transact(lambda root: len(healing_of(root).book.due)):
            return
    raise AssertionError("a case never closes")


def shake(here, dice, rounds=40):
    """Random states, levels, pauses, windows, restarts and answers; how many events were received."""
    here.received = 0
    submit = here.engine.node.transact
    for _ in range(rounds):
        for host in ("a1", "a2"):
            values = {
                "service.nginx.state": dice.choice(["active", "failed", "activating"]),
                "service.php.state": dice.choice(["active", "failed"]),
                "container.web.state": dice.choice(["running", "wild"]),
                "cpu_percent": dice.choice([10, 95, None]),
            }
            here.engine.readings.live.update(
                f"agent:{host}", {name: value for name, value in values.items() if value is not None}, here.clock.now()
            )
        if dice.random() < 0.3:
            here.at(dice.choice(LEVELS), dice.choice(["nginx", "cpu", "box"]))
        if dice.random() < 0.1:
            paused = dice.random() < 0.5
            submit(
                lambda root, paused=paused: setattr(healing_of(root), "switch", {"paused": paused, "by": "x", "at": 0})
            )
        if dice.random() < 0.2:
            here.restart()
        for one in here.hosts.sent:
            if one["answer"] is None and dice.random() < 0.5:
                here.hosts.finish(one["params"]["phase"], snapshot={"kind": "x"}, restored=True, among=one)
        here.turn(dice.choice([0.5, 1, 3, 7]))


@pytest.mark.parametrize("seed", range(6))
def test_every_event_has_exactly_one_terminal_outcome(ward, seed, monkeypatch):
    """But for alerts before the cooldown's end that are suppressed once more: these are no events yet."""
    dice, none_yet, receive = random.Random(seed), [], arrivals.receive

    def receiving(context, event):
        if isinstance(event, RuleEvent) and event.early and arrivals.is_suppressed(context, event):
            none_yet.append(event.rule_id)
        receive(context, event)

    monkeypatch.setattr(arrivals, "receive", receiving)
    here = ward(*RULES, places=[place(), place("box-2", "a2")], brake=WIDE)
    received = []
    shown = here.engine.alerts.__class__.step

    def counted(alerts, now, budget_s=1.0):
        events = shown(alerts, now, budget_s)
        received.extend(event for event in events if isinstance(event, RuleEvent))  # alerts, and not what is over
        return events

    here.count_events(counted)
    shake(here, dice)
    here.node.transact(lambda root: setattr(healing_of(root), "switch", {"paused": False, "by": "x", "at": 0}))
    settle(here, dice)
    ledger = here.ledger
    assert received
    assert all(entry["state"] == "final" and entry["outcome"] in OUTCOMES for entry in ledger)
    for rule in RULES:
        counted = sum(entry["events"] for entry in ledger if entry["rule_id"] == rule["id"])
        assert counted == [event.rule_id for event in received].count(rule["id"]) - none_yet.count(rule["id"])
    assert [entry["id"] for entry in ledger] == list(range(1, len(ledger) + 1))
    assert here.verdict().valid
    for entry in ledger:
        assert not (entry["outcome"] == "verified" and not entry["action_success"])
    executes = [(one["params"]["heal_id"], one["params"]["phase"]) for one in here.hosts.sent]
    deeds = [deed for deed in executes if deed[1] != "measure"]
    assert len(deeds) == len(set(deeds))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("usable", [frozenset({"systemctl"}), frozenset({"docker"})])
def test_the_dry_run_predicts_what_then_happens_and_changes_nothing(ward, level, usable):
    here = ward(RULES[0], places=[place(usable=usable)]).at(level)
    here.report(service__nginx__state="failed")
    here.engine.refresh()
    event = {"source": "test", "rule_id": "nginx", "target": "box-1/nginx", "severity": "warning", "metrics": {}}
    otto = here.service.otto
    before = here.node.store.db.lastTransaction()
    predicted = otto.post_json("/api/healing/dry-run", {"event": {**event}}).json
    assert here.node.store.db.lastTransaction() == before
    here.turn().turn(5)
    [entry, *_] = here.ledger
    did = {
        "observe": "observed",
        "simulate": "simulated",
        "notify": "notified",
        "request_approval": "awaiting_approval",
        "execute": None,
        "nothing": "failed",
    }
    assert did[predicted["would"]] == entry["outcome"]
    if predicted["would"] not in ("observe", "nothing"):
        chosen = predicted["action_selection"]
        assert (chosen["action_type"], chosen["step"]) == (entry["action_type"], entry["escalation_step"])


def test_the_dry_run_sees_the_case_that_would_absorb(ward):
    here = ward(RULES[0]).at("execute").report(service__nginx__state="failed").turn()
    event = EventAsked(rule_id="nginx", target="box-1/nginx", severity="warning")
    found = plain(here.node.transact(dry_run, event))
    assert (found["would"], found["correlation"]["case_id"]) == ("absorb", here.cases[0]["id"])


def test_metrics_of_the_event_stand_in_for_the_live_ones(ward):
    here = ward(RULES[1]).at("notify", "cpu")
    event = EventAsked(rule_id="cpu", target="box-1", severity="warning")
    assert here.node.transact(dry_run, replace(event, metrics={"cpu_percent": 95})).would == "notify"
    assert here.node.transact(dry_run, replace(event, metrics={"cpu_percent": 5})).would == "nothing"


def test_a_storm_with_one_root_is_one_heal(ward):
    """Each dependant is suppressed by name, the root alone is acted upon."""
    count = 300
    here = ward(
        {"id": "down", "condition": "down == 1", "action": {"type": "log_rotate"}},
        places=[
            place("core", "core", usable=frozenset({"logrotate"})),
            *[place(f"leaf-{n}", f"l{n}") for n in range(count)],
        ],
        dependencies=[{"target": "core"}, *[{"target": f"leaf-{n}", "depends_on": ["core"]} for n in range(count)]],
        brake=WIDE | {"max_unhealthy_percent": 100},
    ).at("execute", "down")
    for name in ["core", *[f"l{n}" for n in range(count)]]:
        here.report(f"agent:{name}", down=1)
    here.turn().turn(6)
    assert {command["agent_id"] for command in here.hosts.sent} == {"core"}
    assert [entry["outcome"] for entry in here.ledger].count("suppressed") == count
