"""The host names the cause before each step: nothing is tried in vain, and people are told the cause at once."""

from types import SimpleNamespace

import pytest

from opsapp.agents.config import AgentSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.attempt import CauseNamed
from opsapp.healing.stages.looking import LOOK_WAIT_S
from opsapp.notify.resources import inbox
from opsapp.ui.shapes.incidents import _causes
from opsapp.wire.causes import LOOKS
from tests.support.hosts import TOOLS, place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
RULE = {"id": "nginx", "condition": 'service.nginx.state == "failed"', "severity": "critical"}
NGINX = {**RULE, "action": {"type": "restart_service"}}
CHAIN = {**RULE, "escalation_chain": [{"action": "restart_service"}, {"action": "service_reset_failed"}]}
WITH_RUN = {**RULE, "escalation_chain": [{"action": "restart_service"},
                                         {"action": "agent_command", "params": {"command": "true"}}]}  # fmt: skip
MASKED = {"id": "masked", "fields": {"service": "nginx"}}
SENTENCE = "nginx is masked: nothing can start it until somebody unmasks it"
MASKED_SAID = {"id": "masked", "text": SENTENCE}
HELD = {"id": "port_held", "fields": {"port": "80", "process": "apache2", "pid": "7"}}
HELD_SENTENCE = "port 80 is held by another process: apache2 (pid 7)"


@pytest.fixture
def looked_at(ward):
    def make(rule=NGINX, level="execute"):
        here = ward(rule, places=(place(usable=TOOLS | {LOOKS}),))
        return here.at(level).report(**FAILED).turn().turn(5)

    return make


def told(here):
    return [row for row in here.node.transact(inbox.take, 10_000) if row.title]


def the_case(here):
    [case] = here.cases
    return here.service.client("vera").get(f"/api/healing/cases/{case['id']}").json


def test_a_look_names_what_it_is_about(looked_at):
    look = looked_at().hosts.waiting("look")
    assert (look["type"], look["params"]["params"]) == ("heal", {"service": "nginx"})


def test_no_step_is_tried_in_vain_and_the_cause_is_told_at_once(looked_at):
    here = looked_at(CHAIN)
    here.hosts.finish("look", cause=MASKED)
    here.turn()
    assert here.hosts.phases() == ["look"]
    [message] = told(here)
    assert message.kind == "heal.unresolved"
    assert message.title == f"box-1/nginx: {SENTENCE}, not healed (skipped)"
    assert message.text.splitlines()[0] == f"Cause: {SENTENCE}."
    assert "unmask it (systemctl unmask)" in message.text
    [entry] = here.ledger
    assert (entry["outcome"], entry["reason"]) == ("skipped", f"in_vain: {SENTENCE}")
    assert entry["cause"] == {"id": "masked", "text": SENTENCE}
    assert here.verdict().valid


def test_nobody_is_asked_to_approve_what_is_in_vain(looked_at):
    here = looked_at(level="approve")
    here.hosts.finish("look", cause=MASKED)
    here.turn()
    assert [message.kind for message in told(here)] == ["heal.unresolved"]


def test_a_rule_that_only_tells_tells_the_cause(looked_at):
    here = looked_at(level="notify")
    assert told(here) == []
    here.hosts.finish("look", cause=HELD)
    here.turn()
    [message] = told(here)
    assert (message.kind, message.title) == ("heal.notified", f"box-1/nginx: {HELD_SENTENCE}")
    assert message.text.startswith(f"Cause: {HELD_SENTENCE}.\n")


@pytest.mark.parametrize("level", ["observation", "dry-run"])
def test_what_is_only_counted_asks_nobody(looked_at, level):
    assert looked_at(level=level).hosts.phases() == []


def test_what_people_have_written_is_tried_all_the_same(looked_at):
    here = looked_at(WITH_RUN)
    here.hosts.finish("look", cause=MASKED)
    here.turn()
    assert here.hosts.waiting("snapshot")["params"]["action_type"] == "agent_command"


def test_where_a_step_may_help_it_is_taken_and_the_cause_is_known(looked_at):
    here = looked_at()
    here.hosts.finish("look", cause=HELD, output="bind() to 0.0.0.0:80 failed")
    here.turn()
    here.heal(**ACTIVE)
    [entry] = here.ledger
    assert (entry["outcome"], entry["cause"]["id"]) == ("verified", "port_held")


def test_each_step_is_looked_at_before(looked_at):
    here = looked_at(CHAIN)
    here.hosts.finish("look")
    here.turn()
    here.heal(**FAILED)
    here.hosts.finish("look", cause=MASKED)
    here.turn()
    phases = [phase for phase in here.hosts.phases() if phase != "measure"]
    assert phases == ["look", "snapshot", "execute", "look"]
    assert [entry["outcome"] for entry in here.ledger] == ["failed", "skipped"]
    assert "cause" not in here.ledger[0]


