"""What follows for a case in each of its states: stages 3 and 4, the plan's gates, the word of people."""

from dataclasses import replace

import pytest

from opsapp.healing.logic.brake import Load
from opsapp.healing.logic.graph import Graph, GraphNode
from opsapp.healing.logic.windows import ActiveWindow
from opsapp.healing.stages import approval, correlation, execution, verification
from opsapp.healing.stages.approval import Request
from opsapp.healing.stages.moves import MOVES, check
from opsapp.healing.stages.stepping import Facts, following
from opsapp.healing.stages.timing import patience_of, settle_of
from opsapp.healing.stages.turns import Neighbours
from opsapp.healing.stages.verification import Surroundings
from opsapp.healing.stages.world import SERVER, Reading
from opsapp.wire.actions import ACTIONS
from opsapp.wire.harms import Harm
from opsapp.wire.heals import HostAnswer
from opsapp.wire.records import plain

from .world import BOX, NOW, case, event, rule, tally, world

PLAIN, REVERSIBLE, ARMED = "restart_service", "container_pause", "vpn_reconnect"
HEAL = {"host": "a1", "action": PLAIN, "heal_id": "00ff.0", "began_at": NOW - 3, "params": {"service": "nginx"},
        "entry_id": 7, "sent_at": NOW - 1, "command_id": "c1", "subject": "agent:a1"}  # fmt: skip
CHAIN = [{"action": PLAIN, "params": {}}, {"action": "service_reset_failed", "params": {}}]
PLACES = {move.before for move in MOVES} | {move.after for move in MOVES}


def at(place, **changes):
    state, _, phase = place.partition(".")
    return case(**{**HEAL, "state": state, "phase": phase or None, **changes})


def step(here, within=None, **facts):
    """What follows, and that the table has it."""
    then = following(here, within or world(), Facts(token=4, **facts))
    if type(then).__name__ == "Recall":
        check(here.place, then.end)
        check(here.place, then.wait)
    else:
        check(here.place, then)
    return then


def told(then):
    """Kind, where it leads, outcome and reason."""
    return type(then).__name__, then.case.place, getattr(then, "outcome", None), getattr(then, "reason", None)


# -- stage 3 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "answer", "kind", "outcome", "reason"),
    [
        (REVERSIBLE, HostAnswer("done", snapshot={"a": 1}), "SendCommand", None, None),
        (PLAIN, HostAnswer("done", snapshot={"a": 1}), "SendCommand", None, None),
        (PLAIN, HostAnswer("failed", "no such unit"), "SendCommand", None, None),
        (PLAIN, HostAnswer("lost"), "SendCommand", None, None),
        (PLAIN, HostAnswer("expired"), "EndCase", "failed", "host_offline: the snapshot's command is expired"),
        (REVERSIBLE, HostAnswer("failed", "no podman"), "EndCase", "failed", "no_snapshot: no podman"),
        (REVERSIBLE, HostAnswer("done"), "EndCase", "failed", "no_snapshot: done"),
    ],
)
def test_after_the_snapshot(action, answer, kind, outcome, reason):
    then = step(at("executing.snapshot", action=action), answer=answer)
    assert (type(then).__name__, getattr(then, "outcome", None), getattr(then, "reason", None)) == (
        kind,
        outcome,
        reason,
    )
    if kind == "SendCommand":
        assert (then.case.place, then.case.heal.snapshot) == ("executing.execute", answer.snapshot)
        assert then.entry == {"executed": True}
        assert then.case.why == (() if answer.snapshot else (f"snapshot missing: {answer.said}",))


def test_what_can_cut_the_host_off_is_armed_for_as_long_as_it_may_take_to_confirm_it():
    around = world(rule(settle_s=30, verify_timeout_s=50))
    around.settings = replace(around.settings, confirm_s=20)
    then = step(at("executing.snapshot", action=ARMED), around, answer=HostAnswer("done", snapshot={}))
    assert then.arm_s == max(30, ACTIONS[ARMED].least_settle) + 50 + 20
    assert step(at("executing.snapshot"), answer=HostAnswer("done", snapshot={})).arm_s is None


