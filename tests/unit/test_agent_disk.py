"""A full disk: the small records on which everything depends have room that was kept aside; nothing else has it."""

import errno
import os
from types import SimpleNamespace

import pytest

from opsapp.agent import disk
from opsapp.agent.disk import LineFile, Reserve, write_whole
from opsapp.agent.spool import Spool
from opsapp.wire.reports import HostReport


def held(tmp_path):
    """Bytes that are kept aside."""
    return sum(path.stat().st_size for path in (tmp_path / "reserve").iterdir())


@pytest.fixture
def full(tmp_path, monkeypatch):
    """A disk without room but for what the reserve gives back."""
    reserve = Reserve()
    reserve.use(str(tmp_path / "reserve"), 4 * disk.PIECE)
    used, real = [0], os.write

    def write(handle, data):
        if used[0] + len(data) > 4 * disk.PIECE - held(tmp_path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        used[0] += len(data)
        return real(handle, data)

    monkeypatch.setattr(disk, "reserve", reserve)
    monkeypatch.setattr(os, "write", write)
    return reserve


def test_records_are_written_on_a_full_disk(full, tmp_path):
    lines = LineFile(str(tmp_path / "lines"))
    lines.append(b"accepted")
    write_whole(str(tmp_path / "result"), b"x" * 1000)
    assert list(lines) == [b"accepted\n"]
    assert (tmp_path / "result").read_bytes() == b"x" * 1000
    assert held(tmp_path) == 3 * disk.PIECE


def test_it_ends_and_is_taken_again(full, tmp_path):
    lines = LineFile(str(tmp_path / "lines"))
    for _ in range(4 * disk.PIECE // 10_001):
        lines.append(b"x" * 10_000)
    with pytest.raises(OSError, match="No space"):
        lines.append(b"x" * 10_000)
    assert held(tmp_path) == 0
    assert all(line == b"x" * 10_000 + b"\n" for line in lines)
    full.fill()
    assert held(tmp_path) == 4 * disk.PIECE


def test_large_results_and_history_do_not_have_it(full, tmp_path):
    with pytest.raises(OSError, match="No space"):
        write_whole(str(tmp_path / "large"), b"x" * (disk.LARGEST + 1))
    Spool(str(tmp_path), 10**6).keep(HostReport("box-1", "x", time=100.0, reason="interval"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reserve", "spool.jsonl", "spool.mark"]
    assert held(tmp_path) == 4 * disk.PIECE


def test_a_disk_without_inodes_has_those_of_the_reserve(full, tmp_path, monkeypatch):
    real, left = os.open, len(list((tmp_path / "reserve").iterdir()))

    def refuse(path, flags, *mode):
        if flags & os.O_CREAT and len(list((tmp_path / "reserve").iterdir())) == left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, flags, *mode)

    monkeypatch.setattr(os, "open", refuse)
    write_whole(str(tmp_path / "result"), b"x")
    assert (tmp_path / "result").read_bytes() == b"x"


@pytest.mark.parametrize("short", ["f_bfree", "f_favail"])
def test_it_is_not_taken_from_a_disk_that_has_little(tmp_path, monkeypatch, short):
    told = os.statvfs(tmp_path)
    names = [name for name in dir(told) if name.startswith("f_")]
    blocks = {"f_bfree": 10, "f_bavail": 10} if short != "f_favail" else {"f_favail": 10, "f_files": 100}
    little = SimpleNamespace(**{**{name: getattr(told, name) for name in names}, **blocks})
    monkeypatch.setattr(os, "statvfs", lambda path: little)
    reserve = Reserve()
    reserve.use(str(tmp_path / "reserve"), 1 << 20)
    assert held(tmp_path) == 0
    assert reserve.give(10) is False


def test_a_smaller_one_gives_back_what_is_too_much(tmp_path):
    for pieces in (2, 1, 0):
        Reserve().use(str(tmp_path / "reserve"), pieces * disk.PIECE)
        assert held(tmp_path) == pieces * disk.PIECE


def test_one_that_cannot_be_made_is_no_failure(tmp_path):
    (tmp_path / "reserve").write_text("in the way")
    Reserve().use(str(tmp_path / "reserve"), 1 << 20)
    (tmp_path / "reserve").unlink()


def test_without_one_a_full_disk_is_an_error(tmp_path, monkeypatch):
    assert Reserve().give(1) is False
    Reserve().fill()