def test_what_the_agent_finds_after_a_failed_act_is_told(looked_at):
    here = looked_at()
    here.hosts.finish("look")
    here.turn()
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", status="failed", exit_code=1, cause=MASKED)
    here.turn(1)
    [message] = told(here)
    assert message.text.splitlines()[0] == f"Cause: {SENTENCE}."


@pytest.mark.parametrize("answer", [{}, {"cause": None}, {"cause": {"id": "of_a_newer_agent", "fields": {}}},
                                    {"cause": {"id": "masked", "fields": {}}}, {"cause": "masked"}])  # fmt: skip
def test_an_unknown_cause_leaves_all_as_it_is(looked_at, answer):
    here = looked_at()
    here.hosts.finish("look", **answer)
    here.turn()
    assert the_case(here)["cause"] is None
    here.heal(**ACTIVE)
    assert here.ledger[0]["outcome"] == "verified"
    assert "cause" not in here.ledger[0]


def test_an_agent_that_refuses_the_question_is_healed_as_ever(looked_at):
    here = looked_at()
    here.hosts.finish("look", status="failed", exit_code=None, reason="bad_params: phase")
    here.turn().heal(**ACTIVE)
    assert here.ledger[0]["outcome"] == "verified"


def test_an_older_agent_is_not_asked(ward):
    here = ward(NGINX).at("execute").report(**FAILED).turn().turn(5)
    assert here.hosts.phases() == ["snapshot"]
    assert the_case(here)["cause"] is None


def test_a_look_that_hangs_holds_up_nothing(looked_at):
    here = looked_at()
    here.turn(LOOK_WAIT_S - 1)
    assert here.hosts.phases() == ["look"]
    here.report(**FAILED).turn(1).report(**FAILED).turn(1)
    assert here.hosts.phases() == ["look", "snapshot"]
    assert "cause unknown: the host did not answer in time" in the_case(here)["why"]


def test_a_slow_look_is_followed_by_a_fresh_reading(looked_at):
    """What recovered while the host was looked at is not healed."""
    here = looked_at()
    here.turn(3)
    here.hosts.finish("look")
    here.report(**ACTIVE).turn()
    assert [entry["outcome"] for entry in here.ledger] == ["withdrawn"]


def test_a_look_survives_the_process(looked_at):
    here = looked_at().restart()
    here.report(**FAILED)
    here.hosts.finish("look", cause=MASKED)
    here.turn(1)
    assert [entry["reason"] for entry in here.ledger] == [f"in_vain: {SENTENCE}"]
    assert here.node.transact(lambda root: list(healing_of(root).book.acting)) == []


def test_a_case_that_is_left_alone_after_its_look_waits_for_no_answer_any_more(ward):
    here = ward(NGINX, places=(place(usable=TOOLS | {LOOKS}),), holdout={"share": 1}, trial={"share": 1})
    here.at("execute").report(**FAILED).turn().turn(5)
    here.hosts.finish("look")
    here.turn()
    [case] = here.cases
    assert (case["state"], case["arm"]) == ("planning", "control")
    assert here.node.transact(lambda root: list(healing_of(root).book.acting)) == []


def test_while_the_brake_is_on_nobody_is_asked(ward):
    brake = {"max_heals_per_hour": {"fleet": 0, "site": 9, "rule": 9}, "max_unhealthy_percent": 100}
    here = ward(NGINX, places=(place(usable=TOOLS | {LOOKS}),), brake=brake).at("execute")
    here.report(**FAILED).turn().turn(5)
    assert (here.hosts.phases(), [entry["outcome"] for entry in here.ledger]) == ([], ["notified"])


def test_evidence_is_for_those_who_may_read_the_log(looked_at):
    here = looked_at()
    here.hosts.finish("look", cause=HELD, output="bind() failed\n\nat http://ann:geheim@db/")
    here.turn()
    [case] = here.cases

    def evidence(who):
        return here.service.client(who).get(f"/api/healing/cases/{case['id']}").json["cause"]["evidence"]

    assert evidence("vera") == ["***"]
    assert evidence("otto")[0] == "bind() failed"
    assert "geheim" not in str(evidence("ada"))
    here.node.config = here.node.config.having(AgentSettings(private_logs=("nginx",)))
    assert (evidence("otto"), evidence("ada")[0]) == (["***"], "bind() failed")


def test_the_pages_say_it(looked_at):
    here = looked_at()
    here.hosts.finish("look", cause=HELD, output="bind() failed")
    here.turn()
    [case] = here.cases
    page = here.service.browser("vera").get(f"/healing/cases/{case['id']}")
    assert "Port 80 is held by another process: apache2 (pid 7)" in page.text
    assert "bind() failed" not in page.text
    assert "bind() failed" in here.service.browser("otto").get(f"/healing/cases/{case['id']}").text


def test_an_incident_says_each_cause_once():
    masked = CauseNamed(**MASKED_SAID)
    heals = [SimpleNamespace(cause=cause, created_at=at) for at, cause in ((1, None), (2, masked), (3, masked))]
    assert [(fact.at, fact.words[0].text) for fact in _causes(heals)] == [(3, f"{SENTENCE[0].upper()}{SENTENCE[1:]}.")]
