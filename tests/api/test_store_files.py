"""The files of an embedded store at a start: what is missing, cut off, damaged, or was begun and not finished."""

import os
import pickle
import random
import shutil
import struct
import time
from pathlib import Path

import pytest
from persistent.TimeStamp import TimeStamp
from ZODB.FileStorage.format import TRANS_HDR, TRANS_HDR_LEN

from opsapp.lib.problems import Conflict
from opsapp.runtime.cluster import fence, leases
from opsapp.runtime.secrets import seals
from opsapp.runtime.store import backup, embedded
from tests.support.app import Service

GARBAGE = random.Random(1).randbytes(2000)
FILES = ("main.fs", "history.fs")


@pytest.fixture
def data(place):
    return Path(place[1])


def users(opsapp, data):
    code, out, err = opsapp("user", "list", "--data", data)
    assert code == 0, err
    return out


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir() if not path.name.endswith((".lock", ".tmp"))}


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("lost", FILES)
def test_a_store_that_is_not_complete_is_not_taken_for_a_new_one(opsapp, data, lost, empty):
    (data / lost).write_bytes(b"") if empty else (data / lost).unlink()
    before = contents(data)
    for command in (("init",), ("user", "list"), ("user", "add", "eve", "--role", "admin"), ("pack",)):
        code, _out, err = opsapp(*command, "--data", data, typed="a long enough password\n")
        assert code == 1, command
        assert f"{data / lost} is " in err
        assert "opsapp restore" in err
    with pytest.raises(Conflict, match=lost):
        Service(data, **{"opsapp.data": str(data)})
    code, out, _err = opsapp("doctor", "--data", data)
    assert (code, f"FAIL  store: {data / lost} is" in out) == (1, True)
    assert contents(data) == before


def test_the_key_alone_points_to_an_old_store(opsapp, data):
    for name in FILES:
        (data / name).unlink()
    code, _out, err = opsapp("init", "--data", data)
    assert code == 1
    assert "move secret.key to another directory first" in err
    (data / "secret.key").unlink()
    assert opsapp("init", "--data", data)[0] == 0


def test_a_first_start_that_was_killed_is_begun_again(opsapp, tmp_path):
    for size in (0, 4):
        data = tmp_path / str(size)
        data.mkdir()
        for name in FILES:
            (data / name).write_bytes(b"FS30"[:size])
        assert opsapp("init", "--data", data)[0] == 0


def test_a_store_goes_on_without_its_history_when_told_so(opsapp, data):
    (data / "history.fs").unlink()
    assert opsapp("init", "--new-history", "--data", data)[0] == 0
    assert "admin" in users(opsapp, data)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("tail", [bytes(1), bytes(4096), bytes(3 << 20), b"half a change", GARBAGE])
def test_what_a_power_cut_leaves_at_the_end_is_cut_off_at_the_first_start(opsapp, data, caplog, name, tail):
    before = users(opsapp, data)
    size = (data / name).stat().st_size
    with (data / name).open("ab") as file:
        file.write(tail)
    assert users(opsapp, data) == before
    assert f"{len(tail)} bytes behind byte {size} cut off" in caplog.text
    kept = [path.read_bytes() for path in data.glob(f"{name}.tr*")]
    assert kept == ([tail] if tail.strip(b"\0") else [])
    assert backup.whole_until(data / name) >= size


def test_a_change_that_was_not_finished_is_cut_off(opsapp, data):
    """The last transaction without its last bytes, and with the mark of one that is not finished."""
    assert opsapp("user", "add", "newer", "--data", data, typed="a long enough password\n")[0] == 0
    before = (data / "main.fs").read_bytes()
    (data / "main.fs").write_bytes(before[:-100])
    (data / "main.fs.index").unlink()  # a power cut leaves one from before this change, or none
    left = users(opsapp, data)
    assert ("admin" in left, "newer" in left) == (True, False)
    (data / "main.fs").write_bytes(before + header(8, b"c"))
    assert "admin" in users(opsapp, data)


def ends_of_changes(path):
    with path.open("rb") as file:
        return [change.end for change in embedded.transactions(file, embedded.START)]