def test_what_has_lost_its_ground_since_the_snapshot_is_not_begun():
    then = step(at("executing.snapshot"), world(paused=True), answer=HostAnswer("done", snapshot={}))
    assert told(then) == ("EndCase", "executing.snapshot", "suppressed", "paused")
    assert (then.case.held, then.entry, then.notifies) == (True, {"executed": False}, False)
    assert then.case.why == ("not begun: paused",)


@pytest.mark.parametrize(
    ("answer", "outcome", "reason", "executed"),
    [
        (HostAnswer("done", exit_code=1), "failed", "the action ended done, exit code 1", True),
        (HostAnswer("failed", "no_capable_handler: systemctl", 1), "failed", "no_capable_handler: systemctl", False),
        (
            HostAnswer("failed", "no_capable_handler", looked_for=("a", "b"), unfit=("b",)),
            "failed", "no_capable_handler: looked for a, b; not for this: b", False,
        ),
        (HostAnswer("failed", "no_capable_handler", looked_for=("a",)), "failed",
         "no_capable_handler: looked for a", False),
        (HostAnswer("failed", "masked: nothing can start it", 1), "failed", "masked: nothing can start it", False),
        (HostAnswer("timeout"), "failed", "the action ended timeout, exit code None", True),
        (HostAnswer("lost"), "lost", "nobody can tell whether the action ran", True),
        (HostAnswer("lost", "restarted"), "lost", "restarted", True),
        (HostAnswer("expired"), "failed", "host_offline: the action's command is expired", False),
    ],
)  # fmt: skip
def test_an_action_that_did_not_succeed_ends_its_step(answer, outcome, reason, executed):
    then = step(at("executing.execute"), answer=answer)
    assert told(then) == ("EndCase", "executing.execute", outcome, reason)
    assert then.entry == {"duration_s": 3.0, "executed": executed}


def test_an_action_that_ran_settles_for_as_long_as_the_rule_says():
    around = world(rule(settle_s=40))
    answer = HostAnswer.read({"status": "done", "exit_code": 0, "data": {"armed_s": 90}})
    then = step(at("executing.execute"), around, answer=answer)
    assert told(then)[:2] == ("Wait", "settling")
    assert (then.due, then.entry) == (NOW + 40, {"state": "settling", "action_success": 1})
    assert (then.case.heal.armed, then.case.heal.acted_at) == (True, NOW)


@pytest.mark.parametrize(
    ("action", "snapshot", "answer", "kind", "outcome", "status"),
    [
        (ARMED, {"a": 1}, HostAnswer("lost"), "SendCommand", None, None),
        (ARMED, None, HostAnswer("lost"), "EndCase", "lost", None),
        (PLAIN, {"a": 1}, HostAnswer("lost"), "EndCase", "lost", None),
        (ARMED, {"a": 1}, HostAnswer("failed", "x", undone=True), "EndCase", "rolled_back", "rolled_back"),
        (ARMED, {"a": 1}, HostAnswer("failed", "x", undone=False), "EndCase", "failed", "failed"),
    ],
)
def test_what_may_have_cut_its_host_off_is_undone(action, snapshot, answer, kind, outcome, status):
    then = step(at("executing.execute", action=action, snapshot=snapshot), answer=answer)
    assert (type(then).__name__, getattr(then, "outcome", None)) == (kind, outcome)
    if kind == "SendCommand":
        assert (then.case.place, then.case.verdict) == ("executing.rollback", "lost")
    else:
        assert then.entry.get("rollback_status") == status


@pytest.mark.parametrize("place", ["executing.execute", "verifying.confirm", "executing.rollback"])
def test_a_step_that_resolves_nothing_leads_to_the_next_one(place):
    around = world(rule(escalation_chain=CHAIN))
    then = step(at(place), around, answer=HostAnswer("failed", "no", kept=True))
    assert type(then).__name__ == "NextStep"
    last = step(at(place, step=1), around, answer=HostAnswer("failed", "no", kept=True))
    assert type(last).__name__ == "EndCase"
    gone = step(at(place), world(rules={}), answer=HostAnswer("failed", "no", kept=True))
    assert type(gone).__name__ == "EndCase", "the rule was deleted"


