"""The agent program, the install script and deployment, as far as no other host is needed."""

import hashlib
import subprocess

import pytest
from webtest import TestApp

from opsapp.agents.engine.installscript import script
from opsapp.web.config import WebSettings

SCRIPT = "/api/agents/install-script"


@pytest.fixture
def made(service):
    return service.ada.post_json("/api/agents", {"label": "web"}, status=201).json


@pytest.mark.shared
def test_the_program_is_public(service):
    answer = service.anonymous.get("/api/agents/agent.pyz")
    assert answer.body.startswith(b"#!")
    assert answer.headers["X-Content-SHA256"] == hashlib.sha256(answer.body).hexdigest()
    service.anonymous.post("/api/agents/agent.pyz", status=405)


@pytest.mark.shared
def test_the_script_is_for_users_and_agents(service, made):
    service.anonymous.get(SCRIPT, status=401)
    service.anonymous.get(f"{SCRIPT}?key={'0' * 64}", status=401)
    bare = TestApp(service.app)
    texts = {
        bare.get(f"{SCRIPT}?key={made['key']}").text,
        bare.get(SCRIPT, headers={"X-Agent-Key": made["key"]}).text,
        service.vera.get(f"{SCRIPT}?key={made['key']}").text,
    }
    [text] = texts
    assert text.startswith("#!/bin/sh\n")
    assert made["agent_id"] in text
    assert made["key"] in text
    assert made["key"] not in service.vera.get(SCRIPT).text
    assert set(service.vera.get(f"{SCRIPT}?key=wrong", status=422).json["fields"]) == {"key"}


def install(text, tmp_path, service, *options, **env):
    program = tmp_path / "agent.pyz"
    program.write_bytes(service.anonymous.get("/api/agents/agent.pyz").body)
    variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "OPSAPP_AGENT_FILE": str(program), **env}
    return subprocess.run(
        ["sh", "-s", "--", "--root", str(tmp_path / "root"), *options],
        input=text,
        env=variables,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("init", "made_by_it"),
    [
        ("systemd", "etc/systemd/system/opsapp-agent.service"),
        ("openrc", "etc/init.d/opsapp-agent"),
        ("runit", "etc/sv/opsapp-agent/run"),
        ("bare", "usr/local/lib/opsapp-agent/opsapp-agent.pyz"),
    ],
)
def test_it_installs_again_and_again_and_leaves_nothing_behind(service, made, tmp_path, init, made_by_it):
    text = service.vera.get(f"{SCRIPT}?key={made['key']}").text
    snapshots = []
    for _ in range(2):
        done = install(text, tmp_path, service, OPSAPP_INIT=init)
        assert done.returncode == 0, done.stderr
        files = [path for path in (tmp_path / "root").rglob("*") if path.is_file()]
        snapshots.append({str(path): path.read_bytes() for path in files})
    assert snapshots[0] == snapshots[1]
    assert (tmp_path / "root" / made_by_it).exists()
    key = tmp_path / "root/etc/opsapp-agent/key"
    assert (key.read_text(), key.stat().st_mode & 0o777) == (made["key"] + "\n", 0o600)
    assert [path for path, data in snapshots[0].items() if made["key"].encode() in data] == [str(key)]
    removed = install(text, tmp_path, service, "--uninstall", OPSAPP_INIT=init)
    assert removed.returncode == 0, removed.stderr
    assert [path for path in (tmp_path / "root").rglob("*") if path.is_file()] == []


def test_another_program_than_the_pinned_one_is_refused(service, made, tmp_path):
    text = service.vera.get(f"{SCRIPT}?key={made['key']}").text
    (tmp_path / "evil").write_text("print('evil')")
    done = install(text, tmp_path, service, OPSAPP_INIT="bare", OPSAPP_AGENT_FILE=str(tmp_path / "evil"))
    assert done.returncode == 1
    assert "pins" in done.stderr
    assert [path.name for path in (tmp_path / "root").rglob("*.pyz*")] == []


def test_without_a_key_the_script_asks_for_one(service, tmp_path):
    done = install(service.vera.get(SCRIPT).text, tmp_path, service, OPSAPP_INIT="bare")
    assert done.returncode == 1
    assert "OPSAPP_AGENT_KEY" in done.stderr


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"host": "-oProxyCommand=x"}, "host"),
        ({"ssh_user": "a b"}, "ssh_user"),
        ({"ssh_port": 0}, "ssh_port"),
        ({"ssh_key": "id_rsa"}, "ssh_key"),
        ({"label": 7}, "label"),
    ],
)
@pytest.mark.shared
def test_wrong_deployments(service, change, field):
    body = {"host": "127.0.0.1", "ssh_user": "root", "ssh_port": 9, "ssh_key": "/nothing", "label": "x", **change}
    assert set(service.ada.post_json("/api/agents/deploy", body, status=422).json["fields"]) == {field}


def test_a_failed_deployment_names_its_step_and_leaves_no_agent(service):
    body = {"host": "127.0.0.1", "ssh_user": "root", "ssh_port": 9, "ssh_key": "/nothing", "label": "x"}
    answer = service.ada.post_json("/api/agents/deploy", body, status=502).json
    assert (answer["code"], answer["step"]) == ("deploy_failed", "key_file")
    assert service.vera.get("/api/agents").json == []
    service.otto.post_json("/api/agents/deploy", body, status=403)


@pytest.mark.parametrize(("server", "options", "status"), [
    ("http://10.0.0.1:6080", (), 1), ("http://10.0.0.1:6080", ("--allow-plain-http",), 0),
    ("http://127.0.0.1:1", (), 0), ("https://ops.example", (), 0)])  # fmt: skip
def test_a_server_abroad_without_tls_is_refused_by_the_script(service, made, tmp_path, server, options, status):
    text = script(server, made["agent_id"], made["key"], "root")
    done = install(text, tmp_path, service, *options, OPSAPP_INIT="systemd")
    assert (done.returncode, "has no TLS" in done.stderr) == (status, bool(status)), done.stderr
    unit = tmp_path / "root/etc/systemd/system/opsapp-agent.service"
    assert unit.exists() == (not status)
    assert status or ("--allow-plain-http" in unit.read_text()) == bool(options)


def test_a_server_abroad_without_tls_is_not_deployed_to_unless_asked(service):
    service.configure(WebSettings, base_url="http://ops.example:6080")
    body = {"host": "127.0.0.1", "ssh_user": "ops", "ssh_port": 1, "ssh_key": "/none"}
    refused = service.ada.post_json("/api/agents/deploy", body, status=422)
    assert "ops.example" in refused.json["fields"]["allow_plain_http"]
    told = service.ada.post_json("/api/agents/deploy", {**body, "allow_plain_http": True}, status=502)
    assert told.json["step"] == "key_file"