@pytest.mark.parametrize("more", [0, 10], ids=["between two changes", "within a change"])
def test_a_file_that_was_cut_off_is_refused_and_nothing_is_changed(opsapp, data, tmp_path, more):
    assert opsapp("backup", tmp_path / "copy", "--data", data)[0] == 0
    assert opsapp("user", "add", "newer", "--data", data, typed="a long enough password\n")[0] == 0
    name, path = "main.fs", data / "main.fs"
    whole = path.stat().st_size
    os.truncate(path, ends_of_changes(path)[-2] + more)
    before = contents(data)
    said = f"{name} has {path.stat().st_size} bytes, and its index knows {whole}: changes at its end are lost."
    for command in ("user", "list"), ("doctor",), ("pack",), ("init",):
        code, out, err = opsapp(*command, "--data", data)
        assert (code, said in out + err) == (1, True), (command, out, err)
    assert contents(data) == before
    assert "opsapp restore" in err
    assert f"delete {name}.index" in err
    shutil.copytree(data, tmp_path / "other")
    (tmp_path / "other" / f"{name}.index").unlink()
    assert "admin" in users(opsapp, tmp_path / "other")
    assert opsapp("restore", tmp_path / "copy", "--data", data)[0] == 0
    assert "admin" in users(opsapp, data)


def claim_more(path):
    """An index that knows of more than the file has."""
    path.with_name(path.name + ".index").write_bytes(pickle.dumps(path.stat().st_size + 1000))


def test_a_history_that_was_cut_off_is_refused_too(opsapp, data):
    claim_more(data / "history.fs")
    code, _, err = opsapp("user", "list", "--data", data)
    assert (code, "history.fs has" in err) == (1, True)


def test_a_pack_that_was_killed_before_its_index_is_no_loss(data):
    """Not at the next start either, when that one is killed before it writes an index."""
    files = [data / "history.fs", data / "main.fs"]
    claim_more(data / "main.fs")
    (data / "main.fs.old").write_bytes((data / "main.fs").read_bytes())
    embedded.make_ready(files, None)
    assert [path.name for path in data.glob("main.fs.*") if path.suffix in (".old", ".index")] == []
    embedded.make_ready(files, None)


def test_damage_before_the_end_is_refused_and_nothing_is_cut_off(opsapp, data):
    content = bytearray((data / "main.fs").read_bytes())
    first = 4 + struct.unpack(TRANS_HDR, content[4:27])[1] + 8
    content[first + 8 : first + 16] = b"\xff" * 8  # a length beyond all
    (data / "main.fs").write_bytes(content)
    (data / "main.fs.index").unlink()
    code, _out, err = opsapp("user", "list", "--data", data)
    assert code == 1
    assert f"main.fs is damaged at byte {first}" in err
    assert (data / "main.fs").read_bytes() == content


def header(first, status=b" "):
    """A transaction without content, at a time far off, as random bytes may look."""
    tid = bytes([first]) + bytes(7)
    return struct.pack(TRANS_HDR, tid, TRANS_HDR_LEN, status, 0, 0, 0) + struct.pack(">Q", TRANS_HDR_LEN)


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize(
    ("first", "said"),
    [(0x7F, "not come yet"), (0xFF, "not come yet"), (1, "before the change"), (0, "before the change")],
)
def test_a_change_at_a_time_that_cannot_be_is_refused(opsapp, data, first, said, indexed):
    tail = header(first)
    size = (data / "main.fs").stat().st_size
    with (data / "main.fs").open("ab") as file:
        file.write(tail)
    if not indexed:
        (data / "main.fs.index").unlink()
    for command in (("user", "list"), ("init",), ("backup", data.parent / "copy")):
        code, _out, err = opsapp(*command, "--data", data)
        assert (code, said in err, f"at byte {size}" in err) == (1, True, True), err
    assert "FAIL  store" in opsapp("doctor", "--data", data)[1]
    assert (data / "main.fs").stat().st_size == size + len(tail)


