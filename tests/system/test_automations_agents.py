"""Runs on a real agent: commands, scripts and services, output as it comes, secrets, time-outs, a server in between."""

import pytest

from tests.support.agent_process import EnrolledAgent
from tests.support.automations import cancel, ended, events, make, record, run
from tests.support.process import Serve
from tests.support.waiting import until, written

pytestmark = pytest.mark.system
CONFIG = {"agents": {"report_interval_s": 1}, "automations": {"retry_delay_s": 0.1, "server_scripts": False}}


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve"), config=CONFIG) as serve:
        yield serve


@pytest.fixture(scope="module")
def agent(serve, tmp_path_factory):
    with EnrolledAgent(tmp_path_factory.mktemp("agent"), serve) as agent:
        agent.online()
        serve.admin.put(agent.path, {"tags": ["web"]})
        yield agent


def test_a_command_on_an_agent(serve, agent):
    automation = make(
        serve, "agent_command", {"agent_id": agent.id, "command": "echo {{input:what}}; exit {{input:code}}"},
        inputs=[{"name": "what", "default": "a  b"}, {"name": "code", "type": "integer", "default": 4}],
    )  # fmt: skip
    found = ended(serve, run(serve, automation))
    assert (found["status"], found["exit_code"], found["output"]) == ("failed", 4, "a  b\n")
    assert ended(serve, run(serve, automation, {"code": 0}))["status"] == "done"


def test_by_tag_and_by_name(serve, agent):
    script = {"script": "echo from $WHERE", "env": {"WHERE": "here"}}
    by_tag = ended(serve, run(serve, make(serve, "script", {**script, "tag": "web"})))
    assert (by_tag["status"], by_tag["output"]) == ("done", "from here\n")
    by_label = ended(serve, run(serve, make(serve, "script", {**script, "hostname": "box"})))
    assert by_label["status"] == "done"
    nobody = ended(serve, run(serve, make(serve, "script", {**script, "tag": "nothing"})))
    assert (nobody["status"], nobody["reason"]) == ("failed", "There is no agent nothing.")


@pytest.mark.parametrize("more", [{}, {"interpreter": "/bin/bash"}], ids=["command", "script"])
def test_a_secret_by_a_sealed_descriptor_is_in_no_environment_of_the_host(serve, agent, more):
    """Shown nowhere: not in the run, not among the parameters of the agent's command."""
    name, value = f"key-{'interpreter' in more}", f"open {sorted(more)} barley"
    serve.admin.post("/api/secrets", {"name": name, "value": value})
    text = "cat /dev/fd/$KEY_FD; rev < /dev/fd/$KEY_FD; tr '\\0' '\\n' < /proc/$$/environ | grep -c barley"
    kind, field = ("script", "script") if more else ("agent_command", "command")
    params = {field: text, "agent_id": agent.id, "descriptors": {"KEY_FD": f"{{{{secret:{name}}}}}"}, **more}
    found = ended(serve, run(serve, make(serve, kind, params)))
    assert found["output"] == f"[secret]{value[::-1]}0\n"
    assert value not in str(serve.admin.get(f"/api/agents/{agent.id}/commands"))


def test_a_service_on_an_agent_ends_honestly(serve, agent):
    params = {"agent_id": agent.id, "service": "no-such-service", "action": "restart"}
    found = ended(serve, run(serve, make(serve, "service_control", params)))
    assert found["status"] == "failed"
    assert found["reason"]


def test_the_server_itself_does_nothing_when_it_may_not(serve):
    body = {"name": "x", "type": "script", "params": {"script": "true"}}
    refused = serve.admin.request("POST", "/api/automations", body)
    assert (refused.status, list(refused.json["fields"])) == (422, ["type"])


def test_a_secret_is_seen_by_the_agent_alone(serve, agent):
    serve.admin.post("/api/secrets", {"name": "pass", "value": "h1dden 'word'"})
    params = {"agent_id": agent.id, "command": "printf %s {{secret:pass}} | wc -c; echo {{secret:pass}}"}
    found = ended(serve, run(serve, make(serve, "agent_command", params)))
    assert (found["status"], found["output"].split()) == ("done", ["13", "[secret]"])
    history = serve.admin.request("GET", f"{agent.path}/commands")
    assert history.status == 200
    assert b"h1dden" not in history.body


def test_output_comes_while_it_runs_and_a_cancel_stops_it(serve, agent, tmp_path):
    params = {"agent_id": agent.id, "command": f"echo begun; touch {tmp_path}/on; sleep 60"}
    run_id = run(serve, make(serve, "agent_command", params))
    until((tmp_path / "on").exists, what="the command being there")
    for event in events(serve, run_id):
        if event["event"] == "log":
            assert event["data"]["line"] == "begun"
            assert record(serve, run_id)["status"] == "running"
            cancel(serve, run_id)
    found = record(serve, run_id)
    assert (found["status"], found["reason"], found["output"]) == ("cancelled", "cancelled by admin", "begun\n")


def test_a_time_out_on_an_agent(serve, agent):
    automation = make(serve, "agent_command", {"agent_id": agent.id, "command": "sleep 60"}, timeout=1, retries=1)
    found = ended(serve, run(serve, automation))
    assert (found["status"], found["attempt"]) == ("timeout", 2)


def test_what_an_agent_cuts_is_said_to_be_cut(serve, agent):
    command = "yes 0123456789abcdef | head -c 3000000; echo END"
    end = "\n[output cut here: more was written than is kept]\n"
    alone = ended(serve, run(serve, make(serve, "agent_command", {"agent_id": agent.id, "command": command})))
    assert (alone["status"], alone["truncated"], alone["output"][-len(end) :]) == ("done", True, end)
    assert "END" not in alone["output"]
    short = ended(serve, run(serve, make(serve, "agent_command", {"agent_id": agent.id, "command": "echo END"})))
    assert (short["truncated"], short["output"]) == (False, "END\n")


def test_an_agent_that_was_deleted_just_now_is_not_meant(serve, agent):
    """Each run is asked for right after the deletion, which nobody may have followed yet."""
    automation = make(serve, "script", {"script": "echo here", "tag": "web"})
    for n in range(5):
        gone = serve.admin.post("/api/agents", {"label": f"gone {n}", "tags": ["web"]})
        path, key = f"/api/agents/{gone['agent_id']}", {"X-Agent-Key": gone["key"]}
        serve.client().post(f"{path}/report", {"hostname": f"gone-{n}", "os": "linux"}, headers=key)
        until(lambda path=path: serve.admin.get(path)["status"] == "online", 10, what="an agent that was heard")
        serve.admin.delete(path)
        found = ended(serve, run(serve, automation))
        assert (found["status"], found["output"]) == ("done", "here\n")


def test_a_run_on_an_agent_outlives_the_server(serve, agent, tmp_path):
    gate = tmp_path / "gate"
    text = f"echo $$ >> {tmp_path}/marks; while [ ! -e {gate} ]; do sleep 0.1; done; echo through"
    run_id = run(serve, make(serve, "agent_command", {"agent_id": agent.id, "command": text}))
    written(tmp_path / "marks", "the command being there")
    serve.kill()
    gate.touch()
    serve.start()
    found = ended(serve, run_id, timeout=40)
    assert (found["status"], found["output"]) == ("done", "through\n")
    assert len((tmp_path / "marks").read_text().splitlines()) == 1
