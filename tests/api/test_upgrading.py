"""Up to a next version and back, on an embedded store: what is kept, and what a version of now refuses."""

import shutil
import stat
from pathlib import Path

import pytest
import ZODB

from opsapp.runtime.store import diskspace
from opsapp.tree import evolve
from opsapp.tree.root import KEY
from opsapp.wire.version import VERSION
from tests.support.nextversion import later

BEAMS = {"teleport-1-beams": False}
LAMPS = {"teleport-2-lamps": True}
SAID = f"it has teleport-1-beams (0.9.0), which this version ({VERSION}) does not know. Install opsapp 0.9.0 or newer"


@pytest.fixture
def data(place):
    return Path(place[1])


def copies(data):
    return sorted(data.glob("before-*"))


def test_what_a_later_version_has_changed_is_refused_by_all_commands(opsapp, data, tmp_path):
    with later(BEAMS):
        assert opsapp("init", "--data", data)[0] == 0
    of_the_new, before = tmp_path / "of-the-new", (data / "main.fs").read_bytes()
    shutil.copytree(data, of_the_new)
    commands = [
        ("doctor",), ("pack",), ("init",), ("user", "list"), ("user", "add", "eve"),
        ("export",), ("rekey",), ("status-export", tmp_path / "site"),
        ("backup", tmp_path / "copy"), ("restore", of_the_new),
    ]  # fmt: skip
    for command in commands:
        code, out, err = opsapp(*command, "--data", data, typed="a long enough password\n")
        assert (code, SAID in out + err) == (1, True), (command, out, err)
        assert f"The store as it was before is in {copies(data)[0]}." in out + err
    assert not (tmp_path / "copy").exists()
    assert (data / "main.fs").read_bytes() == before
    with later(BEAMS):
        assert opsapp("user", "list", "--data", data)[0] == 0
        assert opsapp("restore", of_the_new, "--data", data)[0] == 0


def without(data, name):
    """As a version left it that did not have this step."""
    db = ZODB.DB(str(data / "main.fs"))
    with db.transaction() as connection:
        done = connection.root()[KEY].system[evolve.EVOLVED]
        done.remove(name)
    db.close()


def test_what_an_older_version_than_the_base_has_left_is_refused_by_all_commands(opsapp, data, tmp_path):
    assert opsapp("init", "--data", data)[0] == 0
    without(data, "healing-inlet-shares")
    of_the_old, before = tmp_path / "of-the-old", (data / "main.fs").read_bytes()
    shutil.copytree(data, of_the_old)
    commands = [
        ("doctor",), ("pack",), ("init",), ("user", "list"), ("user", "add", "eve"), ("export",), ("rekey",),
        ("restore", of_the_old),
    ]  # fmt: skip
    for command in commands:
        code, out, err = opsapp(*command, "--data", data, typed="a long enough password\n")
        assert (code, "Install opsapp 0.2.0, run `opsapp init` once" in out + err) == (1, True), (command, out, err)
    assert (data / "main.fs").read_bytes() == before
    assert copies(data) == []


def test_the_base_takes_a_new_store_for_its_own(opsapp, data):
    """None of the steps that brought older stores up to it is left to run there."""
    assert opsapp("init", "--data", data)[0] == 0
    db = ZODB.DB(str(data / "main.fs"), read_only=True)
    with db.transaction() as connection:
        assert set(evolve.OF_BASE) <= set(connection.root()[KEY].system[evolve.EVOLVED])
    db.close()


def test_a_reversible_step_bars_nobody(opsapp, data, tmp_path, caplog):
    with later(LAMPS):
        assert opsapp("init", "--data", data)[0] == 0
    for command in (("user", "list"), ("pack",), ("backup", tmp_path / "copy"), ("restore", tmp_path / "copy")):
        assert opsapp(*command, "--data", data)[0] == 0, command
    assert f"a newer version has used this store: teleport-2-lamps (0.9.0); this version ({VERSION}) may" in caplog.text
    out = opsapp("doctor", "--data", data)[1]
    assert "ok    store: was used by a newer version: teleport-2-lamps (0.9.0). This version may go on with it" in out
    with later(LAMPS | BEAMS):  # and up again: what has run does not run again
        assert opsapp("init", "--data", data)[0] == 0
    assert SAID in opsapp("user", "list", "--data", data)[2]


