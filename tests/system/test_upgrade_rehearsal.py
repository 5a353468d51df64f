"""From the last release to this version and back, with its own code, while people write and an agent reports."""

import json
import os
import re
import shutil
import subprocess

import pytest

from opsapp.cli import main
from opsapp.wire.version import VERSION
from tests.support.process import ROOT, Serve, free_port
from tests.support.rehearsal import MONITOR, RULE, answered, furnish, go_on, kept_of, made
from tests.support.release import ReleaseAgent, ReleaseServe, last_release, release_of, released
from tests.support.waiting import until
from tests.support.writers import Writer, missing, stored

pytestmark = [
    pytest.mark.system,
    pytest.mark.files("the release starts on an embedded store"),
    pytest.mark.nightly("upgrades from the last release"),
]

GUIDE = ROOT / "docs/guide/upgrade.md"


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    return last_release(tmp_path_factory.mktemp("release"))


def test_this_version_has_a_number_that_no_release_had():
    """Nodes, agents and copies of two versions are told apart by it."""
    unreleased = (ROOT / "CHANGELOG.md").read_text().partition("## Unreleased")[2].partition("\n## ")[0].strip()
    assert (VERSION in released()) == (unreleased in ("", "Nothing yet."))


def update(agent):
    """By the commands of docs/guide/upgrade.md."""
    (commands,) = re.findall(r"(?:^    SHA256=.*\n)(?:    .*\n)+", GUIDE.read_text(), re.M)
    about = {"SERVER": agent.server.url, "TOKEN": agent.server.admin.token, "ID": agent.id}
    done = subprocess.run(["sh", "-e"], input=commands, env={**os.environ, **about}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return agent.finished(json.loads(done.stdout)["command_id"], 60)


def test_up_under_load_and_back_to_the_release_and_nothing_is_lost(tmp_path, release):
    data, copy = tmp_path / "data", tmp_path / "copy"
    place = {"port": free_port(), "data": data}
    old, new = ReleaseServe(tmp_path / "old", release, **place), Serve(tmp_path / "new", **place)
    with old:
        token = old.admin.token
        kept = furnish(old.admin)
        agent = ReleaseAgent(tmp_path / "agent", old)
        writers = [Writer(old.client(token=token), f"writer-{number}", pace=0.02) for number in range(3)]
        with agent:
            agent.online()
            go_on(writers)
            before = answered(writers)
            assert release.opsapp("backup", copy, "--data", data).returncode == 0
            go_on(writers)
            assert old.stop() == 0
            with new:
                agent.server = new
                go_on(writers)
                for writer in writers:
                    writer.end()
                assert all(writer.broken for writer in writers), "they wrote while no server was there"
                assert missing(new.client(token=token), writers) == {}, "and the session goes on"
                assert kept_of(new.admin, kept) == kept
                agent.online()
                assert agent.seen()["version"] == release.version
                assert agent.finished(agent.ask("echo as before"))["output"] == "as before\n"
                assert update(agent)["output"] == f"now version {VERSION}\n"
                assert agent.seen()["version"] == VERSION
                assert new.stop() == 0
            go_back(old, release, copy)
            with old:
                there = stored(old.admin)
                assert {key: there.get(key) for key in before} == before
                assert made(old.admin) == kept
                agent.server = old
                agent.online()


def go_back(old, release, copy):
    """The release refuses what it does not know, and changes nothing; its own backup it takes."""
    (beside,) = old.data.glob(f"before-{VERSION}-*")
    tree = (old.data / "main.fs").read_bytes()
    for command in (["user", "list"], ["doctor"], ["init"]):
        done = release.opsapp(*command, "--data", old.data)
        assert done.returncode == 1
        assert "The store was written by a newer version of opsapp" in done.stdout + done.stderr, command
    with pytest.raises(AssertionError, match=r"ended with 1:[^$]*written by a newer version of opsapp"):
        old.start()
    assert (old.data / "main.fs").read_bytes() == tree
    for backup in (beside, copy):
        done = release.opsapp("restore", backup, "--data", old.data)
        assert done.returncode == 0, done.stderr
        assert release.opsapp("user", "list", "--data", old.data).stdout.startswith("admin\t")


def test_this_version_takes_a_backup_of_the_release(tmp_path, release, capsys):
    copy, data = tmp_path / "copy", str(tmp_path / "data")
    for command in (["init"], ["backup", copy]):
        assert release.opsapp(*command, "--data", tmp_path / "old").returncode == 0
    assert main(["init", "--data", data]) == 0
    assert main(["restore", str(copy), "--data", data]) == 0
    shutil.copyfile(tmp_path / "old/secret.key", tmp_path / "data/secret.key")  # which is in no backup
    assert main(["doctor", "--data", data]) == 0
    assert "steps come with the next start" in capsys.readouterr().out
    assert release.opsapp("user", "list", "--data", data).returncode == 0, "restored, it is still the release's"
    assert main(["user", "list", "--data", data]) == 0
    assert main(["doctor", "--data", data]) == 0
    assert "ok    store: is of this version" in capsys.readouterr().out


def is_final(client):
    """Whether the ledger has an entry that is over, about what `furnish` has set up."""
    return [entry for entry in client.get("/api/healing/ledger") if entry["outcome"] == "notified"]


def test_doctor_traces_a_store_that_was_really_upgraded(tmp_path, capsys):
    """What the base has written of a failure and what this version writes after it hang together."""
    base = release_of("0.2.0", tmp_path / "base")
    place = {"port": free_port(), "data": tmp_path / "data"}
    old, new = ReleaseServe(tmp_path / "old", base, **place), Serve(tmp_path / "new", **place)
    with old:
        furnish(old.admin)
        until(lambda: is_final(old.admin), 120, what="a failure that the base tells of")
        assert old.stop() == 0
    with new:
        before = {entry["id"] for entry in is_final(new.admin)}
        assert before
        body = {**MONITOR, "name": "shop two", "url": "tcp://127.0.0.1:2"}
        new.admin.post("/api/monitoring/endpoints", body)
        new.admin.post("/api/healing/rules", {**RULE, "id": "two", "targets": {"monitors": ["shop two"]}})
        until(
            lambda: {entry["id"] for entry in is_final(new.admin)} - before, 120, what="one that this version tells of"
        )
        assert new.stop() == 0
    assert main(["doctor", "--trace", "--data", str(tmp_path / "data")]) == 0
    assert "trace: the ledger and the cases are as the pipeline writes them" in capsys.readouterr().out


def test_what_an_older_version_than_the_base_has_left_goes_by_way_of_the_base(tmp_path, release, capsys):
    first, data = release_of("0.1.0", tmp_path / "first"), tmp_path / "data"
    assert first.opsapp("init", "--data", data).returncode == 0
    before = (data / "main.fs").read_bytes()
    for command in ("doctor", "init"):
        capsys.readouterr()
        assert main([command, "--data", str(data)]) == 1
        said = capsys.readouterr()
        assert "Install opsapp 0.2.0, run `opsapp init` once" in said.out + said.err
    assert (data / "main.fs").read_bytes() == before
    assert release.version == "0.2.0"
    assert release.opsapp("init", "--data", data).returncode == 0
    assert main(["user", "list", "--data", str(data)]) == 0
