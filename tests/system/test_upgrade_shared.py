"""This version beside the last release on a store that they share, and back, while people write and an agent reports.

With the release's own code, on both engines. Steps that make the newer node wait: tests/system/test_upgrade.py.
"""

import contextlib

import pytest

from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.rehearsal import furnish, go_on, made
from tests.support.release import ReleaseAgent, ReleaseServe, last_release
from tests.support.writers import Writer, missing

pytestmark = [pytest.mark.system, pytest.mark.own_store, pytest.mark.nightly("upgrades from the last release")]


@pytest.fixture(params=["zeo", "postgresql"])
def shared(request, tmp_path):
    with Zeo(tmp_path / "zeo") if request.param == "zeo" else Postgres() as store:
        yield store.uris()


def test_up_beside_the_older_node_and_back_and_nothing_is_lost(tmp_path, shared):
    data = tmp_path / "data"  # of all nodes: the secret file is in it
    old = ReleaseServe(tmp_path / "old", last_release(tmp_path), node="old", data=data, **shared)
    new = Serve(tmp_path / "new", node="new", data=data, **shared)
    with contextlib.ExitStack() as over, old:
        token = old.admin.token
        kept = furnish(old.admin)
        writers = [Writer(old.client(token=token), f"writer-{number}", pace=0.02) for number in range(2)]
        agent = over.enter_context(ReleaseAgent(tmp_path / "agent", old))
        agent.online()
        go_on(writers)
        over.enter_context(new)
        go_on(writers)
        assert agent.finished(agent.ask("echo beside"))["output"] == "beside\n"
        assert old.stop() == 0
        for writer in writers:
            writer.client.url = new.url
        move(agent, new)
        go_on(writers)
        for writer in writers:
            writer.end()
        assert missing(new.client(token=token), writers) == {}
        assert made(new.admin) == kept
        assert agent.finished(agent.ask("echo as before"))["output"] == "as before\n"
        old.start()
        assert new.stop() == 0
        assert missing(old.client(token=token), writers) == {}
        assert made(old.admin) == kept
        move(agent, old)
        assert agent.finished(agent.ask("echo back"))["output"] == "back\n"


def move(agent, serve):
    """To another node, as the proxy before them does it."""
    assert agent.stop() == 0
    agent.server = serve
    agent.start()
    agent.online()