@pytest.mark.parametrize("hours", [1, 25, 24 * 365 * 40])
def test_a_store_from_the_future_is_used_and_copied_all_the_same(opsapp, data, tmp_path, monkeypatch, hours):
    """The clock has gone back by so much."""
    before = users(opsapp, data)
    newest = TimeStamp(tids(data / "main.fs")[-1])
    now = TimeStamp(tids(data / "main.fs")[0]).timeTime() - 3600 * hours
    monkeypatch.setattr("time.time", lambda: now)
    assert users(opsapp, data) == before
    assert opsapp("user", "add", "newer", "--data", data, typed="a long enough password\n")[0] == 0
    assert "newer" in users(opsapp, data)
    assert tids(data / "main.fs") == sorted(set(tids(data / "main.fs")))
    assert TimeStamp(tids(data / "main.fs")[-1]).timeTime() == pytest.approx(newest.timeTime(), abs=1)
    assert opsapp("backup", tmp_path / "copy", "--data", data)[0] == 0
    code, out, _err = opsapp("doctor", "--data", data)
    since = str(TimeStamp(tids(data / "main.fs")[0]))[:19]
    assert (code, f"since {since} UTC" in out, "was set back" in out) == (0, True, True), out
    assert opsapp("restore", tmp_path / "copy", "--data", data)[0] == 0
    assert "newer" in users(opsapp, data)


def test_the_doctor_says_nothing_of_times_while_the_clock_is_right(opsapp, data):
    assert "have not come yet" not in opsapp("doctor", "--data", data)[1]


@pytest.mark.parametrize("indexed", [True, False])
def test_a_time_to_come_that_is_not_that_of_the_objects_is_damage(opsapp, data, indexed):
    """A clock says the same to a change and to all that is in it; a byte that has become another one does not."""
    content = bytearray((data / "main.fs").read_bytes())
    *_, last = places(content)
    content[last] |= 0x40
    (data / "main.fs").write_bytes(content)
    if not indexed:
        (data / "main.fs.index").unlink()
    for command in (("user", "list"), ("backup", data.parent / "copy")):
        code, _out, err = opsapp(*command, "--data", data)
        assert (code, f"at byte {last}" in err, "is damaged" in err) == (1, True, True), err
    assert (data / "main.fs").read_bytes() == content


def places(content):
    """Where each transaction of a whole file begins."""
    place = 4
    while place < len(content):
        yield place
        place += int.from_bytes(content[place + 8 : place + 16], "big") + 8


def tids(path):
    content = path.read_bytes()
    return [content[place : place + 8] for place in places(content)]


class Killed(BaseException):
    pass


def killed_at(monkeypatch, step):
    """From now on the process ends at its `step`th change of a name."""
    left = [step]

    def dying(change):
        def changed(*values, **named):
            left[0] -= 1
            if not left[0]:
                raise Killed
            return change(*values, **named)

        return changed

    for name in ("rename", "replace", "unlink"):
        monkeypatch.setattr(Path, name, dying(getattr(Path, name)))


@pytest.mark.parametrize("step", range(1, 12))
def test_a_restore_that_was_killed_is_finished_or_was_not_begun(opsapp, data, tmp_path, step):
    assert opsapp("backup", tmp_path / "copy", "--data", data)[0] == 0
    assert opsapp("user", "add", "newer", "--data", data, typed="a long enough password\n")[0] == 0
    newer = {name: (data / name).read_bytes() for name in FILES}
    with pytest.MonkeyPatch.context() as patched:
        killed_at(patched, step)
        try:
            backup.restore(tmp_path / "copy", [data / "history.fs", data / "main.fs"])
            done = True
        except Killed:
            done = False
    restored = "newer" not in users(opsapp, data)
    assert restored or not done
    for name in FILES:
        aside = [path.read_bytes() for path in data.glob(f"{name}.before-*")]
        assert aside == ([newer[name]] if restored else [])
    assert not list(data.glob("*.partial"))
    assert not list(data.glob("*.restore"))


