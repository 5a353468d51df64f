"""File systems, certificates, compose projects and backups, and snapshots of what only has to be told."""

import os
import shutil
import tarfile

import pytest

from opsapp.agent import backups, disks, storage
from opsapp.agent.local import read_backups, read_certificates
from tests.support.certificates import Authority
from tests.support.fake_tools import Bench

# A subvolume is a directory here; a snapshot of it is a copy.
BTRFS = """case "$2 $3" in
"subvolume show") test -d "$4" && test ! -e "$4.plain";;
"subvolume snapshot") test ! -e "$4.broken" && cp -r "$4" "$5";;
esac"""


# ---- btrfs
@pytest.fixture
def subvolume(tmp_path, monkeypatch):
    for name, text in (("home", "now"), ("daily", "before")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(text)
    return tmp_path / "home", Bench(tmp_path, monkeypatch, {"btrfs": BTRFS})


@pytest.mark.parametrize("beside", [True, False])
def test_a_subvolume_is_replaced_and_what_was_there_is_kept(subvolume, beside):
    home, bench = subvolume
    named = "daily" if beside else str(home.parent / "daily")
    done = bench.execute("snapshot_rollback", target=f"{home}/", snapshot=named)
    assert done.ran.status == "done", done
    assert (home / "file").read_text() == "before"
    kept = list(home.parent.glob("home.before-*"))
    assert [(path / "file").read_text() for path in kept] == ["now"]
    assert str(kept[0]) in done.ran.output.decode()


@pytest.mark.parametrize(
    ("mark", "reason"), [("daily.plain", "daily is no btrfs snapshot"), ("daily.broken", "what was there is back")]
)
def test_a_subvolume_that_cannot_be_replaced_stays(subvolume, mark, reason):
    home, bench = subvolume
    (home.parent / mark).touch()
    failed = bench.execute("snapshot_rollback", target=str(home), snapshot="daily")
    assert failed.ran.status == "failed"
    assert failed.ran.reason.endswith(reason)
    assert (home / "file").read_text() == "now"
    assert not list(home.parent.glob("home.before-*"))


def test_a_subvolume_in_use_is_not_replaced(subvolume, monkeypatch):
    home, bench = subvolume
    table = f"proc /proc proc rw 0 0\n/dev/sda1 {str(home).replace(' ', chr(92) + '040')} btrfs rw 0 0\n"
    monkeypatch.setattr(disks, "maybe", lambda path: table if path == "/proc/self/mounts" else None)
    refused = bench.execute("snapshot_rollback", target=str(home), snapshot="daily")
    assert refused.ran.reason == f"{home} is mounted: a subvolume in use cannot be replaced"
    assert (home / "file").read_text() == "now"


# ---- file system checks
@pytest.mark.parametrize("forced", [True, False])
def test_a_check_at_the_next_boot_is_marked_and_taken_back_unless_it_was_there(forced, tmp_path, monkeypatch):
    mark = tmp_path / "forcefsck"
    monkeypatch.setattr(storage, "FORCE_FSCK", str(mark))
    if forced:
        mark.touch()
    bench = Bench(tmp_path, monkeypatch, {"fsck": ""})
    done = bench.execute("fsck_schedule")
    assert (done.ran.status, done.data["snapshot"]["state"], mark.exists()) == ("done", {"forced": forced}, True)
    back = bench.phase("rollback", "fsck_schedule", given=done.data["snapshot"])
    assert (back.ran.status, back.data["restored"], mark.exists()) == ("done", True, forced)


# ---- certificates
def certified(tmp_path, monkeypatch, renew):
    """A host whose certificate for ops.example is renewed by a program of the operator's."""
    now, _key = Authority(tmp_path).issue("ops.example")
    program = tmp_path / "renew"
    program.write_text(f"#!/bin/sh\n{renew}\n")
    program.chmod(0o755)
    table = {"ops.example": {"file": now, "run": [str(program), now]}}
    return now, Bench(tmp_path, monkeypatch, {}, certificates=read_certificates(table))


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl program")
def test_a_certificate_is_renewed_only_when_its_file_changes(tmp_path, monkeypatch):
    file, bench = certified(tmp_path, monkeypatch, '[ -e "$1.same" ] || echo renewed >> "$1"')
    done = bench.execute("cert_renew", domain="ops.example")
    assert done.ran.status == "done", done
    state = done.data["snapshot"]["state"]
    assert (state["file"], "notAfter=" in state["says"], "serial=" in state["says"]) == (file, True, True)
    open(f"{file}.same", "w").close()
    same = bench.phase("execute", "cert_renew", heal_id="h2", domain="ops.example")
    assert (same.ran.status, same.ran.reason) == ("failed", f"{file} is the same as before")


def test_a_renewal_that_fails_says_so_itself(tmp_path, monkeypatch):
    _file, bench = certified(tmp_path, monkeypatch, "echo no account; exit 3")
    failed = bench.execute("cert_renew", domain="ops.example")
    assert (failed.ran.status, failed.ran.exit_code, failed.ran.output) == ("failed", 3, b"no account\n")


def test_a_certificate_that_nobody_can_read_is_not_recorded_but_renewed(tmp_path, monkeypatch):
    file, bench = certified(tmp_path, monkeypatch, 'echo new > "$1"')
    os.unlink(file)
    done = bench.execute("cert_renew", domain="ops.example")
    assert (done.ran.status, done.data["snapshot"]) == ("done", None)
    assert done.data["snapshot_missing"].startswith(f"the certificate {file} cannot be read: ")


# ---- compose projects
PODMAN = """case "$2" in
ps) case "$*" in
  *com.docker*--format\\ json)
    echo '[{"Names": ["shop_web"], "State": "running"}, {"Names": ["shop_db"], "State": "exited"}]';;
  *podman.compose*--format\\ json) echo '[{"Names": ["shop_web"], "State": "running"}]';;
  *com.docker*=shop*Names*) echo shop_web; echo shop_db;;
  *podman.compose*=shop*Names*) echo shop_web;;
  esac;;
esac"""


def test_a_project_of_podman_is_restarted_container_by_container(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"podman": PODMAN})
    done = bench.execute("compose_restart", project="shop")
    assert done.ran.status == "done", done
    assert bench.calls("podman")[-1] == ["podman", "restart", "--", "shop_web", "shop_db"]
    assert done.data["snapshot"]["state"] == {
        "project": "shop",
        "containers": {"shop_web": "running", "shop_db": "exited"},
    }
    none = bench.phase("execute", "compose_restart", heal_id="h2", project="bakery")
    assert (none.ran.status, none.ran.reason) == ("failed", "podman has no containers of a project bakery")


