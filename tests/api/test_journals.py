"""Who reads the journal of a host: contract 9.1, "Logs of hosts"."""

import pytest

from opsapp.agents.config import AgentSettings
from opsapp.agents.engine import send_command
from opsapp.agents.resources import agents_of
from opsapp.wire.reports import CommandResult
from tests.api.test_agents import Polling

ADMINS = ("opsapp", "opsapp-agent.service", "ssh", "sshd.service", "ssh@1-a.service", "sudo", "auth", "session-1.scope",
          "dbus.socket", "logrotate.timer", None)  # fmt: skip
OPERATORS = ("nginx", "nginx.service", "php8.2-fpm", "sudoers-sync", "myopsapp")


@pytest.fixture
def host(service):
    return Polling(service)


def streamed(client, host, unit):
    query = "" if unit is None else f"?unit={unit}"
    answer = client.get(f"{host.path}/stream/logs{query}", expect_errors=True)
    return answer.json["code"]


def asked(client, host, unit):
    body = {"type": "logs", "params": {"unit": unit}}
    return client.post_json(f"{host.path}/commands", body, expect_errors=True)


@pytest.mark.parametrize("unit", [*ADMINS, *OPERATORS])
@pytest.mark.shared
def test_who_reads_the_journal_of_a_unit(service, host, unit):
    is_private = unit in ADMINS
    assert streamed(service.vera, host, unit) == "private_logs"
    assert streamed(service.otto, host, unit) == ("private_logs" if is_private else "agent_offline")
    assert streamed(service.ada, host, unit) == "agent_offline"
    if unit is not None:
        assert asked(service.otto, host, unit).status_int == (403 if is_private else 200)
        assert asked(service.ada, host, unit).status_int == 200


@pytest.mark.shared
def test_files_keep_the_rules_of_their_agent(service, host):
    answer = service.vera.get(f"{host.path}/stream/logs?source=file&path=/var/log/a", expect_errors=True)
    assert answer.json["code"] == "agent_offline"


def test_what_is_private_is_configured(service, host):
    service.configure(AgentSettings, private_logs=["nginx"])
    assert streamed(service.otto, host, "nginx.service") == "private_logs"
    assert streamed(service.otto, host, "ssh") == "agent_offline"
    service.configure(AgentSettings, private_logs=[])
    assert streamed(service.otto, host, None) == "agent_offline"
    assert streamed(service.vera, host, "ssh") == "private_logs"


def test_a_refused_command_is_in_the_audit(service, host):
    assert asked(service.otto, host, "ssh").json["code"] == "private_logs"
    [entry] = service.ada.get("/api/audit?user=otto").json
    assert (entry["action"], entry["result"], entry["reason"]) == ("agent.command", "refused", "private_logs")


def _finish(root, agent_id, command_id, now):
    result = CommandResult(command_id, "done", exit_code=0, output="a line")
    agents_of(root)[agent_id].commands.finish(result, now)


@pytest.mark.shared
def test_what_a_command_has_read_is_for_those_who_may_ask_for_it(service, host):
    seen = {}
    for unit in ("nginx", "ssh"):
        command_id = asked(service.ada, host, unit).json["command_id"]
        service.transact(_finish, host.id, command_id, service.clock.now())
        path = f"{host.path}/commands/{command_id}"
        seen[unit] = [client.get(path).json["output"] for client in (service.vera, service.otto, service.ada)]
    assert seen == {"nginx": ["***", "a line", "a line"], "ssh": ["***", "***", "a line"]}
    assert "a line" not in service.vera.get(f"{host.path}/commands").text


def _asked_why(root, agent_id, unit):
    params = {"heal_id": "h", "token": 1, "phase": "look", "params": {"service": unit}}
    return send_command(root, agent_id, "heal", params, requested_by="healing")


@pytest.mark.shared
def test_the_last_lines_that_a_look_has_read_are_as_private_as_the_journal(service, host):
    seen = {}
    for unit in ("nginx", "ssh"):
        command_id = service.transact(_asked_why, host.id, unit)
        service.transact(_finish, host.id, command_id, service.clock.now())
        path = f"{host.path}/commands/{command_id}"
        seen[unit] = [client.get(path).json["output"] for client in (service.vera, service.otto, service.ada)]
    assert seen == {"nginx": ["***", "a line", "a line"], "ssh": ["***", "***", "a line"]}


PRIVATE_FILES = ("/var/log/auth.log", "/var/log/auth.log.1", "/var/log/journal/a/system.journal",
                 "/var/log/nginx/../sudo.log", "//var/log/opsapp/agent.log")  # fmt: skip
OPEN_FILES = ("/var/log/nginx/access.log", "/etc/ssh/sshd_config", "/var/log/author.log")


@pytest.mark.parametrize("path", [*PRIVATE_FILES, *OPEN_FILES])
@pytest.mark.shared
def test_a_log_in_a_file_is_as_private_as_in_the_journal(service, host, path):
    is_private = path in PRIVATE_FILES
    for client, is_admin in ((service.vera, False), (service.otto, False), (service.ada, True)):
        code = "private_logs" if is_private and not is_admin else "agent_offline"
        for way in (f"files?path={path}", f"stream/logs?source=file&path={path}"):
            assert client.get(f"{host.path}/{way}", expect_errors=True).json["code"] == code
    body = {"type": "logs", "params": {"source": "file", "path": path}}
    answer = service.otto.post_json(f"{host.path}/commands", body, expect_errors=True)
    assert answer.status_int == (403 if is_private else 200)


@pytest.mark.shared
def test_viewers_see_of_a_command_who_asked_when_and_how_it_stands(service, host):
    body = {"type": "shell", "params": {"command": "grep sesame /etc/app", "env": {"PLACE": "cellar"}}}
    command_id = service.otto.post_json(f"{host.path}/commands", body).json["command_id"]
    result = CommandResult(command_id, "failed", 3, "sesame", reason="no cellar", data={"a": "sesame"})
    now = service.clock.now()
    service.transact(lambda root: agents_of(root)[host.id].commands.finish(result, now))
    path = f"{host.path}/commands/{command_id}"
    whole, seen = service.otto.get(path).json, service.vera.get(path).json
    assert (whole["output"], whole["params"]["command"]) == ("sesame", "grep sesame /etc/app")
    told = ("command_id", "type", "status", "exit_code", "requested_by", "created_at", "finished_at")
    assert {name: seen[name] for name in told} == {name: whole[name] for name in told}
    assert (seen["output"], seen["reason"], seen["data"], seen["params"]["command"]) == ("***", "***", None, "***")
    pages = [f"/agents/{host.id}", f"/agents/{host.id}/commands/{command_id}"]
    for place in (path, f"{host.path}/commands", *pages):
        text = service.vera.get(place).text
        assert "sesame" not in text
        assert "cellar" not in text
    assert "a shell command" in service.vera.get(pages[1]).text