@pytest.mark.parametrize(
    ("answer", "changes", "expected"),
    [
        (HostAnswer("done"), {}, ("EndCase", "verified", "the condition is known false, and confirmed")),
        (HostAnswer("lost"), {}, ("SendCommand", None, None)),
        (HostAnswer("lost"), {"asked_twice": True}, ("EndCase", "inconclusive", "not confirmed: lost")),
        (HostAnswer("done", kept=False), {}, ("EndCase", "rolled_back", "not confirmed: done")),
        (HostAnswer("failed", "late"), {}, ("EndCase", "inconclusive", "not confirmed: late")),
    ],
)
def test_after_the_confirmation(answer, changes, expected):
    then = step(at("verifying.confirm", **changes), answer=answer)
    assert (type(then).__name__, getattr(then, "outcome", None), getattr(then, "reason", None)) == expected
    if expected[0] == "SendCommand":
        assert then.case.asked_twice


@pytest.mark.parametrize(
    ("changes", "answer", "outcome", "reason", "entry"),
    [
        ({}, HostAnswer("done", restored=True), "rolled_back", "verification failed; restored",
         {"rollback_status": "rolled_back"}),
        ({"verdict": "lost", "doubt": "d"}, HostAnswer("done", restored=True), "rolled_back", "d; restored",
         {"rollback_status": "rolled_back", "verdict": "lost"}),
        ({"verdict": "inconclusive", "doubt": "d"}, HostAnswer("failed", "no"), "inconclusive",
         "d; rollback failed: no", {"rollback_status": "failed"}),
        ({"manual": True}, HostAnswer("done", restored=True), "rolled_back", "restored", {"action_success": 1}),
        ({"manual": True}, HostAnswer("done"), "failed", "not restored: done", {"action_success": 0}),
    ],
)  # fmt: skip
def test_after_the_rollback(changes, answer, outcome, reason, entry):
    then = step(at("executing.rollback", **changes), answer=answer)
    assert (type(then).__name__, then.outcome, then.reason) == ("EndCase", outcome, reason)
    assert {name: then.entry[name] for name in entry} == entry


@pytest.mark.parametrize("place", ["executing.snapshot", "executing.execute"])
def test_a_command_that_nothing_wants_any_more_is_taken_back(place):
    assert told(step(at(place)))[:2] == ("Wait", place)
    then = step(at(place), world(levels={"nginx-down": "notify"}))
    assert type(then).__name__ == "Recall"
    assert (then.end.outcome, then.end.reason, then.end.notifies) == ("notified", "level notify by now", True)
    assert then.wait.case is then.case
    approve = world(levels={"nginx-down": "approve"})
    assert told(step(at(place, approval_id="p1"), approve))[0] == "Wait"
    assert step(at(place), approve).end.outcome == "withdrawn"
    assert told(step(at(place, manual=True), world(paused=True)))[0] == "Wait"


def test_what_is_to_be_undone_is_waited_for_whatever_happens():
    assert told(step(at("executing.rollback"), world(paused=True)))[0] == "Wait"
    assert told(step(at("verifying.confirm"), world(paused=True)))[0] == "Wait"


def test_an_answer_that_never_comes_is_lost():
    around = world()
    around.settings = replace(around.settings, command_expiry_s=100, answer_wait_s=50)
    most = ACTIONS[PLAIN].longest + 150
    reason = "no answer of the host: nobody can tell whether it was done"
    then = step(at("executing.execute", sent_at=NOW - most - 1), around)
    assert told(then) == ("EndCase", "executing.execute", "lost", reason)
    for changes in ({"sent_at": NOW - most}, {"sent_at": None}, {"host": SERVER, "sent_at": 0.0}):
        assert told(step(at("executing.execute", **changes), around))[0] == "Wait"
    assert execution.overdue(at("executing.rollback", action="gone"), around) is None


@pytest.mark.parametrize(
    ("place", "changes", "outcome", "reason"),
    [
        ("executing.snapshot", {}, "failed", "snapshot not possible: no"),
        ("executing.rollback", {"verdict": "lost"}, "lost", "rollback not possible: no"),
        ("executing.rollback", {"manual": True}, "failed", "rollback not possible: no"),
    ],
)
def test_a_command_that_is_refused_ends_the_step(place, changes, outcome, reason):
    then = execution.refused(at(place, **changes), "no", world())
    assert told(then) == ("EndCase", place, outcome, reason)
    check(place, then)


