"""From the last release to this version on a store that both share, and back, while people write and an agent reports.

With the release's own code, on both engines: the newer node waits for the older one, which serves meanwhile.
"""

import contextlib

import pytest

from opsapp.wire.version import VERSION
from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo
from tests.support.rehearsal import answered, furnish, go_on, kept_of, made
from tests.support.release import ReleaseAgent, ReleaseServe, last_release
from tests.support.waiting import until
from tests.support.writers import Writer, missing, stored

pytestmark = [pytest.mark.system, pytest.mark.own_store, pytest.mark.nightly("upgrades from the last release")]


class ByZeo:
    """The backup is made and restored on the store's machine, by the release's own command."""

    def __init__(self, place, release):
        self.release, self.copy = release, place / "copy"
        self.store = Zeo(place / "store")

    def uris(self):
        return self.store.uris()

    def _opsapp(self, command):
        done = self.release.opsapp(command, "--data", self.store.directory, self.copy)
        assert done.returncode == 0, done.stderr

    def save(self):
        self._opsapp("backup")

    def restore(self):
        self.store.stop()
        self._opsapp("restore")
        self.store.start()
        return self.uris()


class ByPostgres:
    """Dumps of both databases, which are read into new ones."""

    def __init__(self, _place, _release):
        self.store, self.made, self.dumps = Postgres(), {}, {}

    def uris(self):
        self.made = self.store.uris()
        return self.made

    def save(self):
        for name in ("history_store", "store"):  # what is referred to is the newer one
            self.dumps[name] = self.store.directory / f"{name}.dump"
            self.store.run("pg_dump", "-Fc", "-d", self.made[name], "-f", self.dumps[name])

    def restore(self):
        anew = self.uris()
        for name, dump in self.dumps.items():
            self.store.run("pg_restore", "--no-owner", "--exit-on-error", "-d", anew[name], dump)
        return anew


@pytest.fixture
def release(tmp_path):
    return last_release(tmp_path / "release")


@pytest.fixture(params=[ByZeo, ByPostgres], ids=["zeo", "postgresql"])
def shared(request, tmp_path, release):
    (tmp_path / "shared").mkdir()
    made = request.param(tmp_path / "shared", release)
    with made.store:
        yield made


def test_up_beside_the_older_node_and_back_and_nothing_is_lost(tmp_path, shared, release):
    data, uris = tmp_path / "data", shared.uris()  # the directory of all nodes: the secret file is in it
    old = ReleaseServe(tmp_path / "old", release, node="old", data=data, **uris)
    new = Serve(tmp_path / "new", node="new", data=data, **uris)
    with contextlib.ExitStack() as over, old:
        token = old.admin.token
        kept = furnish(old.admin)
        writers = [Writer(old.client(token=token), f"writer-{number}", pace=0.02) for number in range(2)]
        agent = over.enter_context(ReleaseAgent(tmp_path / "agent", old))
        agent.online()
        go_on(writers)
        before = answered(writers)
        shared.save()
        over.callback(new.end)
        new.begin()
        waits = f"waiting before the upgrade to {VERSION}: nodes of another version use the store (old: "
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
        assert kept_of(new.admin, kept) == kept
        assert agent.finished(agent.ask("echo as before"))["output"] == "as before\n"
        with pytest.raises(AssertionError, match=r"ended with 1:[^$]*written by a newer version of opsapp"):
            old.start()
        assert new.stop() == 0
        with ReleaseServe(tmp_path / "back", release, node="old", data=data, **shared.restore()) as back:
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