@pytest.mark.parametrize("step", [4, 6])
def test_a_restore_that_was_killed_gives_out_newer_tokens_too(opsapp, data, tmp_path, step):
    """Of a store whose clock was ahead: hosts refuse every heal with an older fencing token."""

    def change(fn):
        service = Service(data, **{"opsapp.data": str(data)})
        service.transact(fn)
        service.close()

    ahead = int(time.time() * 1000) + 10**9
    change(lambda root: leases.beat(root, "somebody", ["healing"], {}, time.time()) and None)
    assert opsapp("backup", tmp_path / "copy", "--data", data)[0] == 0
    change(lambda root: setattr(root.system["leases"]["healing"], "token", ahead))
    assert fence.newest_token(data / "main.fs") == ahead
    with pytest.MonkeyPatch.context() as patched:
        killed_at(patched, step)
        with pytest.raises(Killed):
            opsapp("restore", tmp_path / "copy", "--data", data)
    assert "admin" in users(opsapp, data)
    assert list(data.glob("main.fs.before-*"))
    assert fence.newest_token(data / "main.fs") >= ahead


def test_a_restore_that_was_killed_is_finished_before_the_next_one(opsapp, data, tmp_path):
    assert opsapp("backup", tmp_path / "copy", "--data", data)[0] == 0
    with pytest.MonkeyPatch.context() as patched:
        killed_at(patched, 4)
        with pytest.raises(Killed):
            backup.restore(tmp_path / "copy", [data / "history.fs", data / "main.fs"])
    code, out, _err = opsapp("doctor", "--data", data)
    assert (code, "restore or a pack was interrupted" in out) == (1, True)
    assert opsapp("restore", tmp_path / "copy", "--data", data)[0] == 0
    assert len(list(data.glob("main.fs.before-*"))) == 2
    assert "admin" in users(opsapp, data)


def test_a_pack_that_was_killed_between_its_renamings_is_taken_back(opsapp, data):
    shutil.copy(data / "main.fs", data / "main.fs.pack")
    (data / "main.fs").rename(data / "main.fs.old")
    assert "admin" in users(opsapp, data)
    assert not list(data.glob("main.fs.old")) + list(data.glob("main.fs.pack"))


def test_what_packs_and_cuts_leave_behind_is_deleted(opsapp, data):
    for name in ("main.fs.old", "history.fs.pack", "main.fs.tr0", "main.fs.tr1"):
        (data / name).write_bytes(b"left behind")
    os.utime(data / "main.fs.tr0", (0, 0))
    assert "admin" in users(opsapp, data)
    assert not (data / "main.fs.old").exists()
    assert opsapp("pack", "--data", data)[0] == 0
    left = {path.name for path in data.iterdir() if ".old" in path.name or ".pack" in path.name or ".tr" in path.name}
    assert left == {"main.fs.tr1"}


@pytest.mark.parametrize(("key", "said"), [("0" * 64, "is not the one"), ("short", "is missing"), (None, "is missing")])
def test_a_master_key_that_is_not_the_stores_is_told_and_no_new_one_is_made(data, caplog, key, said):
    (data / "secret.key").unlink()
    if key is not None:
        seals.write(data / "secret.key", [key])
    service = Service(data, **{"opsapp.data": str(data)})
    try:
        (record,) = [record for record in caplog.records if "the master key" in record.message]
        assert (record.levelname, said in record.message) == ("ERROR", True)
        health = service.vera.get("/api/healing/health").json
        assert health["status"] == "Degraded"
        assert [said in reason for reason in health["reasons"]] == [True]
    finally:
        service.close()
    assert seals.read(data / "secret.key") == ([key] if key and len(key) > 32 else [])


def test_a_store_of_a_newer_version_is_refused(opsapp, data):
    service = Service(data, **{"opsapp.data": str(data)})
    service.transact(lambda root: root.system["evolved"].append("teleport-1-beams"))
    service.close()
    for command in (("user", "list"), ("init",)):
        code, _out, err = opsapp(*command, "--data", data)
        assert code == 1
        assert "written by a newer version of opsapp: it has teleport-1-beams" in err
    code, out, _err = opsapp("doctor", "--data", data)
    assert (code, "FAIL  store: The store was written by a newer version" in out) == (1, True)