# -- stage 4 ----------------------------------------------------------------------------------------------------------


def test_after_the_settle_time_it_is_measured():
    then = step(at("settling"), world(rule(verify_timeout_s=30)))
    assert told(then)[:2] == ("Measure", "verifying")
    assert (then.heal_id, then.patience, then.entry) == ("00ff.0", 30, {"state": "verifying"})
    assert (then.case.settled_at, then.case.deadline, then.case.asked_under) == (NOW, NOW + 30, 4)


VERIFYING = {"settled_at": NOW - 5, "deadline": NOW + 55, "asked_at": NOW - 5, "asked_under": 4}


@pytest.mark.parametrize(
    ("changes", "verdict", "measured_at", "kind", "place", "outcome"),
    [
        ({"asked_under": 3}, True, NOW, "Measure", "verifying", None),
        ({}, None, NOW, "Wait", "verifying", None),
        ({"asked_at": NOW - 10}, None, NOW, "Measure", "verifying", None),
        ({"deadline": NOW}, None, NOW, "EndCase", "verifying", "inconclusive"),
        ({}, False, NOW, "EndCase", "verifying", "verified"),
        ({"armed": True}, False, NOW, "SendCommand", "verifying.confirm", None),
        ({}, True, NOW, "Wait", "verifying", None),
        ({"deadline": NOW}, True, NOW, "EndCase", "verifying", "failed"),
        (
            {"deadline": NOW, "action": REVERSIBLE, "snapshot": {"a": 1}},
            True,
            NOW,
            "SendCommand",
            "executing.rollback",
            None,
        ),
        ({"flaps": True}, False, NOW, "Measure", "verifying", None),
        ({"flaps": True, "asked_at": NOW - 1}, False, NOW, "Wait", "verifying", None),
        ({"events": {"nginx-down": 2}}, False, NOW, "Measure", "verifying", None),
        (
            {"flaps": True, "seen_at": NOW - 1, "well_since": NOW - 1, "well_looks": 1},
            False,
            NOW,
            "EndCase",
            "verifying",
            "verified",
        ),
    ],
)
def test_a_look(changes, verdict, measured_at, kind, place, outcome):
    around = world(reading=lambda _: Reading(verdict, {"cpu": 9}, measured_at))
    then = step(at("verifying", **{**VERIFYING, **changes}), around)
    assert (told(then)[:2], getattr(then, "outcome", None)) == ((kind, place), outcome)
    if kind in ("EndCase", "SendCommand"):
        assert then.entry["metrics_after"] == {"cpu": 9}


HARM = Harm("disk", "box-1", "disk_percent > 90")


@pytest.mark.parametrize("verdict", [True, False, None])
@pytest.mark.parametrize(
    ("changes", "kind"), [({}, "EndCase"), ({"action": REVERSIBLE, "snapshot": {}}, "SendCommand")]
)
def test_what_has_become_worse_is_a_failure_at_once_whatever_became_of_the_condition(verdict, changes, kind):
    around = world(reading=lambda _: Reading(verdict, {}, NOW))
    then = step(at("verifying", **{**VERIFYING, **changes}), around, around=Surroundings((HARM,)))
    assert type(then).__name__ == kind
    assert then.entry["worse"] == (Harm("disk", "box-1", "disk_percent > 90"),)
    said = "worse: box-1: fullest disk is above 90 % (rule disk)"
    if kind == "EndCase":
        assert (then.outcome, then.reason) == ("failed", said)
        return
    assert (then.case.verdict, then.case.doubt) == ("failed", said)
    back = step(then.case, answer=HostAnswer("done", restored=True))
    assert (back.outcome, back.reason) == ("rolled_back", f"{said}; restored")


def test_what_may_be_worse_is_measured_meanwhile():
    then = step(at("verifying", **VERIFYING), world(), around=Surroundings((), ("box-2",)))
    assert (told(then)[:2], then.ask) == (("Wait", "verifying"), ("box-2",))


