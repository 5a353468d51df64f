"""What the service does by itself for a heal: webhooks and commands on its own machine."""

import json
import os
from pathlib import Path

import gevent
import pytest

from opsapp.agents.config import ExecutorSettings
from opsapp.agents.engine import executor
from opsapp.automations.resources import runs_of
from opsapp.healing.engine.server_actions import ServerActionRunner, begin, finish
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.server_actions import ActionEnd, OwnCommand
from opsapp.monitoring.logic.settings import MonitoringSettings
from tests.api.test_agents import Polling
from tests.support.proctexts import texts
from tests.support.targets import Website, website

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}


def rule(action, **params):
    return {"id": "nginx", "condition": 'service.nginx.state == "failed"', "severity": "critical",
            "action": {"type": action, "params": params}}  # fmt: skip


def fired(ward, made, level="execute", **healing):
    return ward(made, **healing).at(level).report(**FAILED).turn().turn(5)


def done(here, **after):
    """The service's hands do what waits, the pipeline goes on to its end."""
    ServerActionRunner(here.node).step()
    here.turn(1).turn(6)
    here.clock.advance(0.5)
    return here.report(**after).turn(0.5)


class Hook(Website):
    do_PUT = Website.do_GET


@pytest.fixture
def site():
    with website(handler=Hook) as made:
        yield made


def test_a_webhook_is_called_once_by_the_service_and_what_came_of_it_is_measured(ward, site):
    here = done(fired(ward, rule("webhook", url=f"{site.url}/hook")), **ACTIVE)
    [entry] = here.ledger
    assert (entry["outcome"], entry["action_type"], entry["action_success"]) == ("verified", "webhook", 1)
    assert [call[:2] for call in site.seen] == [("POST", "/hook")]
    assert here.hosts.phases() == ["measure"]
    assert here.node.transact(lambda root: len(healing_of(root).deeds.rows)) == 0


def test_a_webhook_is_told_what_it_is_about_unless_the_rule_says_what_to_send(ward, site):
    here = fired(ward, rule("webhook", url=f"{site.url}/hook"))
    [row] = here.node.transact(lambda root: list(healing_of(root).deeds.rows.values()))
    assert row.fields["params"]["body"] == {
        "rule_id": "nginx", "target": "box-1/nginx", "condition": 'service.nginx.state == "failed"',
        "severity": "critical", "metrics": {"service.nginx.state": "failed"}, "source": "alert",
        "heal_id": f"{here.cases[0]['id']}.0", "ledger_id": 1, "case_id": here.cases[0]["id"],
    }  # fmt: skip


def test_a_rule_may_say_what_to_send_and_how(ward, site):
    done(fired(ward, rule("webhook", url=f"{site.url}/hook", body={"text": "up"}, method="PUT")), **ACTIVE)
    assert (site.seen[0][0], json.loads(site.bodies[0])) == ("PUT", {"text": "up"})


@pytest.mark.parametrize(("path", "said"), [("/status/500", "HTTP 500"), ("/redirect/1", "HTTP 302")])
def test_an_answer_that_is_no_success_is_a_failure(ward, site, path, said):
    here = done(fired(ward, rule("webhook", url=site.url + path)), **FAILED)
    assert (here.ledger[0]["outcome"], here.ledger[0]["reason"]) == ("failed", f"webhook: {said}")
    assert len(site.seen) == 1


def test_an_address_that_monitoring_may_not_reach_is_not_reached_by_a_webhook(ward, site):
    here = fired(ward, rule("webhook", url=f"{site.url}/hook"))
    here.node.config = here.node.config.having(MonitoringSettings(deny_networks=("127.0.0.0/8",)))
    done(here, **FAILED)
    assert here.ledger[0]["reason"] == "webhook: the address 127.0.0.1 may not be reached"
    assert site.seen == []


def test_what_was_begun_by_a_process_that_is_gone_is_lost_and_not_done_again(ward, site):
    """Killed between the intent and the outcome: nobody can tell, and nobody tries again."""
    here = fired(ward, rule("webhook", url=f"{site.url}/hook"))
    assert len(here.node.transact(begin, 8)) == 1
    here.node.transact(lambda root: setattr(root.system["leases"]["healing"], "token", 99))
    done(here, **FAILED)
    assert site.seen == []
    assert here.ledger[0]["outcome"] == "lost"
    assert "nobody can tell" in here.ledger[0]["reason"]


def test_an_answer_that_comes_after_it_was_given_up_changes_nothing(ward, site):
    here = fired(ward, rule("webhook", url=f"{site.url}/hook"))
    [(deed, _)] = here.node.transact(begin, 8)
    here.node.transact(finish, deed, ActionEnd("failed", "first"))
    here.node.transact(finish, deed, ActionEnd("done"))
    here.turn(1)
    assert here.ledger[0]["reason"] == "first"


