"""Self-update of the real agent: pinned by hash, proven first, and undone when the new version does not connect."""

import contextlib
import fcntl
import hashlib
import io
import os
import pathlib
import signal
import zipfile

import pytest

from opsapp.agents.zipapp import SHEBANG, agent_file
from tests.support.agent_process import AgentProcess
from tests.support.agent_server import KEY
from tests.support.waiting import patience, until

pytestmark = pytest.mark.system


def variant(version="9.9.9", **patches):
    """The agent file with another version, and sources changed: {"agent/link.py": (old, new)}."""
    source = zipfile.ZipFile(io.BytesIO(agent_file().data))
    buffer = io.BytesIO(SHEBANG)
    buffer.seek(0, io.SEEK_END)
    with zipfile.ZipFile(buffer, "w") as made:
        for name in source.namelist():
            data = source.read(name).decode()
            if name == "opsapp/wire/version.py":
                data = f'VERSION = "{version}"\n'
            for where, (old, new) in patches.items():
                if name == f"opsapp/{where}":
                    assert old in data
                    assert old.count("\n") == new.count("\n"), "what is measured of it lies on the same lines"
                    data = data.replace(old, new)
            made.writestr(name, data)
    return buffer.getvalue()


@pytest.fixture
def agent(tmp_path, server, request):
    with AgentProcess(tmp_path, server, update_trial_s=getattr(request, "param", 60)) as made:
        made.online()
        yield made
    until(lambda: not end_all(made), 30, every=0.2, what="the end of what the test started")


def processes_of(agent):
    """pid → words of every process that runs this agent's file: the new version, the guard, and what a guard starts."""
    found = {}
    for each in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = each.read_bytes().split(b"\0")
            if any(word.startswith(str(agent.program).encode()) for word in words):
                found[int(each.parent.name)] = words
    return found


def end_all(agent):
    """An agent that a guard has started is nobody's child."""
    left = processes_of(agent)
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    return left


def update(server, data, version="9.9.9", sha256=None, timeout=60):
    server.agent_file = data
    name = server.command("update", version=version, sha256=sha256 or hashlib.sha256(data).hexdigest())
    return until(lambda: server.result(name), timeout, what="the update's result")


def test_a_good_version_takes_over_in_the_same_process(server, agent):
    data = variant()
    result = update(server, data)
    assert (result["status"], result["output"]) == ("done", "now version 9.9.9\n")
    assert server.hellos[-1]["version"] == "9.9.9"
    assert server.hellos[-1]["pid"] == agent.process.pid
    assert agent.process.poll() is None
    codes = [message["code"] for message in server.messages if message["type"] == "closed-socket"]
    assert codes == [1000], "it comes back by itself: that is no goodbye"
    assert agent.program.read_bytes() == data
    until(lambda: not beside(agent))
    name = server.command("shell", command="echo new")
    assert until(lambda: server.result(name))["output"] == "new\n"


@pytest.mark.nightly("the core list has a good version that takes over")
def test_an_agent_that_has_all_from_its_environment_is_updated_too(server, tmp_path, monkeypatch):
    agent = AgentProcess(tmp_path, server)
    for name, value in (("SERVER", server.url), ("AGENT_ID", "a1"), ("AGENT_KEY", KEY)):
        monkeypatch.setenv(f"OPSAPP_{name}", value)
    monkeypatch.setattr(agent, "argv", lambda: [*agent._start(), "--state", str(agent.state)])
    with agent:
        agent.online()
        assert update(server, variant())["output"] == "now version 9.9.9\n"
        until(lambda: not beside(agent))


@pytest.mark.parametrize(
    ("data", "sha256", "said"),
    [
        (variant(), "0" * 64, "bad_hash"),
        (variant(version="8.8.8"), None, "does not say it is version"),
        (b"not a program", None, "does not say it is version"),
        (
            variant(**{"agent/transport.py": ("socket.create_connection(", "socket.no_such_thing(")}),
            None,
            "did not reach",
        ),
    ],
    ids=["hash", "version", "rubbish", "unreachable"],
)
def test_what_is_not_proven_never_takes_over(server, agent, data, sha256, said):
    result = update(server, data, sha256=sha256)
    assert result["status"] == "failed"
    assert said in result["reason"]
    assert agent.program.read_bytes() == agent.delivered
    assert not beside(agent)
    name = server.command("shell", command="echo old")
    assert until(lambda: server.result(name))["output"] == "old\n"


@pytest.mark.parametrize("agent", [2], indirect=True)
def test_a_version_that_does_not_connect_gives_the_place_back(server, agent):
    lame = variant(
        **{
            "agent/link.py": (
                "            if self._config.websocket and self._try_session():\n",
                "            if not time.sleep(0.05):\n",
            )
        }
    )
    result = update(server, lame)
    assert result["status"] == "failed"
    assert "did not connect; back to" in result["reason"]
    assert agent.program.read_bytes() == agent.delivered
    assert server.hellos[-1]["version"] != "9.9.9"
    assert not beside(agent)


