"""Monitors of the type `plugin`: a real service, real agents, real plugins, and what they do to the host."""

import contextlib
import pathlib

import pytest

from opsapp.agent.processes import start_time
from tests.support import plugins
from tests.support.agent_process import EnrolledAgent
from tests.support.agent_wire import Wire
from tests.support.monitors import MONITORS, checked
from tests.support.plugins import write_plugin
from tests.support.process import Serve
from tests.support.proctexts import texts
from tests.support.waiting import until

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """(server, an agent with a directory of plugins, one without, that directory)"""
    directory = tmp_path_factory.mktemp("plugins")
    (directory / "plugins").mkdir(mode=0o755)
    with contextlib.ExitStack() as stack:
        serve = stack.enter_context(Serve(directory, config={"agents": {"report_interval_s": 1}}))
        told = {"able": {"plugin_dirs": [str(directory / "plugins")]}, "bare": {}}
        agents = [stack.enter_context(EnrolledAgent(directory / label, serve, label, **told[label])) for label in told]
        for agent in agents:
            agent.online()
        yield serve, *agents, directory / "plugins"


def add(serve, path, *arguments, **more):
    body = {"name": f"plugin {path}", "type": "plugin", "command": [path, *arguments]}
    made = serve.admin.post(MONITORS, body | {"interval": 5, "timeout": 4, "retries": 0} | more)
    return f"{MONITORS}/{made['id']}"


def test_exit_codes_are_states_and_performance_data_metrics(place):
    serve, able, _, directory = place
    scripts = {"up": plugins.OK, "degraded": plugins.WARNING, "down": plugins.CRITICAL, "unknown": plugins.UNKNOWN}
    paths = {
        status: add(serve, write_plugin(directory, f"check_{status}", lines), agent_id=able.id)
        for status, lines in scripts.items()
    }
    records = {status: checked(serve, path, status) for status, path in paths.items()}
    outputs = {status: record["output"] for status, record in records.items()}
    assert outputs == {
        "up": "OK - fine",
        "degraded": "WARNING - it fills",
        "down": "CRITICAL - it is full",
        "unknown": "UNKNOWN - what is ?",
    }
    causes = {status: record["cause"] for status, record in records.items()}
    assert causes == outputs | {"up": ""}
    assert [row["cause"] for row in serve.admin.get("/api/monitoring/incidents?status=open")] == [causes["down"]]

    metrics = until(lambda: serve.admin.get(paths["up"])["metrics"], what="metrics")
    assert {name: (metric["value"], metric["unit"]) for name, metric in metrics.items()} == {
        "load1": (0.4, ""),
        "free_space": (3 * 1024**2, "B"),
    }
    point = until(lambda: serve.admin.get(f"{paths['up']}/metrics?range_h=1&resolution=60"), what="their history")[-1]
    assert point["metrics"] == {"load1": 0.4, "free_space": 3 * 1024**2}
    compared = serve.admin.post("/api/healing/evaluate", {"condition": "plugin.load1 < 1 and plugin.free_space > 5"})
    assert [(each["name"], each["verdict"]) for each in compared["targets"]] == [(records["up"]["name"], True)]


def test_a_plugin_that_hangs_forks_or_floods_hurts_nothing(place):
    serve, able, _, directory = place
    pids = directory.parent / "pids"
    hung = add(serve, write_plugin(directory, "check_hung", plugins.HANGING), agent_id=able.id, timeout=2)
    forking = add(serve, write_plugin(directory, "check_fork", plugins.FORKING.format(pids=pids)), agent_id=able.id)
    much = add(serve, write_plugin(directory, "check_much", plugins.ENDLESS), agent_id=able.id)
    assert checked(serve, hung, "down")["cause"] == "no answer within 2 s"
    assert checked(serve, forking, "up")["output"] == "forked"
    until(lambda: not start_time(int(pids.read_text())), what="the end of what it left behind")
    assert checked(serve, much, "up")["output"] == "x" * 500
    for path in (hung, forking, much):
        serve.admin.delete(path)
    until(lambda: f"sleep {plugins.LONG}" not in processes(), 20, what="the end of all that hung")


def processes():
    return "\n".join(texts(pathlib.Path("/proc").glob("[0-9]*/cmdline"))).replace("\0", " ")