def test_no_agent_is_needed_for_what_the_service_does(ward, site):
    here = ward(rule("webhook", url=f"{site.url}/hook")).at("execute")
    here.hosts.here = [here.hosts.here[0]._replace(agent_id=None, subject="monitor:m1", name="shop")]
    here.report("monitor:m1", **FAILED).turn().turn(5)
    done(here)
    assert len(site.seen) == 1


# -- commands on the machine of the service ---------------------------------------------------------------------------


@pytest.fixture
def hands(ward):
    """This node's hands, with the executor as a child process of this test."""
    made = ward(rule("webhook", url="http://127.0.0.1:9/"))
    made.node.registry[executor.WHOSE] = executor.executor_launch.whose(made.node.config[ExecutorSettings])
    child = made.node.registry[executor.KEY] = executor.ExecutorProcess(made.node)
    child.step()
    yield ServerActionRunner(made.node)
    child.finish_stop()


def argv(hands, *steps, timeout=10, deed="d1", **named):
    return hands._run(deed, OwnCommand([*map(list, steps)], **named), timeout)._asdict()


def test_a_command_on_the_services_machine(hands):
    found = argv(hands, ["sh", "-c", "echo one"], ["sh", "-c", "exit 3"], ["/never"])
    assert (found["status"], found["exit_code"], found["output"]) == ("failed", 3, "one\n")
    assert found["reason"] == "sh: exit code 3"
    assert argv(hands, ["/does/not/exist"], deed="d2")["reason"] == "/does/not/exist: No such file or directory"


def test_a_command_that_takes_too_long_is_ended_with_all_its_children(hands):
    nap = f"6001.{os.getpid()}"
    found = argv(hands, ["sh", "-c", f"setsid sleep {nap} & sleep {nap} & echo begun; wait"], timeout=1)
    assert (found["status"], found["output"]) == ("timeout", "begun\n")
    assert f"sleep\0{nap}\0" not in texts(Path("/proc").glob("[0-9]*/cmdline"))


def test_what_is_protected_is_not_touched_on_the_services_machine_either(hands):
    named = {"action_type": "restart_service", "params": {"service": "sshd"}}
    found = argv(hands, ["sh", "-c", "echo touched"], **named)
    assert (found["status"], found["output"], found["reason"]) == ("failed", "", "protected: the service sshd")


@pytest.mark.parametrize("text", ["echo begun; sleep 600", "echo begun; exec >&- 2>&-; sleep 600"])
def test_a_command_is_ended_when_the_service_stops_and_nobody_can_tell_how_far_it_got(hands, text):
    hands.under_way.add("d1")
    gevent.spawn_later(0.5, hands.begin_stop)
    found = argv(hands, ["sh", "-c", text], timeout=600)
    assert (found["status"], found["reason"].partition(":")[0]) == ("lost", "shutdown")


def test_a_service_that_stops_begins_nothing_more_and_writes_down_what_it_has_ended(ward):
    here = fired(ward, rule("webhook", url="http://127.0.0.1:9/"))
    hands = ServerActionRunner(here.node)
    hands.begin_stop()
    hands.finish_stop()
    assert hands.step() is False
    [row] = here.node.transact(lambda root: list(healing_of(root).deeds.rows.values()))
    assert row.fields["state"] == "intended"


def test_a_rule_may_name_the_server_as_its_host(ward, tmp_path):
    made = rule("run", command=f"touch {tmp_path}/done")
    made["action"]["target"] = "server"
    here = fired(ward, made)
    assert here.ledger[0]["outcome"] == "awaiting_approval"  # high risk: always
    assert here.hosts.sent == []


def test_what_needs_a_snapshot_or_the_agents_own_code_is_not_done_on_the_server(ward):
    made = rule("clear_cache")
    made["action"]["target"] = "server"
    assert fired(ward, made).ledger[0]["reason"].startswith("no_capable_handler")


# -- automations -------------------------------------------------------------------------------------------------------


def automated(ward, action="automation", **changes):
    """A rule that starts an automation, and what became of it."""
    here, _ = prepared(ward, action, **changes)
    return here.at("execute").report(**FAILED).turn().turn(5)


def prepared(ward, action="automation", **changes):
    """A rule that starts an automation, and the automation's id."""
    here = ward()
    made = here.service.ada.post_json(
        "/api/automations", {"name": "mend", "type": "webhook", "params": {"url": "http://127.0.0.1:9/"}, **changes}
    ).json["id"]
    key = {"automation": "automation_id", "run_playbook": "playbook_id"}[action]
    here.node.transact(here._only, [rule(action, **{key: made})])
    return here, made


