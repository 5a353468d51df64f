"""Heal actions by the real agent on a real Debian host: each does what it says; what can be reversed is brought back.

tests/unit/test_agent_ways.py has what no such host offers; docs/guide/actions.md says which is which."""

import pytest

from tests.fleet import care
from tests.fleet.lab.machine import run as outside
from tests.support.waiting import until

COUNT = "Restart=no\nExecStartPre=/bin/sh -c 'echo %n >> /root/starts'"


def test_services(box):
    box.unit("need.service", f"[Service]\n{COUNT}\nExecStart=/bin/sleep infinity\n")
    box.unit(
        "main.service",
        f"[Unit]\nRequires=need.service\nAfter=need.service\n[Service]\n{COUNT}\nExecStart=/bin/sleep infinity\n",
    )
    box.sh("systemctl start main; systemctl kill -s KILL main")
    until(lambda: box.sh("systemctl is-failed main || true") == "failed")
    assert box.do("service_reset_failed", service="main")["data"]["snapshot"]["state"]["ActiveState"] == "failed"
    assert box.sh("systemctl is-active main || true") == "inactive"
    box.do("restart_service", service="main")
    assert box.sh("systemctl is-active main") == "active"
    box.sh("rm /root/starts")
    box.do("service_dependency_restart", service="main")
    assert box.sh("cat /root/starts").split() == ["need.service", "main.service"]
    box.unit("need.service", "[Service]\nRestart=no\nExecStart=/bin/false\nType=oneshot\n")
    assert box.heal("execute", "service_dependency_restart", "main.1", service="main")["status"] == "failed"
    before = box.sh("systemctl show -p ExecMainStartTimestamp nginx")
    box.do("service_reload", service="nginx")
    assert box.sh("systemctl show -p ExecMainStartTimestamp nginx") == before


def test_a_timer_that_is_dead_runs_again(box):
    box.unit("nightly.service", "[Service]\nType=oneshot\nExecStart=/bin/false\n")
    box.unit("nightly.timer", "[Timer]\nOnCalendar=*-*-* 03:00\n[Install]\nWantedBy=timers.target\n")
    box.sh("systemctl start nightly || true")
    box.do("scheduled_task_repair", task="nightly")
    assert box.sh("systemctl is-active nightly.timer; systemctl is-enabled nightly.timer").split() == [
        "active",
        "enabled",
    ]
    assert box.sh("systemctl is-failed nightly.service || true") == "inactive"


def test_processes(box):
    box.sh("setsid -f sleep 1000 > /dev/null 2>&1")
    pid = int(until(lambda: box.sh("pgrep -of '^sleep 1000' || true"), what="the process"))
    before = box.sh(f"ps -o ni= -p {pid}")
    done = box.do("nice_adjust", pid=pid, priority=12)
    assert box.sh(f"ps -o ni= -p {pid}") == "12"
    box.undo("nice_adjust", done, pid=pid)
    assert box.sh(f"ps -o ni= -p {pid}") == before
    box.do("process_kill", pid=pid)
    assert box.sh(f"ps -o pid= -p {pid} || true") == ""


THREADS = "import threading, time\nfor _ in range(4):\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n"


def test_all_threads_of_a_process_get_the_priority(box):
    box.host.write("/opt/threads.py", THREADS)
    box.sh("setsid -f python3 /opt/threads.py > /dev/null 2>&1")
    pid = int(until(lambda: box.sh("pgrep -of '^python3 /opt/threads' || true"), what="the process"))
    until(lambda: len(box.sh(f"ls /proc/{pid}/task").split()) == 5, what="its threads")
    before = box.sh(f"ps -o ni= -p {pid}")
    done = box.do("nice_adjust", pid=pid, priority=12)
    assert box.sh(f"ps -L -o ni= -p {pid}").split() == ["12"] * 5
    box.undo("nice_adjust", done, pid=pid)
    assert box.sh(f"ps -L -o ni= -p {pid}").split() == [before] * 5
    box.sh(f"kill {pid}")


