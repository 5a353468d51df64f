"""Up to a next version and back, with real processes: what a version of now does with a shared store of a later one.

What all commands say to a later store is in tests/api/test_upgrading.py.
"""

import contextlib
import os
import signal

import pytest

from opsapp.cli import main
from opsapp.wire.version import VERSION
from tests.support.agent_process import EnrolledAgent
from tests.support.nextversion import NextVersion, later
from tests.support.othernode import knows, signed_in_at
from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.waiting import until
from tests.support.writers import stored, write
from tests.system.test_agent_streams import put

pytestmark = [pytest.mark.system, pytest.mark.own_store]

BEAMS = {"teleport-1-beams": False}
LAMPS = {"teleport-2-lamps": True}


@pytest.fixture(params=["zeo", pytest.param("postgresql", marks=pytest.mark.nightly("the core list has ZEO"))])
def shared(request, tmp_path):
    with Zeo(tmp_path / "zeo") if request.param == "zeo" else Postgres() as store:
        yield store.uris()


def where(data, uris):
    flags = {"data": data, **uris}
    return [f"--{name.replace('_', '-')}={value}" for name, value in flags.items()]


def test_a_reversible_step_lets_both_versions_use_the_store(tmp_path, shared, capsys):
    with contextlib.ExitStack() as nodes:
        old = nodes.enter_context(Serve(tmp_path / "old", node="old", data=tmp_path / "data", **shared))
        new = nodes.enter_context(NextVersion(tmp_path / "new", LAMPS, node="new", data=tmp_path / "data", **shared))
        new._admin = signed_in_at(new, old)
        for writer, reader in ((old, new), (new, old)):
            made = write(writer.admin, f"by {writer.flags['node']}")
            until(lambda made=made, reader=reader: made in stored(reader.admin), 5, what="the write")
        the_other_reaches_the_agent(nodes, tmp_path, old, new)
        the_other_reaches_the_agent(nodes, tmp_path, new, old)
        assert old.stop() == 0  # an older node may begin anew
        old.start()
        assert "teleport-2-lamps (0.9.0); this version" in old.tail(20_000)
        capsys.readouterr()
        assert main(["doctor", *where(tmp_path / "data", shared)]) == 0
        assert "was used by a newer version: teleport-2-lamps (0.9.0)" in capsys.readouterr().out


def the_other_reaches_the_agent(nodes, tmp_path, at, other):
    """Whose session is on a node of another version: by a command, and by a request that is handed on."""
    name, asked = at.flags["node"], other.admin
    place = tmp_path / f"box-{name}"
    agent = nodes.enter_context(EnrolledAgent(place, at, name, viewer_paths=[str(place)]))
    agent.online()
    until(lambda: knows(asked, agent.path)["connected"], 10, what="the other node knowing of the session")
    assert put(asked, agent, place / "file", b"from the other version").status == 200
    assert (place / "file").read_bytes() == b"from the other version"
    command = asked.post(f"{agent.path}/commands", {"type": "shell", "params": {"command": "echo heard"}})
    assert agent.finished(command["command_id"], at=asked)["output"] == "heard\n"


def test_a_step_that_is_not_reversible_waits_for_the_older_nodes(tmp_path, shared, capsys):
    with contextlib.ExitStack() as nodes:
        old = nodes.enter_context(Serve(tmp_path / "old", node="old", data=tmp_path / "data", **shared))
        made = write(old.admin, "while the next one waits")
        with later(BEAMS):
            assert main(["user", "list", *where(tmp_path / "data", shared)]) == 1
        said = capsys.readouterr().err
        assert f"nodes of another version use the store (old: {VERSION}), and teleport-1-beams changes" in said
        new = NextVersion(tmp_path / "new", BEAMS, node="new", data=tmp_path / "data", **shared)
        nodes.callback(new.end)
        new.begin()
        until(lambda: f"waiting before the upgrade to 0.9.0: nodes of another version use the store (old: {VERSION})"
              in new.tail(), 20, what="the next version waiting")  # fmt: skip
        assert made in stored(old.admin)
        assert not new.is_ready()
        assert old.stop() == 0
        until(new.is_ready, 20, what="the next version serving")
        assert "It is not embedded, so it is not copied here" in new.tail(20_000)
        assert made in stored(new.admin)
        with pytest.raises(AssertionError, match=r"ended with 1:[^$]*teleport-1-beams \(0\.9\.0\)"):
            old.start()


@pytest.mark.nightly("the core list has the step that is not reversible")
def test_an_older_node_that_comes_back_after_the_step_ends_itself(tmp_path, shared):
    """It stood still for so long that the others hold it for dead."""
    with contextlib.ExitStack() as nodes:
        old = nodes.enter_context(Serve(tmp_path / "old", node="old", data=tmp_path / "data", **shared))
        made = write(old.admin, "before")
        os.kill(old.child.pid, signal.SIGSTOP)
        try:
            new = NextVersion(tmp_path / "new", BEAMS, node="new", data=tmp_path / "data", **shared)
            nodes.enter_context(new)
        finally:
            os.kill(old.child.pid, signal.SIGCONT)
        assert until(lambda: old.child.poll() is not None, 20, what="the older node ending itself")
        assert old.child.returncode == 1
        assert "it has teleport-1-beams (0.9.0), which this version" in old.tail(20_000)
        assert made in stored(new.admin)


def test_doctor_says_it_beside_a_server_too(tmp_path, capsys):
    with NextVersion(tmp_path / "new", BEAMS) as new:
        assert main(["doctor", "--data", str(new.data)]) == 1
    said = "FAIL  store: The store was written by a newer version of opsapp: it has teleport-1-beams (0.9.0)"
    assert said in capsys.readouterr().out
