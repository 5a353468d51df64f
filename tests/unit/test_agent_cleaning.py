"""Cleaning up on real directories: what goes, and what stays although it is in the way."""

import mmap
import os
import socket
import subprocess
import time
import types

import pytest

from opsapp.agent import cleanup, fileage, mounts
from opsapp.agent.cleanup import CleanableDirectory
from tests.support.fake_tools import Bench

LATER = 40 * 24 * 3600


@pytest.fixture(autouse=True)
def later(monkeypatch):
    """Forty days after the files of a test were made: nobody can give a file an older change time or birth."""
    monkeypatch.setattr(cleanup, "time", types.SimpleNamespace(time=lambda: time.time() + LATER))


def renew(path):
    """As if it had been written just now."""
    now = time.time() + LATER
    os.utime(path, (now, now), follow_symlinks=False)


def put(path, size=5000, old=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    if not old:
        renew(path)
    return path


def left(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir())


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A directory in which every place that is cleaned lies; nothing of this machine is one of them."""
    root = tmp_path / "host"
    monkeypatch.setattr(
        cleanup,
        "PLACES",
        {
            part: tuple(CleanableDirectory(f"{root}{place.path}", place.hours, place.wanted) for place in places)
            for part, places in cleanup.PLACES.items()
        },
    )
    put(root / "tmp/old")
    put(root / "tmp/young", old=False)
    put(root / "var/tmp/old")
    put(root / "var/cache/apt/archives/nginx.deb", old=False)
    put(root / "var/cache/apt/archives/lock", old=False)
    for name in ("syslog", "syslog.1", "syslog.2.gz", "mail.log"):
        put(root / "var/log" / name)
    put(root / "var/log/young.1", old=False)
    put(root / "var/lib/systemd/coredump/core.7")
    put(root / "var/crash/core.8")
    return root


KEPT = ["tmp/young", "var/cache/apt/archives/lock", "var/log/mail.log", "var/log/syslog", "var/log/young.1"]


def test_a_disk_is_cleaned_of_what_may_go_and_of_nothing_else(host, tmp_path, monkeypatch):
    put(tmp_path / "cache/deep/old")
    put(tmp_path / "data/old")
    monkeypatch.setattr(os.path, "ismount", lambda path: path == str(tmp_path))
    done = Bench(tmp_path, monkeypatch, {}).execute("disk_cleanup", mount=str(tmp_path))
    assert done.ran.status == "done", done
    assert left(host) == sorted([*KEPT, "var/crash/core.8"])
    assert left(tmp_path / "cache") == []
    assert left(tmp_path / "data") == ["old"]
    counts = dict(line.partition(" files, ")[0].split(": ") for line in done.ran.output.decode().splitlines())
    assert counts == {
        f"{host}/tmp": "1",
        f"{host}/var/tmp": "1",
        f"{host}/var/cache/apt/archives": "1",
        f"{host}/var/log": "2",
        f"{host}/var/lib/systemd/coredump": "1",
        f"{tmp_path}/cache": "1",
    }


def test_another_disk_and_what_is_no_disk_are_not_touched(host, tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {})
    before = left(host)
    refused = bench.execute("disk_cleanup", mount=str(host))
    assert (refused.ran.status, refused.ran.reason) == ("failed", f"{host} is no mount point")
    other = bench.phase("execute", "disk_cleanup", heal_id="h2", mount="/proc")  # nothing of it lies there
    assert other.ran.reason == "nothing_to_do: on /proc, there is no place that may be cleaned"
    assert left(host) == before


def test_storage_is_cleaned_part_by_part(host, tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"apt-get": "", "journalctl": "echo vacuumed", "podman": ""})
    done = bench.execute("storage_cleanup")
    assert done.ran.status == "done", done
    assert left(host) == sorted([*KEPT, "var/cache/apt/archives/nginx.deb"])  # the package manager's own affair
    assert bench.calls() == [["apt-get", "clean"], ["journalctl", "--vacuum-size=200M"]]
    assert b"journal: done\nvacuumed\n" in done.ran.output
    images = bench.phase("execute", "storage_cleanup", heal_id="h2", targets=["images"])
    assert images.ran.status == "done"
    assert bench.calls("podman")[-1] == ["podman", "image", "prune", "--force"]


@pytest.mark.parametrize(
    ("tools", "targets", "status", "said"),
    [
        ({"journalctl": "exit 1"}, ["journal", "logs"], "failed", "journal: exit code 1"),
        ({}, ["packages", "journal", "images"], "done", "nothing to clean"),
        ({"apk": ""}, ["packages"], "done", "packages: done"),
        (
            {},
            ["logs", "attic"],
            "failed",
            "unknown targets attic; known are temp, logs, cores, packages, journal, images",
        ),
    ],
)
def test_a_part_that_cannot_be_cleaned_is_told(host, tools, targets, status, said, tmp_path, monkeypatch):
    done = Bench(tmp_path, monkeypatch, tools).execute("storage_cleanup", targets=targets)
    assert done.ran.status == status
    assert said in done.ran.output.decode() + (done.ran.reason or "")
    assert ("syslog.1" in os.listdir(host / "var/log")) == ("logs" not in targets or "attic" in targets)


# ---- one directory
@pytest.fixture
def place(tmp_path):
    made = tmp_path / "spool" / "tmp"
    made.mkdir(parents=True)
    return made


def test_only_old_plain_files_of_this_place_go(place, tmp_path, monkeypatch):
    outside = put(tmp_path / "outside/old")
    for name in ("old", "deep/er/old", "fresh"):
        put(place / name, old=name != "fresh")
    put(place / "read")
    os.utime(place / "read", (time.time() + LATER, time.time()))  # written long ago, read just now
    os.link(put(place / "twice"), tmp_path / "its other name")
    os.symlink(outside, place / "link")
    os.symlink(outside.parent, place / "door")
    put(place / "systemd-private-1/tmp/old")
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(str(place / "socket"))
        done = Bench(tmp_path, monkeypatch, {}).execute("temp_cleanup", path=str(place), max_age_hours=24)
    assert done.ran.output.decode().startswith(f"{place}: 2 files, ")
    assert left(place) == ["fresh", "link", "read", "socket", "systemd-private-1/tmp/old", "twice"]
    assert (place / "deep/er").is_dir()
    assert (place / "door").is_symlink()
    assert outside.exists()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/etc", "not_allowed: /etc is not a place for temporary files"),
        ("{place}/../..", "not_allowed: {place} is not a place for temporary files"),
        ("{place}/none", "there is no directory {place}/none"),
    ],
)
def test_only_a_place_for_temporary_files_is_cleaned(place, path, reason, tmp_path, monkeypatch):
    monkeypatch.setattr(cleanup, "TEMPORARY", {"spool"} if "none" in path else set())
    refused = Bench(tmp_path, monkeypatch, {}).execute("temp_cleanup", path=path.format(place=place))
    wanted = reason.format(place=os.path.realpath(path.format(place=place)).removesuffix("/none"))
    assert (refused.ran.status, refused.ran.reason) == ("failed", wanted)


def test_a_door_that_leads_out_is_no_temporary_place(place, tmp_path, monkeypatch):
    put(tmp_path / "data/old")
    os.symlink(tmp_path / "data", place / "door")
    monkeypatch.setattr(cleanup, "TEMPORARY", {"spool"})
    refused = Bench(tmp_path, monkeypatch, {}).execute("temp_cleanup", path=str(place / "door"))
    assert refused.ran.reason.startswith("not_allowed: ")
    assert left(tmp_path / "data") == ["old"]


def test_what_may_not_be_looked_at_or_removed_does_not_end_the_cleaning(place, tmp_path, monkeypatch):
    """Where the agent is not root: a directory that may be listed and no more, and files of somebody else's."""
    for name in ("a/closed", "b/kept", "c/old"):
        put(place / name)
    stat, unlink = os.stat, os.unlink

    def refuse(call, name):
        def called(path, *args, **more):
            if path == name:
                raise PermissionError(13, "Permission denied", path)
            return call(path, *args, **more)

        return called

    monkeypatch.setattr(os, "stat", refuse(refuse(stat, "closed"), "a"))
    monkeypatch.setattr(os, "unlink", refuse(unlink, "kept"))
    found = cleanup._sweep(str(place), 24, cleanup._any, set())
    monkeypatch.undo()
    assert found[:2] == (str(place), 1)
    assert left(place) == ["a/closed", "b/kept"]


# ---- how old a file is, and who uses it
def test_a_copy_with_the_times_of_its_original_is_as_young_as_it_is(place, tmp_path, monkeypatch):
    monkeypatch.undo()
    original, long_ago = put(tmp_path / "original"), time.time() - LATER
    os.utime(original, (long_ago, long_ago))
    subprocess.run(["cp", "--preserve", original, place / "copy"], check=True)
    os.utime(place / "copy", (long_ago, long_ago))
    assert (place / "copy").stat().st_mtime == pytest.approx(long_ago)
    done = Bench(tmp_path, monkeypatch, {}).execute("temp_cleanup", path=str(place))
    assert (done.ran.status, left(place)) == ("done", ["copy"])


def test_a_birth_counts_where_it_is_known(place, monkeypatch):
    path = put(place / "file")
    handle = os.open(place, os.O_RDONLY)
    try:
        born = fileage.birth("file", handle)
        assert born is None or abs(born - path.stat().st_ctime) < 60
        assert fileage.birth("none", handle) is None
        about = path.stat()
        for known, wanted in ((about.st_ctime + 99, about.st_ctime + 99), (None, about.st_ctime)):
            monkeypatch.setattr(fileage, "birth", lambda name, at, known=known: known)
            assert fileage.newest(about, "file", handle) == pytest.approx(wanted, abs=1)
    finally:
        os.close(handle)


def test_without_statx_the_change_time_has_to_do(place, monkeypatch):
    put(place / "file")
    monkeypatch.setattr(fileage, "_statx", lambda: None)
    handle = os.open(place, os.O_RDONLY)
    try:
        assert fileage.birth("file", handle) is None
    finally:
        os.close(handle)


def test_what_a_process_holds_open_stays(place, tmp_path, monkeypatch):
    for name in ("open", "mapped", "old"):
        put(place / name)
    with open(place / "open", "rb"), open(place / "mapped", "rb") as file:
        kept = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        file.close()
        done = Bench(tmp_path, monkeypatch, {}).execute("temp_cleanup", path=str(place))
        kept.close()
    assert (done.ran.status, left(place)) == ("done", ["mapped", "open"] if os.geteuid() == 0 else ["open"])


@pytest.mark.parametrize(("asked", "days", "kept"), [(24, 29, True), (24, 31, False), (8760, 31, True)])
def test_var_tmp_keeps_what_is_younger_than_thirty_days(host, tmp_path, monkeypatch, asked, days, kept):
    monkeypatch.setattr(cleanup, "time", types.SimpleNamespace(time=lambda: time.time() + days * 86400))
    path = put(host / "var/tmp/deep/file")
    Bench(tmp_path, monkeypatch, {}).execute("temp_cleanup", path=str(path.parent), max_age_hours=asked)
    assert path.exists() == kept


# ---- the mount that an event is about
class Disks:
    """Directories of a test that pass for file systems of their own."""

    def __init__(self, monkeypatch, *paths):
        self.paths = sorted(map(str, paths), key=len)
        monkeypatch.setattr(os.path, "ismount", lambda path: str(path) in self.paths)
        for module in (mounts, cleanup):
            monkeypatch.setattr(module, "lies_on", self.lies_on)

    def of(self, path):
        return next((disk for disk in reversed(self.paths) if f"{path}/".startswith(f"{disk}/")), "/")

    def lies_on(self, path, mount):
        return os.path.exists(path) and (mount is None or self.of(path) == self.of(mount))


@pytest.fixture
def data(host, tmp_path, monkeypatch):
    """A disk for data beside that of the host; nothing but what a test puts there is on it."""
    made = tmp_path / "data"
    made.mkdir()
    Disks(monkeypatch, host, made)
    return made


STEPS = ("temp_cleanup", "journal_vacuum", "log_rotate", "storage_cleanup")
TOOLS = {
    "journalctl": "",
    "apt-get": "",
    "logrotate": """case "$2" in
--debug) echo 'considering log {log}';;
esac""",
}


def tools(log):
    return {name: script.replace("{log}", str(log)) for name, script in TOOLS.items()}


def test_steps_have_nothing_to_do_on_a_disk_for_data_and_say_so(host, data, tmp_path, monkeypatch):
    put(data / "precious")
    before = left(host)
    bench = Bench(tmp_path, monkeypatch, tools(host / "var/log/syslog"))
    for name in STEPS:
        ran = bench.phase("execute", name, heal_id=name, mount=str(data)).ran
        assert (ran.status, ran.reason.startswith(f"nothing_to_do: on {data}, ")) == ("failed", True), (name, ran)
    assert (left(host), left(data)) == (before, ["precious"])
    assert bench.calls("journalctl", "apt-get") == []
    assert [argv[1] for argv in bench.calls("logrotate")] == ["--debug"]


def test_steps_act_on_the_mount_that_is_full(host, data, tmp_path, monkeypatch):
    for name in ("tmp/old", "app/log"):
        put(data / name)
    before = left(host)
    bench = Bench(tmp_path, monkeypatch, tools(data / "app/log"))
    monkeypatch.setattr(mounts, "JOURNALS", (str(data / "app"),))
    for name in ("temp_cleanup", "journal_vacuum", "log_rotate"):
        assert bench.phase("execute", name, heal_id=name, mount=str(data)).ran.status == "done", name
    put(data / "tmp/again")
    done = bench.phase("execute", "storage_cleanup", heal_id="s", mount=str(data))
    assert (done.ran.status, "packages: nothing_to_do" in done.ran.output.decode()) == ("done", True), done
    assert (left(data), left(host)) == (["app/log"], before)
    assert [argv[1] for argv in bench.calls("journalctl")] == ["--rotate", "--vacuum-size=200M", "--vacuum-size=200M"]
    assert ["logrotate", "--force", "/etc/logrotate.conf"] in bench.calls("logrotate")


def test_a_directory_on_another_mount_is_not_cleaned_for_this_one(host, data, tmp_path, monkeypatch):
    done = Bench(tmp_path, monkeypatch, {}).execute("temp_cleanup", path=str(host / "tmp"), mount=str(data))
    assert done.ran.reason.startswith("nothing_to_do: ")
    assert "tmp/old" in left(host)


@pytest.mark.parametrize("name", STEPS)
def test_what_is_no_mount_is_told(host, data, tmp_path, monkeypatch, name):
    put(data / "deep/file")
    done = Bench(tmp_path, monkeypatch, tools(host / "var/log/syslog")).execute(name, mount=str(data / "deep"))
    assert (done.ran.status, done.ran.reason) == ("failed", f"{data}/deep is no mount point")


def test_a_cache_of_the_system_is_no_temporary_place(monkeypatch):
    monkeypatch.setattr(os.path, "isdir", lambda path: True)
    monkeypatch.setattr(cleanup, "lies_on", lambda path, mount: True)
    assert [place.path for place in cleanup._of_its_own("/var")] == [
        f"/var/{name}" for name in (".cache", ".tmp", "spool-tmp", "temp", "var-tmp")
    ]


def test_images_are_removed_only_where_they_lie(data, tmp_path, monkeypatch):
    (data / "store").mkdir()
    bench = Bench(tmp_path, monkeypatch, {"podman": f'case "$2" in info) echo {data}/store;; esac'})
    done = bench.execute("storage_cleanup", mount=str(data), targets=["images"])
    assert (done.ran.status, bench.calls("podman")[-1][1:]) == ("done", ["image", "prune", "--force"])
    other = bench.phase("execute", "storage_cleanup", heal_id="h2", mount=str(tmp_path / "host"), targets=["images"])
    assert other.ran.reason.startswith("nothing_to_do: ")