# ---- what only has to be told
SHOW = "printf 'nginx\\t1.22\\ncurl\\t7.88\\n'"
TOLD = [
    ("package_security_patch", {}, {"apt-get": "", "dpkg-query": SHOW}, {"packages": ["nginx\t1.22", "curl\t7.88"]}),
    ("package_security_patch", {}, {"dnf": "", "rpm": SHOW}, {"packages": ["nginx\t1.22", "curl\t7.88"]}),
    ("package_security_patch", {}, {"zypper": "", "rpm": SHOW}, {"packages": ["nginx\t1.22", "curl\t7.88"]}),
    (
        "scheduled_task_repair",
        {"task": "nightly"},
        {"systemctl": "echo ActiveState=failed"},
        {"task": "nightly", "units": "ActiveState=failed"},
    ),
    (
        "vm_restart",
        {"vm_id": "vm7"},
        {"virsh": "echo State: running"},
        {"vm_id": "vm7", "by": "virsh", "says": "State: running"},
    ),
    (
        "vm_restart",
        {"vm_id": "107"},
        {"virsh": "exit 1", "qm": "echo status: running"},
        {"vm_id": "107", "by": "qm", "says": "status: running"},
    ),
    (
        "restart_service",
        {"service": "web"},
        {"rc-service": "echo started; exit 3"},
        {"service": "web", "status_code": 3, "status": "started"},
    ),
    (
        "compose_restart",
        {"project": "shop"},
        {"docker": """echo '{"Names": "web", "State": "running"}'"""},
        {"project": "shop", "containers": {"web": "running"}},
    ),
]