@pytest.mark.parametrize("top", ["memory", "cpu"])
def test_the_one_on_top_is_never_a_protected_one(box, top):
    """A protected process leads in both; the second is taken."""
    box.host.write("/opt/burn.py", "import sys\nkeep = bytearray(b'x') * (int(sys.argv[1]) << 20)\nwhile True: pass\n")
    box.sh("cp /usr/bin/python3 /opt/postgres; cp /usr/bin/python3 /opt/eager")
    box.sh(
        "setsid -f nice -n 0 /opt/postgres /opt/burn.py 120 > /dev/null 2>&1;"
        " setsid -f nice -n 5 /opt/eager /opt/burn.py 60 > /dev/null 2>&1"
    )
    try:
        held = lambda: [int(kb) for kb in box.sh("ps -o rss= -C postgres,eager || true").split()]  # noqa: E731
        until(lambda: len(held()) == 2 and min(held()) > 60 << 10, what="both holding their memory")
        done = box.do("process_kill", top=top)
        assert done["data"]["snapshot"]["state"]["name"] == "eager"
        assert box.sh("pgrep -x eager || true") == ""
        assert box.sh("pgrep -x postgres") != ""
        refused = box.heal("execute", "process_kill", f"protected.{top}", pid=int(box.sh("pgrep -x postgres")))
        assert (refused["status"], "protected" in refused["reason"]) == ("failed", True)
    finally:
        box.sh("pkill -x postgres; pkill -x eager; true")


@pytest.mark.parametrize("service", ["ssh", "sshd", "postgresql@15-main", "dbus", "opsapp-agent"])
def test_protected_services_are_refused_on_the_host(box, service):
    before = box.sh(f"systemctl show -p MainPID {service}")
    for action in ("restart_service", "service_dependency_restart"):
        refused = box.heal("execute", action, f"{action}.{service.replace('@', '.')}", service=service)
        assert (refused["status"], refused["reason"].partition(":")[0]) == ("failed", "protected")
    assert box.sh(f"systemctl show -p MainPID {service}") == before


def test_a_service_is_protected_by_what_it_runs(box):
    box.sh("cp /bin/sleep /opt/redis-server")
    box.unit("cache.service", "[Service]\nExecStart=/opt/redis-server infinity\n")
    box.sh("systemctl start cache")
    refused = box.heal("execute", "restart_service", "by-process", service="cache")
    assert refused["reason"] == "protected: the service cache runs redis-server"


@pytest.mark.nightly("starts containers")
def test_containers(box):
    def state():
        return box.sh("podman inspect -f '{{.State.Status}} {{.Id}}' web").split()

    _, first = state()
    done = box.do("container_pause", container="web")
    assert state() == ["paused", first]
    box.undo("container_pause", done)
    assert state() == ["running", first]
    box.sh("podman kill web")
    box.do("restart_container", container="web")
    assert state() == ["running", first]
    done = box.do("scale_container", container="web", mem_limit="64m")
    pid = box.sh("podman inspect -f '{{.State.Pid}}' web")
    limit = (
        f"cat /sys/fs/cgroup/memory$(grep :memory: /proc/{pid}/cgroup | cut -d: -f3)/memory.limit_in_bytes"
        f" 2>/dev/null || cat /sys/fs/cgroup$(grep ^0:: /proc/{pid}/cgroup | cut -d: -f3)/memory.max"
    )
    assert box.sh(limit) == str(64 << 20)
    box.undo("scale_container", done)
    assert box.sh(limit) != str(64 << 20)
    box.do("container_recreate", container="web")
    assert state()[0] == "running"
    assert state()[1] != first
    started = box.sh("podman inspect -f '{{.State.StartedAt}}' web")
    assert box.do("compose_restart", project="shop")["data"]["snapshot"]["state"]["containers"]["web"] == "running"
    assert box.sh("podman inspect -f '{{.State.StartedAt}}' web") != started


def test_cleaning(box):
    with care.old_disk(box.host, "/mnt/tmp", ("a/x", 1), ("a/held", 1), ("b/source", 1)):
        box.sh("cp -p /mnt/tmp/b/source /mnt/tmp/a/copy; setsid -f sleep 4711 < /mnt/tmp/a/held > /dev/null 2>&1")
        until(lambda: box.sh("pgrep -x -f 'sleep 4711' || true"), what="the process that holds a file open")
        box.do("temp_cleanup", path="/mnt/tmp")
        assert box.sh("ls /mnt/tmp/a").split() == ["copy", "held"]
        box.sh("pkill -x -f 'sleep 4711'")
        until(lambda: not box.sh("pgrep -x -f 'sleep 4711' || true"), what="its end")
        box.do("temp_cleanup", mount="/mnt/tmp", path="/mnt/tmp")
        assert box.sh("ls /mnt/tmp/a").split() == ["copy"]
        idle = box.heal("execute", "journal_vacuum", "elsewhere", mount="/mnt/tmp")
        assert idle["reason"] == "nothing_to_do: on /mnt/tmp, no journal lies there"
    box.sh("touch /var/cache/apt/archives/x.deb; mkdir -p /tmp/a; echo x > /tmp/a/young")
    box.do("disk_cleanup", mount="/")
    assert box.sh("ls /tmp/a; ls /var/cache/apt/archives | grep deb || true") == "young"
    box.sh("touch /var/cache/apt/archives/y.deb")
    box.do("package_cache_clean")
    assert box.sh("ls /var/cache/apt/archives | grep deb || true") == ""
    box.host.write("/etc/logrotate.d/lab", "/var/log/lab.log { rotate 2\n missingok }\n")
    box.host.write("/var/log/lab.log", "line\n")
    box.do("log_rotate")
    assert box.sh("cat /var/log/lab.log.1") == "line"
    box.sh("logger -t lab hello; journalctl --sync")
    box.do("journal_vacuum", max_size="1M")
    box.do("storage_cleanup", targets=["temp", "logs", "journal"])