@pytest.mark.parametrize(("deadline", "expected"), [(NOW + 55, NOW + 55), (NOW + 3, NOW + 30), (NOW - 99, NOW + 30)])
def test_after_a_restart_the_stored_deadline_holds_but_for_the_time_of_one_measurement(deadline, expected):
    then = step(at("verifying", **{**VERIFYING, "deadline": deadline, "asked_under": 3}))
    assert (told(then)[:2], then.case.deadline, then.case.settled_at) == (("Measure", "verifying"), expected, NOW - 5)


def test_the_window_begins_with_the_act_however_late_it_is_looked_at():
    around = world(rule(settle_s=20, verify_timeout_s=100))
    then = step(at("settling", acted_at=NOW - 25), around)
    assert (then.case.settled_at, then.case.deadline) == (NOW - 5, NOW + 95)


@pytest.mark.parametrize(("well", "flaps"), [(None, False), (NOW - 6, True), (NOW - 400, False), (NOW, False)])
def test_what_holds_again_soon_after_it_was_over_comes_and_goes(well, flaps):
    then = step(at("settling"), world(well_since=lambda _: well))
    assert then.case.flaps is flaps


def test_how_long_things_take():
    assert settle_of("nginx-down", ACTIONS[PLAIN], world()) == ACTIONS[PLAIN].settle
    assert patience_of("nginx-down", world()) == verification.patience_of("gone", world()) == 60.0


# -- the plan's gates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "kind", "place", "outcome", "reason"),
    [
        ({}, "BeginHeal", "executing.snapshot", None, None),
        ({"paused": True}, "EndCase", "planning", "suppressed", "paused"),
        ({"rules": {}}, "EndCase", "planning", "suppressed", "rule_disabled"),
        ({"known": lambda _: False}, "EndCase", "planning", "withdrawn", "target_gone"),
        ({"verdict": False}, "EndCase", "planning", "withdrawn", "condition_gone"),
        ({"windows": [ActiveWindow("w", None, "queue", None)]}, "EndCase", "planning", "suppressed", "window w: queue"),
        ({"levels": {"nginx-down": "approve"}}, "AskApproval", "awaiting_approval", None, None),
        ({"levels": {"nginx-down": "notify"}}, "EndCase", "planning", "notified", "level notify"),
        ({"hosts": [BOX._replace(online=False)]}, "Wait", "planning", None, None),
        ({"hosts": [BOX._replace(usable=frozenset())]}, "EndCase", "planning", "failed", None),
    ],
)
def test_a_plan_leads_to(changes, kind, place, outcome, reason):
    around = world(**changes)
    around.settings = replace(around.settings, command_expiry_s=60)
    then = step(case(), around)
    assert (told(then)[:2], getattr(then, "outcome", None)) == ((kind, place), outcome)
    assert reason is None or then.reason == reason
    assert getattr(then, "notifies", False) is (outcome == "notified")


def test_a_host_that_stays_away_fails_the_step():
    around = world(hosts=[BOX._replace(online=False)])
    around.settings = replace(around.settings, command_expiry_s=60)
    waits = step(case(), around)
    assert (waits.case.waits_since, waits.case.waits_from, len(waits.case.why)) == (NOW, NOW, 1)
    assert step(waits.case, around).case.why == waits.case.why
    assert step(case(waits_since=NOW - 60), around).outcome == "failed"


def test_a_step_that_cannot_begin_leads_to_the_next_one():
    chain = [{"action": REVERSIBLE, "params": {"container": "web"}}, {"action": PLAIN, "params": {}}]
    around = world(rule(escalation_chain=chain), hosts=[BOX._replace(usable=frozenset({"systemctl"}))])
    then = step(case(), around)
    assert (type(then).__name__, then.outcome, then.case.step) == ("NextStep", "failed", 0)
    assert type(step(case(step=1), around)).__name__ == "BeginHeal"


def test_the_service_acts_without_a_snapshot():
    around = world(rule(action={"type": "webhook", "params": {"url": "http://x", "method": "POST", "body": None}}))
    then = step(case(), around)
    assert told(then)[:2] == ("BeginHeal", "executing.execute")
    assert (then.case.heal.host, then.tells) == (SERVER, False)


def busy(**holder):
    return Neighbours(
        False, lambda host: case(**{**HEAL, "id": "b", "state": "executing", "phase": "execute", **holder})
    )