def test_an_upgrade_keeps_the_store_as_it_was_and_the_way_back_is_a_restore(opsapp, data, caplog):
    with later(BEAMS):
        assert (
            "1 steps come with the next start or `init`, which copies it first" in opsapp("doctor", "--data", data)[1]
        )
        for _ in range(2):  # the second time nothing is left to do
            assert opsapp("user", "add", f"after-{_}", "--data", data, typed="a long enough password\n")[0] == 0
    (copy,) = copies(data)
    assert f"the store as it was before version 0.9.0 is in {copy}" in caplog.text
    assert {stat.S_IMODE(path.stat().st_mode) for path in copy.iterdir()} == {0o600}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    assert opsapp("restore", copy, "--data", data)[0] == 0
    code, out, _err = opsapp("user", "list", "--data", data)
    assert (code, "admin" in out, "after" in out) == (0, True, False)


def test_an_upgrade_that_breaks_off_goes_on_and_its_first_copy_stays(opsapp, data):
    steps = BEAMS | {"fails-2": False}
    with later(steps):
        for _ in range(3):  # as a unit that is started again and again
            with pytest.raises(ValueError, match="the step fails-2 fails"):
                opsapp("init", "--data", data)
        (copy,) = copies(data)
        out = opsapp("doctor", "--data", data)[1]
        assert f"an upgrade to 0.9.0 has begun and not ended: the next start ends it; as it was before: {copy}" in out
    assert SAID in opsapp("user", "list", "--data", data)[2]  # a version of now does not touch half of it
    with later(BEAMS):
        assert opsapp("init", "--data", data)[0] == 0
        assert "is of this version" in opsapp("doctor", "--data", data)[1]
    assert copies(data) == [copy]
    assert opsapp("restore", copy, "--data", data)[0] == 0
    assert opsapp("user", "list", "--data", data)[0] == 0


def test_two_copies_are_kept_and_what_broke_off_is_deleted(opsapp, data):
    steps = {}
    for number in (10, 9, 11):  # the order of time, and not of names
        left = data / f"before-0.{number}.0-20260101T000000Z.partial"
        left.mkdir()
        (left / "main.fs").write_bytes(b"half")
        steps[f"step-{number}"] = False
        with later(steps, version=f"0.{number}.0"):
            assert opsapp("init", "--data", data)[0] == 0
    made = copies(data)
    assert [path.name.split("-")[1] for path in made] == ["0.11.0", "0.9.0"]


def test_without_room_for_a_copy_nothing_begins_unless_one_is_kept_elsewhere(opsapp, data, monkeypatch):
    monkeypatch.setattr(diskspace, "free", lambda directory: 20 << 20)
    with later(BEAMS):
        code, _out, err = opsapp("user", "list", "--data", data)
        assert (code, "There is no room for a copy of the store before the upgrade to version 0.9.0" in err) == (
            1,
            True,
        )
        assert "run `opsapp init --no-backup`" in err
    assert opsapp("user", "list", "--data", data)[0] == 0  # nothing has changed
    with later(BEAMS):
        assert opsapp("init", "--no-backup", "--data", data)[0] == 0
    assert copies(data) == []


def test_a_store_with_a_damaged_root_is_told_as_damaged(opsapp, data, tmp_path):
    """Its steps cannot be read, so nobody can say that it is a newer one."""
    copy = tmp_path / "copy"
    assert opsapp("backup", copy, "--data", data)[0] == 0
    content = (copy / "main.fs").read_bytes()
    (copy / "main.fs").write_bytes(content.replace(b"opsapp.tree.root", b"opsapp.free.root"))
    assert opsapp("restore", copy, "--data", data)[0] == 0  # as before: it is whole as a file
    (copy / "main.fs").write_bytes(b"no store")
    code, _out, err = opsapp("restore", copy, "--data", data)
    assert (code, "main.fs is not a store" in err) == (1, True)