def runs(here):
    return here.node.transact(lambda root: [(run.id, run.status, run.origin) for run in runs_of(root).values()])


def end_run(here, status):
    [(run_id, _, _)] = runs(here)

    def write(root):
        runs_of(root)[run_id].status = status

    here.node.transact(write)
    here.turn(1)
    return here


def test_an_automation_is_started_once_and_waited_for(ward):
    here = automated(ward)
    [(_, _, origin)] = runs(here)
    assert origin == f"heal {here.cases[0]['id']}.0"
    here.turn(30)
    assert (len(runs(here)), here.ledger[0]["state"]) == (1, "executing")
    end_run(here, "done").turn(6)
    here.clock.advance(0.5)
    here.report(**ACTIVE).turn(0.5)
    assert (here.ledger[0]["outcome"], here.ledger[0]["action_type"]) == ("verified", "automation")


@pytest.mark.parametrize(("status", "outcome"), [("failed", "failed"), ("cancelled", "failed"), ("lost", "lost")])
def test_a_run_that_ends_otherwise_is_no_heal(ward, status, outcome):
    here = end_run(automated(ward), status)
    assert here.ledger[0]["outcome"] == outcome
    assert f"the run ended {status}" in here.ledger[0]["reason"]


def test_an_automation_that_is_not_there_fails_the_step(ward):
    here = fired(ward, rule("automation", automation_id="0123abcd"))
    assert (here.ledger[0]["outcome"], runs(here)) == ("failed", [])
    assert "There is no automation" in here.ledger[0]["reason"]


def test_a_playbook_always_asks(ward):
    here = automated(ward, "run_playbook")
    assert (here.ledger[0]["outcome"], runs(here)) == ("awaiting_approval", [])


def test_an_automation_that_was_edited_after_the_request_is_not_run(ward):
    here, automation = prepared(ward)
    here.at("approve").report(**FAILED).turn().turn(5)
    [request] = here.service.vera.get("/api/approvals").json
    assert set(request["plan"]["automation"]) == {automation}
    here.service.ada.put_json(f"/api/automations/{automation}", {"params": {"url": "http://127.0.0.1:8/"}})
    here.service.ada.post_json(f"/api/approvals/{request['request_id']}/approve", {}, status=409)
    assert runs(here) == []


def test_an_automation_whose_hosts_are_others_after_the_request_is_not_run(ward):
    here, automation = prepared(ward, type="agent_command", params={"command": "true", "tag": "web"})
    host = Polling(here.service, "mended", tags=["web"])
    host.report()
    here.service.vera.get("/api/agents")  # no hub reads the list of hosts here
    here.at("approve").report(**FAILED).turn().turn(5)
    [request] = here.service.vera.get("/api/approvals").json
    assert request["plan"]["hosts"] == [{"automation_id": automation, "agent_id": host.id, "host": "mended"}]
    here.service.ada.put_json(host.path, {"label": "mended", "tags": ["db"]})
    here.service.ada.post_json(f"/api/approvals/{request['request_id']}/approve", {}, status=409)
    assert runs(here) == []


def test_editing_an_automation_edits_the_rules_that_run_it(ward):
    here, automation = prepared(ward)
    here.at("execute")
    part = here.service.ada.get(f"/api/automations/{automation}").json
    here.service.ada.put_json(f"/api/automations/{automation}", {"description": part["description"]})
    assert here.trust().current_level == "execute"
    here.service.ada.put_json(f"/api/automations/{automation}", {"params": {"url": "http://127.0.0.1:8/"}})
    assert here.trust().current_level == "notify"
    here.report(**FAILED).turn().turn(5)
    assert runs(here) == []


def test_what_an_automation_is_made_of_counts_too(ward):
    here, automation = prepared(ward)
    whole = {"name": "whole", "type": "composite", "params": {"automations": [automation]}}
    outer = here.service.ada.post_json("/api/automations", whole).json["id"]
    body = {"action": {"type": "automation", "params": {"automation_id": outer}}}
    here.service.ada.put_json("/api/healing/rules/nginx", body)
    here.at("execute")
    here.service.ada.put_json(f"/api/automations/{automation}", {"params": {"url": "http://127.0.0.1:8/"}})
    assert here.trust().current_level == "notify"


def test_who_wrote_the_automation_does_not_approve_the_heal_that_runs_it(ward):
    here, automation = prepared(ward)
    here.service.otto.put_json(f"/api/automations/{automation}", {"params": {"url": "http://127.0.0.1:7/"}})
    here.at("approve").report(**FAILED).turn().turn(5)
    [request] = here.service.vera.get("/api/approvals").json
    path = f"/api/approvals/{request['request_id']}/approve"
    here.service.otto.post_json(path, {}, status=403)
    assert here.service.ada.post_json(path, {}).json["status"] == "approved"