def test_one_heal_after_the_other_on_a_target_and_on_a_host():
    then = step(case(), near=Neighbours(others_act=True))
    assert (told(then)[:2], then.case.waits_from) == (("Wait", "planning"), NOW)
    assert then.case.why == ("another case acts there: one after the other",)
    assert step(then.case, near=busy()).case.why == then.case.why, "said once"
    assert told(step(case(), near=busy(host="other")))[0] == "BeginHeal"


def test_what_has_waited_is_looked_at_again():
    waited = {"waits_from": NOW - 9, "subject": "agent:a1"}
    then = step(case(**waited), world(reading=lambda _: Reading(True, {}, NOW - 9)))
    assert (told(then)[:2], then.heal_id, then.case.looks_from) == (("Measure", "planning"), "00ff.look", NOW)
    again = step(then.case, world(reading=lambda _: Reading(None, {}, NOW)))
    assert told(again)[:2] == ("Wait", "planning")
    over = step(case(**waited, looks_from=NOW - 99), world(reading=lambda _: Reading(None, {}, NOW)))
    assert told(over) == ("EndCase", "planning", "withdrawn", "condition_unknown: the condition is unknown")
    done = busy(state="closed", outcome="verified", acted_at=NOW)
    assert told(step(case(), near=done))[:2] == ("Wait", "planning"), "the same was just done for another case"


def test_a_chain_of_which_nothing_is_left_is_skipped():
    around = world(history=tally(0, 5))
    assert told(step(case(), around))[:3] == ("EndCase", "planning", "skipped")


def test_the_brake_is_said_with_what_it_ends():
    then = step(case(), world(load=Load(rule=10)))
    assert then.outcome == "notified"
    assert then.plan.brake == then.reason.removeprefix("brake: ") + ": at most notify"
    assert step(case(), world(levels={"nginx-down": "notify"})).plan.brake is None


# -- people -----------------------------------------------------------------------------------------------------------

WAITS = {"state": "awaiting_approval", "approval_id": "p1", "entry_id": 7}
AGREED = Request("approved", by="ada", host="a1", plan_hash="h")


def decided(request, around=None, hashed="h", near=None, **changes):
    return step(
        case(**{**WAITS, **changes}), around, request=request, hashed=lambda _: hashed, near=near or Neighbours()
    )


def test_what_people_decide():
    asked = world(levels={"nginx-down": "approve"})
    assert told(decided(AGREED, asked))[:2] == ("BeginHeal", "executing.snapshot")
    no = decided(Request("rejected", by="ada", comment="not now"))
    assert (told(no), no.case.why) == (
        ("EndCase", "awaiting_approval", "rejected", "not now"),
        ("approval rejected by ada",),
    )
    assert told(decided(approval.EXPIRED)) == ("EndCase", "awaiting_approval", "expired", "approval expired")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rules": {}}, "the case or its rule is gone"),
        ({"known": lambda _: False}, "target_gone: it is no longer looked at"),
        ({"paused": True}, "healing is paused"),
        ({"verdict": False}, "condition_gone: the condition no longer holds"),
        ({"levels": {"nginx-down": "notify"}}, "the plan has changed: level notify"),
    ],
)
def test_what_they_agreed_to_has_to_stand(changes, reason):
    then = decided(AGREED, world(**changes))
    assert told(then) == ("EndCase", "awaiting_approval", "withdrawn", reason)
    assert then.case.why[-1] == "approval approved by ada"
    assert decided(AGREED, hashed="another").reason == "the plan has changed"


def test_what_they_agreed_to_waits_for_its_turn_and_for_a_fresh_look():
    assert told(decided(AGREED, near=busy()))[:2] == ("Wait", "awaiting_approval")
    waited = {"waits_from": NOW - 9, "subject": "agent:a1"}
    old = world(reading=lambda _: Reading(True, {}, NOW - 9))
    assert told(decided(AGREED, old, **waited))[:2] == ("Measure", "awaiting_approval")
    unknown = world(reading=lambda _: Reading(None, {}, NOW))
    then = decided(AGREED, unknown, **waited, looks_from=NOW - 99)
    assert then.reason == "condition_unknown: the condition is unknown"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"rules": {}}, "rule_disabled"),
        ({"known": lambda _: False}, "target_gone"),
        ({"levels": {"nginx-down": "notify"}}, "level notify by now"),
    ],
)
def test_what_nothing_wants_any_more_is_not_asked_for_any_longer(changes, reason):
    around = world(**changes)
    pending = Request("pending", definition=around.trust["nginx-down"].definition)
    then = decided(pending, around)
    assert (type(then).__name__, getattr(then, "reason", None)) == ("EndCase" if reason else "Wait", reason)