def test_an_agent_that_may_not_run_it_says_so_and_nobody_is_told_that_it_is_down(place):
    serve, able, bare, directory = place
    path = write_plugin(directory, "check_it", plugins.OK)
    refused = add(serve, path, agent_id=bare.id)
    elsewhere = add(serve, write_plugin(directory.parent / "elsewhere", "check_it", plugins.OK), probe_from=[able.id])
    assert "has no plugin_dirs" in checked(serve, refused, "unknown")["cause"]
    assert checked(serve, elsewhere, "unknown")["cause"] == "the agent runs only plugins below its plugin_dirs"
    assert serve.admin.get("/api/monitoring/incidents?monitor_id=" + elsewhere.rpartition("/")[2]) == []


def test_several_hosts_decide_by_their_quorum(place):
    serve, able, bare, directory = place
    path = write_plugin(directory, "check_both", plugins.WARNING)
    both = add(serve, path, probe_from=[able.id, bare.id], quorum=1)
    record = checked(serve, both, "degraded")
    assert "WARNING - it fills" in record["cause"]
    assert "has no plugin_dirs" in record["cause"]
    serve.admin.put(both, {"quorum": 2})
    checked(serve, both, "up")


def test_a_plugin_is_tried_before_it_is_saved(place):
    serve, able, _, directory = place
    command = [write_plugin(directory, "check_try", plugins.WARNING)]
    body = {"name": "tried", "type": "plugin", "command": command, "agent_id": able.id}
    tried = serve.admin.post(f"{MONITORS}/check", body)
    assert (tried["status"], tried["detail"]) == ("degraded", "WARNING - it fills")
    assert tried["metrics"]["/"]["value"] == 90


def test_a_rule_reads_what_a_plugin_measures(place):
    serve, able, _, directory = place
    value = directory.parent / "value"
    value.write_text("10")
    path = add(serve, write_plugin(directory, "check_rule", f'echo "OK | used=$(cat {value})%"'), agent_id=able.id)
    record = checked(serve, path, "up")
    serve.admin.post(
        "/api/healing/rules",
        {
            "id": "plugin-full",
            "condition": "plugin.used > 90",
            "initial_level": "notify",
            "action": {"type": "restart_service", "params": {"service": "nginx"}},
            "targets": {"monitors": [record["name"]]},
        },
    )
    assert serve.admin.get("/api/healing/ledger?rule_id=plugin-full") == []
    value.write_text("95")
    [entry] = until(lambda: serve.admin.get("/api/healing/ledger?rule_id=plugin-full"), 30, what="the rule's event")
    assert (entry["target"], entry["condition"]) == (record["name"], "plugin.used > 90")


def wired(serve, label, features):
    made = serve.admin.post("/api/agents", {"label": label})
    wire = Wire(serve, made["agent_id"], made["key"])
    wire.hello(features=features, machine_id=label, hostname=label)
    wire.hear("welcome")
    return wire


def test_an_agent_of_before_is_not_asked_for_what_it_does_not_know(place):
    serve = place[0]
    wire = wired(serve, "old", ["probe"])
    refused = add(serve, "/usr/lib/nagios/plugins/check_load", agent_id=wire.agent_id)
    assert checked(serve, refused, "unknown")["cause"] == "its agent is too old for monitors of the type plugin"
    assert serve.admin.get(f"/api/agents/{wire.agent_id}")["connected"]
    wire.end()


def test_what_an_agent_says_that_means_harm_is_made_harmless(place):
    serve = place[0]
    wire = wired(serve, "liar", ["probe", "plugin"])
    path = add(serve, "/usr/lib/nagios/plugins/check_load", "secret", agent_id=wire.agent_id)
    asked = wire.hear("probe")
    assert asked["target"]["command"] == ["/usr/lib/nagios/plugins/check_load", "secret"]
    named = {"a b": 1.0, "..": 2.0, "*": 3.0, "x" * 255: 4.0, "<b>": 5.0}
    outcome = {
        "ok": True,
        "detail": "<script>alert(1)</script>",
        "metrics": named,
        "units": {"a b": "<i>", "none": "s"},
    }
    wire.say("probed", id=asked["id"], outcome=outcome)
    record = checked(serve, path, "up")
    assert record["output"] == "<script>alert(1)</script>"
    metrics = until(lambda: serve.admin.get(path)["metrics"], what="metrics")
    assert {name: metric["value"] for name, metric in metrics.items()} == {"a_b": 1, "_": 3, "x" * 100: 4, "_b_": 5}
    wire.end()