@pytest.mark.parametrize(
    ("action", "params", "tools", "state"), TOLD, ids=[f"{row[0]}-{'+'.join(row[2])}" for row in TOLD]
)
def test_where_things_stood_before(action, params, tools, state, tmp_path, monkeypatch):
    taken = Bench(tmp_path, monkeypatch, tools).phase("snapshot", action, **params)
    assert taken.data["snapshot"]["state"] == state


@pytest.mark.parametrize(
    ("action", "params", "why"),
    [
        ("package_security_patch", {}, "no package manager works here"),
        ("scheduled_task_repair", {"task": "nightly"}, "no service manager works here"),
        ("restart_service", {"service": "web"}, "no service manager works here"),
        ("vm_restart", {"vm_id": "vm7"}, "nobody here knows a virtual machine vm7"),
        ("compose_restart", {"project": "shop"}, "no container runtime works here"),
        ("trigger_backup", {"source": "nightly"}, "this agent's configuration has no backup 'nightly'"),
        ("container_pause", {"container": "web"}, "no container web was found"),
    ],
)
def test_what_cannot_be_recorded_says_why(action, params, why, tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"podman": "exit 1", "docker": "exit 1"})
    bench.host.capabilities.tools.clear()
    taken = bench.phase("snapshot", action, **params)
    assert (taken.data["snapshot"], taken.ran.reason) == (None, why)


def test_a_host_is_recorded_by_its_boot(tmp_path, monkeypatch):
    state = Bench(tmp_path, monkeypatch, {}).phase("snapshot", "host_reboot").data["snapshot"]["state"]
    with open("/proc/sys/kernel/random/boot_id") as file:
        assert state["boot_id"] == file.read().strip()
    assert state["uptime_s"] > 0


# ---- backups
def backed(tmp_path, monkeypatch, tools=None, **one):
    return Bench(tmp_path, monkeypatch, tools or {}, backups=read_backups({"nightly": one}))


def archive(path, text="x" * 100_000):
    source = path.parent / "source"
    source.write_text(text)
    with tarfile.open(path, "w:gz") as made:
        made.add(source, "source")
    return path


RESTIC = {"restic": "/srv/repo", "password_file": "/etc/restic.key", "paths": ["/srv"]}
RUNS = ["restic", "--repo", "/srv/repo", "--password-file", "/etc/restic.key"]


@pytest.mark.parametrize(
    ("one", "tools", "call"),
    [
        ({"files": "/none/*", "run": ["/bin/echo", "made"]}, {}, None),
        (
            {"files": "/none/*", "unit": "backup.service"},
            {"systemctl": ""},
            ["systemctl", "start", "--", "backup.service"],
        ),
        (RESTIC, {"restic": "echo '[]'"}, [*RUNS, "backup", "--", "/srv"]),
    ],
    ids=["run", "unit", "restic"],
)
def test_a_backup_is_made_by_what_the_operator_named(one, tools, call, tmp_path, monkeypatch):
    bench = backed(tmp_path, monkeypatch, tools, **one)
    done = bench.execute("trigger_backup", source="nightly")
    assert done.ran.status == "done", done
    assert (bench.calls()[-1] if call else done.ran.output) == (call or b"made\n")
    assert done.data["snapshot"]["state"]["age_hours"] > 24 * 365  # none yet


