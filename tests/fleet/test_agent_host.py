"""The agent on a real host with systemd: a dead service is seen at once; cut, kill, power loss are survived."""

import time

import pytest

from opsapp.agents.zipapp import agent_file
from opsapp.wire.policies import secret_of, sign
from tests.fleet.lab.network import sent_in_vain
from tests.support.agent_server import KEY, AgentServer
from tests.support.waiting import until

UNIT = """[Unit]
Description=opsapp agent
[Service]
ExecStart=/usr/bin/python3 -I -S /opt/opsapp/opsapp-agent.pyz --server {url} --id a1 --key-file /etc/opsapp/key \
 --config /etc/opsapp/agent.json
Restart=always
KillMode=process
RestartSec=1
[Install]
WantedBy=multi-user.target
"""

CLEANED = """
systemctl disable --now opsapp-agent 2> /dev/null; pkill -u plain
rm -rf /var/lib/opsapp-agent /root/marker /home/plain/state /home/plain/key
systemctl reset-failed; systemctl enable --now nginx
"""


@pytest.fixture
def server(lab):
    made = AgentServer(interval=3.0, host=lab.address)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def one_host(lab):
    made = lab.host()
    yield made
    lab.remove(made)


@pytest.fixture
def host(one_host):
    """The same for all, which begin with nothing of an agent on it, and with nginx."""
    yield one_host
    if one_host.is_cut:
        one_host.mend()
    if not one_host.running:
        one_host.start()
    one_host.exec("sh", "-c", CLEANED)


@pytest.fixture
def box(host, server):
    host.write("/opt/opsapp/opsapp-agent.pyz", agent_file().data)
    host.write("/etc/opsapp/key", KEY, 0o600)
    host.write("/etc/opsapp/agent.json", '{"allow_plain_http": true, "retry_first_s": 0.2, "retry_most_s": 2}')
    host.write("/etc/systemd/system/opsapp-agent.service", UNIT.format(url=server.url))
    host.exec("systemctl", "daemon-reload")
    host.exec("systemctl", "enable", "--now", "opsapp-agent")
    until(server.session, 30, what="a session")
    until(lambda: server.reports, 30, what="a report")
    return host


def state(server, name):
    return server.reports[-1]["services"].get(name)


def finished(server, name, timeout=60):
    return until(lambda: server.result(name), timeout, what=f"result of {name}")


def heal(server, phase, heal_id, **more):
    name = server.command("heal", heal_id=heal_id, token=1, phase=phase, **more)
    return finished(server, name)


def only_changes_are_reported(server):
    """From now on. One report that is made for its time alone was due already, and has come."""
    known = None
    while known != len(server.reports):  # again, if one came meanwhile: who knows whether it was that one
        server.session().say("settings", interval=server.interval)
        known = len(server.reports)
        server.session().say("settings", interval=3600)
        finished(server, server.command("shell", command="true"))  # the agent takes one message after the other
    until(lambda: len(server.reports) > known, 30, what="the last report that is made for its time alone")


def test_a_dead_service_is_seen_at_once_and_restarted_once(server, box):
    until(lambda: state(server, "nginx") == "active", 30, what="nginx in a report")
    until(lambda: any(one["capabilities"] for one in server.reports), 60, what="the manifest")
    only_changes_are_reported(server)
    for number in range(3):
        known = len(server.reports)
        box.exec("systemctl", "stop", "nginx")
        until(lambda: state(server, "nginx") == "failed", 10, what="the dead service in a report")
        told = next(report for report in server.reports[known:] if report["services"].get("nginx") == "failed")
        assert told["reason"] == "change"
        assert "nginx" in told["failed_units"]
        kept = heal(server, "snapshot", f"h{number}", action_type="restart_service", params={"service": "nginx"})
        assert kept["data"]["snapshot"]["state"]["ActiveState"] == "inactive"
        done = heal(server, "execute", f"h{number}", action_type="restart_service", params={"service": "nginx"})
        assert (done["status"], done["data"]["handler"]) == ("done", ["systemctl"])
        assert done["data"]["snapshot"] == kept["data"]["snapshot"]
        measured = heal(server, "measure", f"h{number}")
        assert measured["data"]["report"]["services"]["nginx"] == "active"
        until(lambda: state(server, "nginx") == "active", 10)
    assert box.exec("systemctl", "is-active", "nginx").stdout == "active\n"


