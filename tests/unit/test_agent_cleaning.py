"""Cleaning up on real directories: what goes, and what stays although it is in the way."""
import os
import socket
import time

import pytest

from opsapp.agent import cleaning
from opsapp.agent.cleaning import Place
from tests.support.fake_tools import Bench

OLD = 30 * 24 * 3600


def age(path, seconds=OLD):
    then = time.time() - seconds
    os.utime(path, (then, then), follow_symlinks=False)


def put(path, size=5000, old=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    if old:
        age(path)
    return path


def left(directory):
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if not path.is_dir())


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A directory in which every place that is cleaned lies; nothing of this machine is one of them."""
    root = tmp_path / "host"
    monkeypatch.setattr(cleaning, "PLACES", {
        part: tuple(Place(f"{root}{place.path}", place.hours, place.wanted) for place in places)
        for part, places in cleaning.PLACES.items()})
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
    assert counts == {f"{host}/tmp": "1", f"{host}/var/tmp": "1", f"{host}/var/cache/apt/archives": "1",
                      f"{host}/var/log": "2", f"{host}/var/lib/systemd/coredump": "1", f"{tmp_path}/cache": "1"}


def test_another_disk_and_what_is_no_disk_are_not_touched(host, tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {})
    before = left(host)
    refused = bench.execute("disk_cleanup", mount=str(host))
    assert (refused.ran.status, refused.ran.reason) == ("failed", f"{host} is no mount point")
    other = bench.phase("execute", "disk_cleanup", heal_id="h2", mount="/proc")    # nothing of it lies there
    assert (other.ran.status, other.ran.output) == ("done", b"nothing to clean\n")
    assert left(host) == before


def test_storage_is_cleaned_part_by_part(host, tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"apt-get": "", "journalctl": "echo vacuumed", "podman": ""})
    done = bench.execute("storage_cleanup")
    assert done.ran.status == "done", done
    assert left(host) == sorted([*KEPT, "var/cache/apt/archives/nginx.deb"])    # the package manager's own affair
    assert bench.calls() == [["apt-get", "clean"], ["journalctl", "--vacuum-size=200M"]]
    assert b"journal: done\nvacuumed\n" in done.ran.output
    images = bench.phase("execute", "storage_cleanup", heal_id="h2", targets=["images"])
    assert images.ran.status == "done"
    assert bench.calls("podman")[-1] == ["podman", "image", "prune", "--force"]


@pytest.mark.parametrize(("tools", "targets", "status", "said"), [
    ({"journalctl": "exit 1"}, ["journal", "logs"], "failed", "journal: exit code 1"),
    ({}, ["packages", "journal", "images"], "done", "nothing to clean"),
    ({"apk": ""}, ["packages"], "done", "packages: done"),
    ({}, ["logs", "attic"], "failed", "unknown targets attic; known are temp, logs, cores, packages, journal, images"),
])
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
    os.utime(place / "read", (time.time(), time.time() - OLD))    # written long ago, read just now
    os.link(put(place / "twice"), tmp_path / "its other name")
    os.symlink(outside, place / "link")
    age(place / "link")
    os.symlink(outside.parent, place / "door")
    put(place / "systemd-private-1/tmp/old")
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(str(place / "socket"))
        age(place / "socket")
        done = Bench(tmp_path, monkeypatch, {}).execute("temp_cleanup", path=str(place), max_age_hours=24)
    assert done.ran.output.decode().startswith(f"{place}: 2 files, ")
    assert left(place) == ["fresh", "link", "read", "socket", "systemd-private-1/tmp/old", "twice"]
    assert (place / "deep/er").is_dir()
    assert (place / "door").is_symlink()
    assert outside.exists()


@pytest.mark.parametrize(("path", "reason"), [
    ("/etc", "not_allowed: /etc is not a place for temporary files"),
    ("{place}/../..", "not_allowed: {place} is not a place for temporary files"),
    ("{place}/none", "there is no directory {place}/none"),
])
def test_only_a_place_for_temporary_files_is_cleaned(place, path, reason, tmp_path, monkeypatch):
    monkeypatch.setattr(cleaning, "TEMPORARY", {"spool"} if "none" in path else set())
    refused = Bench(tmp_path, monkeypatch, {}).execute("temp_cleanup", path=path.format(place=place))
    wanted = reason.format(place=os.path.realpath(path.format(place=place)).removesuffix("/none"))
    assert (refused.ran.status, refused.ran.reason) == ("failed", wanted)


def test_a_door_that_leads_out_is_no_temporary_place(place, tmp_path, monkeypatch):
    put(tmp_path / "data/old")
    os.symlink(tmp_path / "data", place / "door")
    monkeypatch.setattr(cleaning, "TEMPORARY", {"spool"})
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
    found = cleaning._sweep(str(place), 24, cleaning._any)
    monkeypatch.undo()
    assert found[:2] == (str(place), 1)
    assert left(place) == ["a/closed", "b/kept"]