@pytest.mark.parametrize(
    ("action", "params", "one", "reason"),
    [
        (
            "trigger_backup",
            {"source": "nightly"},
            {"files": "/none/*"},
            "nothing says how the backup 'nightly' is made",
        ),
        ("trigger_backup", {"source": "weekly"}, {"files": "/none/*"}, "has no backup 'weekly' (it has: nightly)"),
        ("backup_verify", {"backup_set": "weekly"}, {"files": "/none/*"}, "has no backup 'weekly' (it has: nightly)"),
        (
            "backup_verify",
            {"backup_set": "nightly"},
            {"newest": ["/bin/echo", "5"]},
            "the backup 'nightly' is verified",
        ),
        ("backup_verify", {"backup_set": "nightly"}, {"files": "/none/*"}, "there is no backup at /none/*"),
    ],
)
def test_a_backup_that_nobody_knows_is_refused(action, params, one, reason, tmp_path, monkeypatch):
    refused = backed(tmp_path, monkeypatch, **one).execute(action, **params)
    assert refused.ran.status == "failed"
    assert reason in refused.ran.reason


def test_only_the_newest_archive_is_read_and_read_whole(tmp_path, monkeypatch):
    old = tmp_path / "old.tar.gz"
    old.write_bytes(b"rubbish")
    os.utime(old, (1000, 1000))
    new = archive(tmp_path / "new.tar.gz")
    bench = backed(tmp_path, monkeypatch, files=str(tmp_path / "*.tar.gz"))
    done = bench.execute("backup_verify", backup_set="nightly")
    assert done.ran.output.decode() == f"{new}: 1 entries were read whole\n"
    assert done.data["snapshot"]["state"]["age_hours"] < 1
    new.write_bytes(new.read_bytes()[:-200])
    cut = bench.phase("execute", "backup_verify", heal_id="h2", backup_set="nightly")
    assert (cut.ran.status, cut.ran.reason.startswith(f"{new} cannot be read: ")) == ("failed", True), cut


@pytest.mark.parametrize(
    ("name", "content", "status", "said"),
    [
        ("dump.sql", b"INSERT", "done", "was read whole"),
        ("dump.sql", b"", "failed", "is empty"),
        ("empty.tar", None, "failed", "holds nothing"),
        ("dump.sql.gz", b"INSERT", "failed", "not in gzip format"),
    ],
)
def test_each_kind_of_file_is_read_as_what_it_is(name, content, status, said, tmp_path, monkeypatch):
    path = tmp_path / "sets" / name
    path.parent.mkdir()
    if content is None:
        tarfile.open(path, "w").close()
    else:
        path.write_bytes(content)
    ran = backed(tmp_path, monkeypatch, files=f"{path.parent}/*").execute("backup_verify", backup_set="nightly").ran
    assert ran.status == status, ran
    assert said in (ran.reason or "") + ran.output.decode()


@pytest.mark.parametrize(
    ("one", "script", "call"),
    [({"files": "/none/*", "verify": ["/bin/echo", "fine"]}, "", None), (RESTIC, "echo '[]'", [*RUNS, "check"])],
    ids=["program", "restic"],
)
def test_a_backup_is_proved_by_what_the_operator_named(one, script, call, tmp_path, monkeypatch):
    bench = backed(tmp_path, monkeypatch, {"restic": script}, **one)
    done = bench.execute("backup_verify", backup_set="nightly")
    assert done.ran.status == "done", done
    assert (bench.calls("restic")[-1] if call else done.ran.output) == (call or b"fine\n")


@pytest.mark.parametrize(
    ("one", "script", "at"),
    [
        ({"newest": ["/bin/echo", "made at 1700000000.5"]}, "", 1700000000.5),
        ({"newest": ["/bin/echo", "never"]}, "", None),
        ({"newest": ["/bin/false"]}, "", None),
        (RESTIC, """echo '[{"time": "2026-01-02T03:04:05.123456789Z"}]'""", 1767323045.0),
        (RESTIC, "echo '[]'", 0.0),
        (RESTIC, "echo locked", None),
        (RESTIC, """echo '[{"when": 1}]'""", None),
        (RESTIC, "exit 1", None),
    ],
)
def test_how_old_the_newest_is_or_that_nobody_knows(one, script, at, tmp_path, monkeypatch):
    bench = backed(tmp_path, monkeypatch, {"restic": script}, **one)
    found = backups.newest_at(bench.config.backups["nightly"])
    assert found == at
    age = backups.age_hours(bench.config.backups["nightly"])
    assert (age is None) is (at is None)
