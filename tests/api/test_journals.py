"""Who reads the journal of a host: contract 9.1, "Logs of hosts"."""

import pytest

from opsapp.agents.config import AgentSettings
from opsapp.agents.resources import agents_of
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
def test_who_reads_the_journal_of_a_unit(service, host, unit):
    is_private = unit in ADMINS
    assert streamed(service.vera, host, unit) == "private_logs"
    assert streamed(service.otto, host, unit) == ("private_logs" if is_private else "agent_offline")
    assert streamed(service.ada, host, unit) == "agent_offline"
    if unit is not None:
        assert asked(service.otto, host, unit).status_int == (403 if is_private else 200)
        assert asked(service.ada, host, unit).status_int == 200


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
    agents_of(root)[agent_id].commands.finish(command_id, now, {"status": "done", "exit_code": 0, "output": "a line"})


def test_what_a_command_has_read_is_for_those_who_may_ask_for_it(service, host):
    seen = {}
    for unit in ("nginx", "ssh"):
        command_id = asked(service.ada, host, unit).json["command_id"]
        service.transact(_finish, host.id, command_id, service.clock.now())
        path = f"{host.path}/commands/{command_id}"
        seen[unit] = [client.get(path).json["output"] for client in (service.vera, service.otto, service.ada)]
    assert seen == {"nginx": ["***", "a line", "a line"], "ssh": ["***", "***", "a line"]}
    assert "a line" not in service.vera.get(f"{host.path}/commands").text
