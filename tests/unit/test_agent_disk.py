"""A full disk: the small records on which everything depends have room that was kept aside; nothing else has it."""
import errno
import os

import pytest

from opsapp.agent import disk
from opsapp.agent.disk import Lines, Reserve, write_whole
from opsapp.agent.spool import Spool


@pytest.fixture
def full(tmp_path, monkeypatch):
    """A disk without room but for what the reserve gives back."""
    reserve = Reserve()
    reserve.use(str(tmp_path / "reserve"), 4 * disk.PIECE)
    before, used, real = 4 * disk.PIECE, [0], os.write

    def write(handle, data):
        if used[0] + len(data) > before - os.path.getsize(tmp_path / "reserve"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        used[0] += len(data)
        return real(handle, data)

    monkeypatch.setattr(disk, "reserve", reserve)
    monkeypatch.setattr(os, "write", write)
    return reserve


def test_records_are_written_on_a_full_disk(full, tmp_path):
    lines = Lines(str(tmp_path / "lines"))
    lines.append(b"accepted")
    write_whole(str(tmp_path / "result"), b"x" * 1000)
    assert list(lines) == [b"accepted\n"]
    assert (tmp_path / "result").read_bytes() == b"x" * 1000
    assert (tmp_path / "reserve").stat().st_size == 3 * disk.PIECE


def test_it_ends_and_is_taken_again(full, tmp_path):
    lines = Lines(str(tmp_path / "lines"))
    for _ in range(4 * disk.PIECE // 10_001):
        lines.append(b"x" * 10_000)
    with pytest.raises(OSError, match="No space"):
        lines.append(b"x" * 10_000)
    assert (tmp_path / "reserve").stat().st_size == 0
    assert all(line == b"x" * 10_000 + b"\n" for line in lines)
    full.fill()
    assert (tmp_path / "reserve").stat().st_blocks * 512 >= 4 * disk.PIECE


def test_large_results_and_history_do_not_have_it(full, tmp_path):
    with pytest.raises(OSError, match="No space"):
        write_whole(str(tmp_path / "large"), b"x" * (disk.LARGEST + 1))
    Spool(str(tmp_path), 10**6).keep({"hostname": "box-1", "os": "x", "time": 100.0, "reason": "interval"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reserve", "spool.jsonl", "spool.mark"]
    assert (tmp_path / "reserve").stat().st_size == 4 * disk.PIECE


def test_it_is_not_taken_from_a_disk_that_has_little(tmp_path, monkeypatch):
    told = os.statvfs(tmp_path)
    little = os.statvfs_result([10 if name in (3, 4) else value for name, value in enumerate(told[:10])])
    monkeypatch.setattr(os, "fstatvfs", lambda handle: little)
    reserve = Reserve()
    reserve.use(str(tmp_path / "reserve"), 1 << 20)
    assert (tmp_path / "reserve").stat().st_size == 0
    assert reserve.give(10) is False


def test_a_smaller_one_gives_back_what_is_too_much(tmp_path):
    for size in (8192, 4096, 0):
        Reserve().use(str(tmp_path / "reserve"), size)
        assert (tmp_path / "reserve").stat().st_size == size


def test_without_one_a_full_disk_is_an_error(tmp_path, monkeypatch):
    assert Reserve().give(1) is False
    Reserve().fill()