RUN = "    def run(self) -> int:\n        self._handle_signals()\n"


def runs_now(agent):
    """The process that holds the state; the test's own child or one that a guard has started."""
    return int((agent.state / "lock").read_text() or 0)


@pytest.mark.nightly("the core list has a version that does not connect")
@pytest.mark.parametrize("agent", [6], indirect=True)
@pytest.mark.parametrize("fault", ["raise SystemExit('boom')", "os.kill(os.getpid(), 9)"], ids=["crash", "kill"])
def test_a_version_that_dies_before_it_can_judge_itself_is_undone(server, agent, fault):
    """Nobody here starts it again, so the guard has to."""
    result = update(server, variant(**{"agent/main.py": (RUN, f"    def run(self) -> int:\n        {fault}\n")}))
    assert result["status"] == "failed"
    assert "did not connect; back to" in result["reason"]
    assert agent.program.read_bytes() == agent.delivered
    assert agent.process.wait(10 * patience()) != 0
    until(lambda: server.hellos[-1]["pid"] == runs_now(agent) != agent.process.pid, 30, what="the old version's hello")
    name = server.command("shell", command="echo old")
    assert until(lambda: server.result(name))["output"] == "old\n"


@pytest.mark.nightly("the core list has a version that does not connect")
@pytest.mark.parametrize("agent", [2], indirect=True)
def test_a_version_that_hangs_before_it_can_judge_itself_is_ended_and_undone(server, agent, monkeypatch):
    hangs = "    def run(self) -> int:\n        signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)\n"
    result = update(server, variant(**{"agent/main.py": (RUN, hangs)}), timeout=120)
    assert (result["status"], agent.process.wait(10 * patience())) == ("failed", -signal.SIGKILL)
    assert agent.program.read_bytes() == agent.delivered


@pytest.mark.nightly("the core list has the kill in the trial")
@pytest.mark.parametrize("agent", [6], indirect=True)
def test_an_agent_that_is_stopped_in_its_trial_stays_stopped(server, agent):
    lame = variant(
        **{
            "agent/link.py": (
                "            self.connected_once.set()\n            self._session_backoff",
                "            pass\n            self._session_backoff",
            )
        }
    )
    server.agent_file = lame
    server.command("update", version="9.9.9", sha256=hashlib.sha256(lame).hexdigest())
    until(lambda: server.hellos[-1]["version"] == "9.9.9", 30, what="the new version")
    guard = guard_of(agent)
    assert agent.stop() == 0
    until(lambda: not os.path.exists(f"/proc/{guard}"), 30, what="the guard's end")
    assert agent.program.read_bytes() == agent.delivered
    with open(agent.state / "lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # nobody holds the state: no other agent was started
    seen = len(server.hellos)
    agent.start()
    until(lambda: "9.9.9" in [hello["version"] for hello in server.hellos[seen:]], 30, what="the trial to go on")
    assert until(lambda: server.results, 60)[0]["status"] == "failed"  # it still does not see that it is connected
    until(lambda: not beside(agent))


@pytest.mark.nightly("the core list has the kill in the trial")
@pytest.mark.parametrize("agent", [6], indirect=True)
def test_a_power_loss_in_the_trial_ends_in_the_old_version(server, agent):
    """Agent and guard are gone at once, and the new version would never come up."""
    lame = variant(**{"agent/main.py": (RUN, "    def run(self) -> int:\n        time.sleep(600)\n")})
    server.agent_file = lame
    name = server.command("update", version="9.9.9", sha256=hashlib.sha256(lame).hexdigest())
    until(lambda: runs(agent, b".new"), 30, what="the new version to run")
    os.kill(guard_of(agent), signal.SIGKILL)
    agent.kill()
    agent.start()
    result = until(lambda: server.result(name), 30)
    assert result["status"] == "failed"
    assert "did not connect; back to" in result["reason"]
    assert server.hellos[-1]["version"] != "9.9.9"
    until(lambda: not beside(agent) and not (agent.state / "update.json").exists())


def beside(agent):
    """What lies beside the program."""
    return [path.name for path in agent.directory.glob("opsapp-agent.pyz?*")]


def runs(agent, suffix):
    with open(f"/proc/{agent.process.pid}/cmdline", "rb") as file:
        return str(agent.program).encode() + suffix in file.read().split(b"\0")


def guard_of(agent):
    """The process that watches this agent's update."""
    return next(pid for pid, words in processes_of(agent).items() if b"--guard" in words)


def test_a_kill_during_the_trial_ends_in_one_version(server, agent):
    server.agent_file = data = variant()
    name = server.command("update", version="9.9.9", sha256=hashlib.sha256(data).hexdigest())
    until((agent.state / "update.json").exists, 30, every=0.001)
    agent.kill()
    agent.start()
    result = until(lambda: server.result(name), 30)
    version = server.hellos[-1]["version"]
    assert (result["status"] == "done") == (version == "9.9.9")
    until(lambda: not (agent.state / "update.json").exists(), what="the note being gone")  # after the result is told