def test_caches_of_the_kernel_are_dropped(box):
    box.sh("mount -o remount,rw,bind /proc/sys")  # the lab has it read-only
    try:
        assert box.do("clear_cache")["data"]["snapshot"]["state"]["MemTotal"] > 0
        box.do("memory_pressure_relief")
    finally:
        box.sh("mount -o remount,ro,bind /proc/sys")


def test_packages_and_shells(box):
    box.do("package_security_patch")
    assert box.do("run", command="echo a | tr a b")["output"] == "b\n"
    assert box.do("agent_command", command="exit 0")["exit_code"] == 0


def test_a_reboot_is_scheduled_and_can_be_called_off(box):
    box.do("host_reboot")
    assert "reboot" in box.sh("cat /run/systemd/shutdown/scheduled")
    box.sh("shutdown -c")


def test_a_certificate_is_renewed_by_the_operators_program(box):
    box.sh("/usr/local/bin/renew", timeout=60)
    before = box.sh("openssl x509 -noout -serial -in /root/ops.pem")
    done = box.do("cert_renew", domain="ops.example")
    assert before in done["data"]["snapshot"]["state"]["says"]
    assert box.sh("openssl x509 -noout -serial -in /root/ops.pem") != before
    box.host.write("/usr/local/bin/renew", "#!/bin/sh\nexit 0\n", 0o755)
    idle = box.heal("execute", "cert_renew", "idle", domain="ops.example")
    assert idle["reason"] == "/root/ops.pem is the same as before"


def test_backups_are_made_and_proved(box):
    box.sh("mkdir -p /root/backup")
    box.do("trigger_backup", source="home")
    assert "2 entries" in box.do("backup_verify", backup_set="home")["output"]
    box.sh(
        "head -c 60 /root/backup/new.tar.gz > /root/backup/cut.tar.gz; touch -d 'now + 1 min' /root/backup/cut.tar.gz"
    )
    broken = box.heal("execute", "backup_verify", "broken", backup_set="home")
    assert (broken["status"], "cannot be read" in broken["reason"]) == ("failed", True)
    unknown = box.heal("execute", "trigger_backup", "unknown", source="nobody")
    assert unknown["reason"].startswith("no_capable_handler: this agent's configuration has no backup 'nobody'")


def test_a_file_system_check_is_scheduled_and_called_off(box):
    done = box.do("fsck_schedule")
    assert box.sh("ls /forcefsck") == "/forcefsck"
    box.undo("fsck_schedule", done)
    assert box.sh("ls /forcefsck 2>/dev/null || true") == ""


def test_btrfs_is_scrubbed_and_rolled_back(box):
    image = box.host.dir / "btrfs.img"
    image.write_bytes(b"")
    outside("truncate", "-s", "120M", image)
    device = outside("losetup", "--find", "--show", image).stdout.strip()
    try:
        number = device.removeprefix("/dev/loop")
        box.sh(
            f"mknod -m 600 {device} b 7 {number} 2>/dev/null; mkfs.btrfs -q {device}; mkdir -p /mnt/pool;"
            f" mount {device} /mnt/pool; cd /mnt/pool; btrfs subvolume create data; echo good > data/file;"
            " btrfs subvolume snapshot -r data daily; echo bad > data/file"
        )
        box.do("btrfs_scrub", mount="/mnt/pool")
        until(lambda: "finished" in box.sh("btrfs scrub status /mnt/pool"), 30)
        box.do("snapshot_rollback", target="/mnt/pool/data", snapshot="daily")
        assert box.sh("cat /mnt/pool/data/file; cat /mnt/pool/data.before-*/file").split() == ["good", "bad"]
        box.sh("echo more >> /mnt/pool/data/file")
    finally:
        box.sh("umount /mnt/pool; true")
        outside("losetup", "--detach", device)