def test_what_was_asked_under_another_definition_is_not_asked_for_any_longer():
    assert decided(Request("pending", definition="another")).reason == "rule_edited"


def test_an_automation_is_agreed_to_with_what_it_is_made_of():
    around = world(rule(action={"type": "automation", "params": {"automation_id": "x"}}))
    then = step(case(), around)
    shown = approval.plan_shown(case(), then.plan, around, lambda name: {"automation": {name: "digest"}}).stored()
    assert (shown["automation"], shown["action"], shown["host"]) == ({"x": "digest"}, "automation", SERVER)
    nothing = approval.plan_shown(case(), then.plan._replace(choice=None, host=None), around, lambda _: {}).stored()
    assert (nothing["action"], nothing["params"], nothing["rollback"]) == (None, {}, "nothing is done")


def test_the_rollback_plan_in_words():
    assert execution.rollback_plan(None, None).how == "nothing is done"
    assert plain(execution.rollback_plan(ACTIONS[PLAIN], None)) == {
        "reversible": False,
        "how": "restart_service cannot be reversed",
    }
    assert plain(execution.rollback_plan(ACTIONS[REVERSIBLE], {})) == {
        "reversible": True,
        "how": "restore the container snapshot",
        "snapshot": True,
    }


# -- the others -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "kind", "place"),
    [
        ({}, "PlanNow", "planning"),
        ({"paused": True}, "EndCase", "correlating"),
        ({"rules": {}}, "EndCase", "correlating"),
        ({"windows": [ActiveWindow("w", None, "queue", NOW + 9)]}, "Wait", "correlating"),
        ({"unmeasured": lambda *_: True}, "PlanNow", "planning"),
    ],
)
def test_after_the_hold(changes, kind, place):
    then = step(case(state="correlating"), world(**changes))
    assert told(then)[:2] == (kind, place)
    assert then.case.queued is (kind == "Wait")
    assert then.case.held is ("paused" in changes)


def test_what_it_depends_on_is_measured_first():
    graph = Graph([GraphNode("web", depends_on=("db",)), GraphNode("db")])
    then = step(case(state="correlating", target="web"), world(graph=graph, unmeasured=lambda *_: True))
    assert (told(then)[:2], then.ask, then.due) == (("Wait", "correlating"), ("db",), NOW + 1)


def test_how_a_case_stands_for_an_event():
    assert correlation.taken_in(case(), event()) == "own"
    assert correlation.taken_in(case(state="closed"), event()) == "late"
    assert correlation.taken_in(case(state="awaiting_approval"), event()) == "own"
    assert correlation.taken_in(case(state="awaiting_approval"), event(rule_id="other")) == "beside"


def test_what_has_happened_counts_for_more_than_a_guess():
    guess, seen = event(source="prediction").about, event().about
    first = correlation.absorbed(case(), event(source="prediction"))
    assert (first.events, first.abouts) == ({"nginx-down": 2}, {"nginx-down": guess})
    second = correlation.absorbed(first, event())
    assert second.abouts == {"nginx-down": seen}
    assert correlation.absorbed(second, event(source="anomaly")).abouts == {"nginx-down": seen}
    assert correlation.absorbed(second, event(rule_id="other")).events == {"nginx-down": 3, "other": 1}


def test_a_case_that_is_at_work_says_itself_what_came_of_it():
    assert not correlation.is_resolved_by_itself([case()], "nginx-down")
    assert correlation.is_resolved_by_itself([case()], "other")
    assert correlation.is_resolved_by_itself([case(state="awaiting_approval")], "nginx-down")


def test_a_closed_case_finishes_what_came_late():
    then = step(case(state="closed", late={"nginx-down": 9}))
    assert told(then) == ("FinishLate", "closed", None, "case 00ff is about the same target")