def test_a_disabled_service_that_was_active_counts_as_failed(server, box):
    box.exec("systemctl", "disable", "nginx")
    box.exec("systemctl", "stop", "nginx")
    until(lambda: state(server, "nginx") == "failed", 15, what="the dead service in a report")


def test_the_journal_is_followed(server, box):
    stream = server.session().open("logs", source="journald", unit="cron", lines=5)
    until(lambda: any(one["type"] == "opened" for one in server.streams[stream]["messages"]))
    box.exec("systemctl", "restart", "cron")
    until(lambda: any("cron[" in one["line"] and one["time"] for one in server.streams[stream]["lines"]), 15)
    server.session().say("close", stream=stream)
    until(lambda: server.session().ended(stream))
    until(lambda: box.exec("pgrep", "-c", "journalctl", check=False).stdout.strip() == "0", what="no journalctl left")


def kept_outcomes(box):
    """How many outcomes of heals are on the host's disk, for the server to be told."""
    return box.read("/var/lib/opsapp-agent/outcomes.jsonl").count('"did":"done"')


def test_cut_and_power_loss_lose_and_double_nothing(server, box):
    names = []

    def send(count):
        for _ in range(count):
            names.append(server.command("shell", command=f"echo c{len(names)} >> /root/marker; sync; echo ok"))

    send(3)
    box.cut()
    send(3)
    until(lambda: sent_in_vain(box) >= 4, 30, what="a silence of seconds, which nobody notices: TCP just waits")
    box.mend()
    until(lambda: all(server.result(name) for name in names), 90, what="all results after the cut")
    send(2)
    box.kill()
    send(2)
    box.start()
    until(lambda: all(server.result(name) for name in names), 90, what="all results after the power loss")
    lines = box.exec("cat", "/root/marker").stdout.split()
    assert len(lines) == len(set(lines))
    for number, name in enumerate(names):
        statuses = {one["status"] for one in server.results if one["command_id"] == name}
        assert len(statuses) == 1
        if statuses == {"done"}:
            assert f"c{number}" in lines


def test_a_host_that_is_cut_off_heals_itself_and_tells_later(server, box):
    bundle = {
        "agent_id": "a1",
        "version": 1,
        "issued_at": time.time(),
        "expires_at": time.time() + 600,
        "offline_after_s": 3.0,
        "budget": 5,
        "policies": [
            {
                "rule_id": "service-failed",
                "condition": "service.*.failed == 1",
                "settle_s": 1,
                "verify_timeout_s": 15,  # so long takes a step that does not help
                "steps": [{"action": "service_reset_failed"}, {"action": "restart_service"}],
            }
        ],
    }
    server.session().say("policies", id="p1", bundle=bundle, signature=sign(bundle, secret_of(KEY)))
    until(lambda: any(one["type"] == "ack" and one["of"] == "policies" for one in server.messages))
    box.cut()
    box.exec("systemctl", "stop", "nginx")
    until(lambda: box.exec("systemctl", "is-active", "nginx", check=False).stdout == "active\n", 60)
    until(lambda: kept_outcomes(box) == 2, 30, what="both outcomes kept by the agent")
    assert server.outcomes == []
    box.mend()
    until(lambda: len(server.outcomes) >= 2, 90, what="the outcomes")
    assert [(one["target"].split("/")[1], one["action_type"], one["outcome"]) for one in server.outcomes] == [
        ("nginx", "service_reset_failed", "failed"),
        ("nginx", "restart_service", "verified"),
    ]


def test_a_plain_user_may_run_it(server, host):
    host.write("/opt/opsapp/opsapp-agent.pyz", agent_file().data)
    host.write("/home/plain/key", KEY)
    host.exec(
        "sh",
        "-c",
        "chown plain /home/plain/key; runuser -u plain -- setsid -f python3 -I -S "
        f"/opt/opsapp/opsapp-agent.pyz --server {server.url} --id a1 --key-file /home/plain/key "
        "--state /home/plain/state --allow-plain-http > /dev/null 2>&1",
    )
    until(server.session, 30, what="a session")
    assert finished(server, server.command("shell", command="id -un"))["output"] == "plain\n"
    until(lambda: server.reports and state(server, "nginx") == "active", 30)
    refused = heal(server, "execute", "h1", action_type="restart_service", params={"service": "nginx"})
    assert refused["status"] == "failed"
    assert host.exec("systemctl", "is-active", "nginx").stdout == "active\n"
