"""Traces at a real collector: of a request and the run that it asks for, of a heal, across kill -9 and a collector that
is away. Real server, real agent."""

import pytest

from opsapp.tracing.logic.ids import span_of, trace_of
from tests.support.agent_process import EnrolledAgent
from tests.support.automations import ended, make, run
from tests.support.process import Serve
from tests.support.scraping import Scrape
from tests.support.traces import TraceCollector, ladder
from tests.support.waiting import until

pytestmark = pytest.mark.system
SECRET = "barley-and-hops"


def config(collector, place=None):
    rule = {
        "id": "clean",
        "condition": "disk_percent >= 0",
        "initial_level": "notify",
        "cooldown_s": 3600,
        "settle_s": 0.2,
        "verify_timeout_s": 15,
        "action": {"type": "temp_cleanup", "params": {"path": str(place), "max_age_hours": 24}},
    }
    rules = [rule] if place else []
    return {
        "agents": {"report_interval_s": 0.5},
        "tracing": collector.config | {"timeout_s": 30},
        "healing": {
            "default_rules": False,
            "hold_s": 0.1,
            "rules": rules,
            "offline_policies": {"offline_after_s": 300},
        },
    }


@pytest.fixture
def collector():
    with TraceCollector() as collector:
        yield collector


def entry(serve, asked):
    return next(row for row in serve.admin.get("/api/healing/ledger") if row["id"] == asked["ledger_id"])


def figure(serve, name, **labels):
    return Scrape(serve.admin.request("GET", "/metrics").body.decode()).value(name, **labels)


def test_a_request_its_run_and_its_command_are_one_trace_and_no_secret_is_in_it(tmp_path, collector):
    with Serve(tmp_path / "server", config(collector)) as serve:
        with EnrolledAgent(tmp_path / "agent", serve) as agent:
            agent.online()
            serve.admin.post("/api/secrets", {"name": "pass", "value": SECRET})
            params = {"agent_id": agent.id, "command": f"echo {SECRET} {{{{secret:pass}}}}; exit 3"}
            run_id = run(serve, make(serve, "agent_command", params, name="deploy"))
            assert ended(serve, run_id)["exit_code"] == 3
            trace = trace_of("run", run_id).hex()
            spans = until(lambda: len(found := collector.of(trace)) == 4 and found, 20, what="the spans")
            request = "POST /api/automations/{automation_id}/run"
            assert ladder(spans) == {
                ("", request), (request, "run deploy"), ("run deploy", "command shell"),
                ("command shell", "agent shell"),
            }  # fmt: skip
            by_name = {span.name: span for span in spans}
            assert by_name["run deploy"].id == span_of("run", run_id).hex()
            assert by_name["run deploy"].failed == "failed"
            assert by_name["command shell"].facts["process.exit.code"] == 3
            assert by_name[request].facts["http.response.status_code"] in (200, 201, 202)
            assert len(by_name[request].facts["opsapp.request.id"]) == 16
            assert (by_name["agent shell"].service, by_name["agent shell"].host) == ("opsapp-agent", "box")
            assert {span.service for span in spans} == {"opsapp", "opsapp-agent"}
            asked = agent.ask("true")
            agent.finished(asked)
            trace = trace_of("command", asked).hex()
            spans = until(lambda: len(found := collector.of(trace)) == 3 and found, 20, what="the command's spans")
            request = "POST /api/agents/{agent_id}/commands"
            assert ladder(spans) == {("", request), (request, "command shell"), ("command shell", "agent shell")}
            assert SECRET not in str(collector.messages)
            assert "exit 3" not in str(collector.messages), "no text of a command"
            assert serve.admin.token not in str(collector.messages)
            assert figure(serve, "opsapp_trace_spans_total", result="dropped") == 0


def test_a_heal_killed_in_the_middle_is_one_whole_trace(tmp_path, collector):
    place = tmp_path / "rubbish"
    place.mkdir()
    with Serve(tmp_path / "server", config(collector, place)) as serve:
        with EnrolledAgent(tmp_path / "agent", serve, interval_s=0.5) as agent:
            agent.online()
            serve.admin.post("/api/healing/trust/clean/promote", {"level": "approve"})
            [asked] = until(lambda: serve.admin.get("/api/approvals"), 30, what="an approval")
            serve.admin.post(f"/api/approvals/{asked['request_id']}/approve", {})
            trace, heal = trace_of("case", asked["case_id"]).hex(), "heal clean"
            until(lambda: collector.of(trace), 30, what="its first spans")
            until(lambda: entry(serve, asked)["state"] == "verifying", 30, what="the act")
            serve.kill()
            assert heal not in [span.name for span in collector.of(trace)], "it is not over"
            serve.start()
            until(lambda: entry(serve, asked)["state"] == "final", 60, what="the verdict")
            until(lambda: heal in [span.name for span in collector.of(trace)], 20, what="the case's span")
            spans = list({span.id: span for span in collector.of(trace)}.values())
    step = "step 0 temp_cleanup"
    assert ladder(spans) == {
        ("", heal), (heal, "decision"), (heal, step), (step, "approval"), (step, "command heal"),
        ("command heal", "agent heal"), (step, "verification"),
    }  # fmt: skip
    commands = [span for span in spans if span.name == "command heal"]
    assert {"execute"} <= {span.facts["opsapp.command.phase"] for span in commands}
    [case] = [span for span in spans if span.name == heal]
    assert (case.failed, case.facts["opsapp.heal.outcome"]) == ("failed", "failed")
    assert str(place) not in str(collector.messages), "no parameter"
