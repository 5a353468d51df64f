"""Who reads the store cannot make policies under which a host would heal alone; a new master key changes none."""

import hashlib
import json
import subprocess
import sys

import pytest

from opsapp.wire.policies import BY_KEY, secret_of, sign
from tests.support.agent_process import EnrolledAgent
from tests.support.agent_server import AgentServer
from tests.support.agent_wire import Wire
from tests.support.process import ROOT, Serve
from tests.support.waiting import until
from tests.system.test_healing_alone import config

pytestmark = [pytest.mark.system, pytest.mark.attack]


@pytest.fixture
def place(tmp_path):
    made = tmp_path / "rubbish"
    made.mkdir()
    return made


@pytest.fixture
def server(tmp_path, place):
    with Serve(tmp_path / "server", config(place)) as running:
        yield running


@pytest.fixture
def agent(tmp_path, server):
    """Online, and it holds policies."""
    with EnrolledAgent(tmp_path / "agent", server, interval_s=0.5) as running:
        running.online()
        server.admin.post("/api/healing/trust/clean/promote", {"level": "execute"})
        kept = running.state / "policies.json"
        until(lambda: kept.exists() and '"clean"' in kept.read_text(), 30, what="the policies")
        yield running


def stored(server):
    """Every byte of the service's files."""
    return b"".join(path.read_bytes() for path in server.data.rglob("*") if path.is_file())


@pytest.mark.files("it reads what the files of the store hold")
def test_policies_forged_with_what_the_store_holds_are_refused(server, agent):
    agent.stop()
    server.stop()
    digest, files = hashlib.sha256(agent.key.encode()).hexdigest(), stored(server)
    assert [word.encode() in files for word in (digest, agent.key, secret_of(agent.key))] == [True, False, False]
    before = (agent.state / "policies.json").read_text()
    bundle = json.loads(before)["bundle"]
    forged = {**bundle, "version": bundle["version"] + 1, "budget": 10000}
    impostor = AgentServer()
    try:
        impostor.key, impostor.policies = agent.key, {"bundle": forged, "signature": sign(forged, digest)}
        agent.server = impostor
        agent.start()
        until(lambda: any(one["type"] == "refuse" for one in impostor.messages), 30, what="the refusal")
        assert (agent.state / "policies.json").read_text() == before
    finally:
        agent.stop()
        impostor.stop()


@pytest.mark.nightly("minutes of a host that is alone")
def test_after_a_new_master_key_an_agent_gets_its_policies_and_heals_alone(server, agent):
    server.stop()
    agent.stop()
    command = [sys.executable, "-m", "opsapp.cli", "rekey", *server.places]
    subprocess.run(command, check=True, capture_output=True, timeout=90, cwd=ROOT)
    (agent.state / "policies.json").unlink()
    server.start()
    agent.start()
    until((agent.state / "policies.json").exists, 30, what="the policies, sent anew")
    server.kill()
    done = agent.state / "outcomes.jsonl"
    until(lambda: done.exists() and '"did":"done"' in done.read_text(), 30, what="the agent's heal")


def test_agents_of_before_get_what_they_know_in_a_session(server, agent):
    agent.stop()
    until(lambda: not agent.seen()["connected"], 30, what="the end of its session")
    digest = hashlib.sha256(agent.key.encode()).hexdigest()
    for features, secret in (([], digest), ([BY_KEY], secret_of(agent.key))):
        wire = Wire(server, agent.id, agent.key)
        wire.hello(features=features)
        said = wire.hear("policies")
        assert said["signature"] == sign(said["bundle"], secret)
        wire.end()
