"""The next version beside the one before on a store that they share, and back, while people write and an agent reports.

On ZEO from the last release to this version, with the release's own code. No release before this version could use
PostgreSQL: there it goes from this version to a next one.
"""

import contextlib

import pytest

from opsapp.wire.version import VERSION
from tests.support.agent_process import EnrolledAgent
from tests.support.nextversion import NextVersion
from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.rehearsal import answered, furnish, go_on, made
from tests.support.release import ReleaseAgent, ReleaseServe, last_release
from tests.support.waiting import until
from tests.support.writers import Writer, missing, stored

pytestmark = [pytest.mark.system, pytest.mark.own_store, pytest.mark.nightly("upgrades from the last release")]


class ByZeo:
    """The backup is made and restored on the store's machine, by the release's own command."""

    version = VERSION

    def __init__(self, place):
        self.release, self.copy = last_release(place), place / "copy"
        self.store = Zeo(place / "store")
        self.uris = self.store.uris()

    def before(self, directory, **more):
        return ReleaseServe(directory, self.release, **self.uris, **more)

    def after(self, directory, **more):
        return Serve(directory, **self.uris, **more)

    def agent(self, directory, serve):
        return ReleaseAgent(directory, serve)

    def _opsapp(self, command):
        done = self.release.opsapp(command, "--data", self.store.directory, self.copy)
        assert done.returncode == 0, done.stderr

    def save(self):
        self._opsapp("backup")

    def restore(self):
        self.store.stop()
        self._opsapp("restore")
        self.store.start()


class ByPostgres:
    """Dumps of both databases, which are read into new ones."""

    version = "0.9.0"

    def __init__(self, _place):
        self.store = Postgres()
        self.uris, self.dumps = {}, {}

    def before(self, directory, **more):
        self.uris = self.uris or self.store.uris()
        return Serve(directory, **self.uris, **more)

    def after(self, directory, **more):
        return NextVersion(directory, {"teleport-1-beams": False}, version=self.version, **self.uris, **more)

    def agent(self, directory, serve):
        return EnrolledAgent(directory, serve)

    def save(self):
        for name in ("history_store", "store"):  # what is referred to is the newer one
            self.dumps[name] = self.store.directory / f"{name}.dump"
            self.store.run("pg_dump", "-Fc", "-d", self.uris[name], "-f", self.dumps[name])

    def restore(self):
        self.uris = self.store.uris()
        for name, dump in self.dumps.items():
            self.store.run("pg_restore", "--no-owner", "--exit-on-error", "-d", self.uris[name], dump)


# The mechanism is in every run on both (tests/system/test_upgrade.py); the whole way takes a minute or two each.
@pytest.fixture(params=[ByZeo, pytest.param(ByPostgres, marks=pytest.mark.soak)], ids=["zeo", "postgresql"])
def cluster(request, tmp_path):
    (tmp_path / "cluster").mkdir()
    made = request.param(tmp_path / "cluster")
    with made.store:
        yield made


def test_up_beside_the_older_node_and_back_and_nothing_is_lost(tmp_path, cluster):
    data = tmp_path / "data"  # of all nodes: the secret file is in it
    old = cluster.before(tmp_path / "old", node="old", data=data)
    new = cluster.after(tmp_path / "new", node="new", data=data)
    with contextlib.ExitStack() as over, old:
        token = old.admin.token
        kept = furnish(old.admin)
        writers = [Writer(old.client(token=token), f"writer-{number}", pace=0.02) for number in range(2)]
        agent = over.enter_context(cluster.agent(tmp_path / "agent", old))
        agent.online()
        go_on(writers)
        before = answered(writers)
        cluster.save()
        over.callback(new.end)
        new.begin()
        waits = f"waiting before the upgrade to {cluster.version}: nodes of another version use the store (old: "
        until(lambda: waits in new.tail(20_000), 30, what="the newer node waiting")
        go_on(writers)
        assert agent.finished(agent.ask("echo beside"))["output"] == "beside\n"
        assert not new.is_ready()
        assert old.stop() == 0
        until(new.is_ready, 30, what="the newer node serving")
        for writer in writers:
            writer.client.url = new.url
        move(agent, new)
        go_on(writers)
        for writer in writers:
            writer.end()
        assert missing(new.client(token=token), writers) == {}
        assert made(new.admin) == kept
        assert agent.finished(agent.ask("echo as before"))["output"] == "as before\n"
        with pytest.raises(AssertionError, match=r"ended with 1:[^$]*written by a newer version of opsapp"):
            old.start()
        assert new.stop() == 0
        cluster.restore()
        with cluster.before(tmp_path / "back", node="old", data=data) as back:
            there = stored(back.admin)
            assert {key: there.get(key) for key in before} == before
            assert made(back.admin) == kept
            move(agent, back)
            assert agent.finished(agent.ask("echo back"))["output"] == "back\n"


def move(agent, serve):
    """To another node, as the proxy before them does it."""
    assert agent.stop() == 0
    agent.server = serve
    agent.start()
    agent.online()
