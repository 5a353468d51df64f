"""Lines about a case, as the stages write them, read as gates."""

from dataclasses import astuple

import pytest

from opsapp.healing.logic.gates import RESULTS, STAGES, gates


@pytest.mark.parametrize(
    ("line", "gate"),
    [
        ("event of rule cpu: held until 5.0 s from now", ("correlation", "held", "passed", "cpu", "5.0 s")),
        ("correlated: plan", ("correlation", "root_cause", "passed", "", "")),
        ("correlated: end, root cause db: down", ("correlation", "root_cause", "stopped", "", "root cause db: down")),
        ("correlated: hold, db is being measured", ("correlation", "root_cause", "waits", "", "db is being measured")),
        ("level execute, effective execute", ("planning", "level", "passed", "execute", "execute")),
        ("level execute, effective notify", ("planning", "level", "lowered", "execute", "notify")),
        ("approve instead of execute: hands off", ("planning", "stake", "lowered", "approve", "hands off")),
        ("brake: 10 an hour: at most notify", ("planning", "cap", "lowered", "notify", "brake: 10 an hour")),
        ("source prediction: one level below", ("planning", "cap", "lowered", "one level below", "source prediction")),
        ("ceiling approve", ("planning", "cap", "lowered", "approve", "ceiling")),
        ("pre-flight host_online: passed web-2", ("planning", "pre_flight", "passed", "host_online", "web-2")),
        ("pre-flight action: failed no step left", ("planning", "pre_flight", "stopped", "action", "no step left")),
        ("would execute", ("planning", "plan", "passed", "execute", "")),
        ("would nothing: host_offline: web-2", ("planning", "plan", "stopped", "nothing", "host_offline: web-2")),
        ("approval 9f requested", ("execution", "approval", "waits", "", "requested")),
        ("approval approved by Jonas Weil", ("execution", "approval", "passed", "Jonas Weil", "approved")),
        ("approval expired", ("execution", "approval", "stopped", "", "expired")),
        ("snapshot missing: no space", ("execution", "no_snapshot", "stopped", "", "no space")),
        ("not begun: paused", ("execution", "not_begun", "stopped", "", "paused")),
        ("failed, the condition still holds; rolling back",
         ("verification", "verdict", "stopped", "failed", "the condition still holds")),
        ("verified; confirming what the agent would undo",
         ("verification", "verdict", "passed", "verified", "confirming what the agent would undo")),
        ("snapshot missing: the host did not answer",
         ("execution", "no_snapshot", "stopped", "", "the host did not answer")),
        ("another case acts there: one after the other",
         ("correlation", "said", "noted", "", "another case acts there: one after the other")),
    ],
)  # fmt: skip
def test_each_line_is_a_gate(line, gate):
    (found,) = gates([line])
    assert astuple(found)[:5] == gate
    assert found.stage in STAGES
    assert found.result in RESULTS


def test_a_step_that_was_passed_over_names_its_action_and_its_place():
    (gate,) = gates(["step 1 service_reload skipped: low_effectiveness: 2 of 9"])
    assert astuple(gate) == ("planning", "step", "stopped", "service_reload", "low_effectiveness: 2 of 9", 1, None)


def test_what_a_host_was_asked_leads_to_its_command():
    sent = "{} of restart_service sent to a1: command c-7"
    found = gates([sent.format("snapshot"), sent.format("rollback")])
    assert [(gate.stage, gate.gate, gate.subject, gate.detail, gate.command_id) for gate in found] == [
        ("execution", "snapshot", "restart_service", "a1", "c-7"),
        ("verification", "rollback", "restart_service", "a1", "c-7"),
    ]


def test_an_end_is_verification_only_after_something_was_done():
    acted = ["execute of restart_service sent to a1: command c", "step 0: verified, the condition is known false"]
    last = astuple(gates(acted)[-1])
    assert last[:5] == ("verification", "outcome", "passed", "verified", "the condition is known false")
    planned = ["correlated: plan", "would nothing: host_offline: x", "step 0: failed, host_offline: x"]
    last = astuple(gates(planned)[-1])
    assert last[:5] == ("planning", "outcome", "stopped", "failed", "host_offline: x")
    lost = [acted[0], "step 0: lost, no answer"]
    last = astuple(gates(lost)[-1])
    assert last[:4] == ("execution", "outcome", "stopped", "lost")


def test_a_line_nobody_knows_is_shown_where_the_case_stood():
    last = astuple(gates(["would execute", "something new"])[-1])
    assert last[:5] == ("planning", "said", "noted", "", "something new")
