"""Native steps on processes, units and memory: on real processes, which are nobody's children here."""

import contextlib
import os
import pathlib
import signal
import subprocess

import pytest

from opsapp.agent import native
from opsapp.agent.guard import lives
from opsapp.agent.processes import Cancel, start_time
from opsapp.agent.snapshots import snapshot_of
from opsapp.wire.actionparams import HealParams
from tests.support.fake_tools import Bench
from tests.support.waiting import until

IDLE = "while :; do sleep 1; done"


@pytest.fixture
def bench(tmp_path, monkeypatch):
    return Bench(tmp_path, monkeypatch, {})


@pytest.fixture
def stray(tmp_path):
    """Starts a shell that the agent has not started: its parent is gone. The fixture's end takes the group with it."""
    groups = []

    def start(script=IDLE):
        ready = tmp_path / f"ready{len(groups)}"
        shell = ["setsid", "sh", "-c", f"{script.replace('while', f': > {ready}; while', 1)}"]
        launcher = subprocess.run(
            ["sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", *shell], stdout=subprocess.PIPE, check=True
        )
        pid = int(launcher.stdout)
        groups.append(pid)
        until(ready.exists, what="the process")
        return pid

    yield start
    for pid in groups:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def test_a_process_that_minds_term_ends_by_it(bench, stray):
    pid = stray()
    began = start_time(pid)
    done = bench.execute("process_kill", pid=pid)
    assert done.ran.status == "done", done
    assert done.ran.output.decode().strip() in (
        f"sh ({pid}) ended after TERM",
        f"dash ({pid}) ended after TERM",
        f"bash ({pid}) ended after TERM",
    )
    assert not lives(pid, began)


def test_a_process_that_does_not_mind_term_is_killed(bench, stray, monkeypatch):
    monkeypatch.setattr(native, "TERM_WAIT_S", 0.2)
    pid = stray("trap '' TERM; " + IDLE)
    began = start_time(pid)
    done = bench.execute("process_kill", pid=pid)
    assert (done.ran.status, done.ran.output.decode().endswith("ended after KILL\n")) == ("done", True), done
    until(lambda: not lives(pid, began), what="its end")


def test_another_process_with_the_same_number_is_left_alone(bench, stray):
    pid = stray()
    before = bench.phase("snapshot", "process_kill", pid=pid).data["snapshot"]
    before["state"]["started"] -= 1
    bench.healer._snapshots.save("h1", snapshot_of(before))
    refused = bench.execute("process_kill", pid=pid)
    assert (refused.ran.status, refused.ran.reason) == ("failed", "the process is gone")
    assert lives(pid, start_time(pid))


def test_a_process_that_is_not_there_has_no_snapshot_and_so_no_kill(bench):
    refused = bench.execute("process_kill", pid=2**22)  # the kernel gives smaller numbers only
    assert (refused.ran.status, refused.ran.reason) == ("failed", "no_snapshot: there is no such process")


def test_a_cancelled_kill_waits_no_longer_and_does_not_kill(bench, stray):
    pid = stray("trap '' TERM; " + IDLE)
    taken = bench.phase("snapshot", "process_kill", pid=pid).data["snapshot"]["state"]
    cancel = Cancel()
    cancel("cancelled by vera")
    ran = native.kill_process(
        native.Context(
            HealParams(pid=pid),
            taken,
            bench.host.capabilities,
            cancel,
            float("inf"),
            bench.host.protected,
            bench.config,
            lambda group: None,
        )
    )
    cancel.close()
    assert (ran.status, ran.reason) == ("cancelled", "cancelled by vera")
    assert lives(pid, start_time(pid))


def test_a_priority_is_lowered_and_what_the_kernel_refuses_is_told(bench, stray):
    pid = stray()
    before = os.getpriority(os.PRIO_PROCESS, pid)
    wanted = min(19, before + 7)
    done = bench.execute("nice_adjust", pid=pid, priority=wanted)
    assert (done.ran.status, os.getpriority(os.PRIO_PROCESS, pid)) == ("done", wanted), done
    assert done.data["snapshot"]["state"]["nice"] == before


THREADS = """
import os, sys, threading, time
for number in range(4):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
open(sys.argv[1], "w").close()
time.sleep(1000)
"""


@pytest.fixture
def threaded(tmp_path):
    """A process with five threads, of which one has a priority of its own."""
    ready = tmp_path / "ready"
    launcher = subprocess.run(
        ["sh", "-c", '"$@" >/dev/null 2>&1 & echo $!', "sh", "setsid", "python3", "-c", THREADS, ready],
        stdout=subprocess.PIPE,
        check=True,
    )
    pid = int(launcher.stdout)
    until(ready.exists, what="the threads")
    os.setpriority(os.PRIO_PROCESS, max(map(int, os.listdir(f"/proc/{pid}/task"))), 15)
    yield pid
    os.killpg(pid, signal.SIGKILL)


def priorities(pid):
    return sorted(about["nice"] for about in native.threads(pid).values())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority again")
def test_a_priority_is_that_of_all_threads_and_each_gets_its_own_back(bench, threaded):
    before = priorities(threaded)
    assert (len(before), before[-1]) == (5, 15)
    done = bench.execute("nice_adjust", pid=threaded, priority=18)
    assert (done.ran.status, priorities(threaded)) == ("done", [18] * 5), done
    assert "5 threads" in done.ran.output.decode()
    back = bench.phase("rollback", "nice_adjust", pid=threaded)
    assert (back.ran.status, back.data["restored"], priorities(threaded)) == ("done", True, before), back


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority again")
def test_a_snapshot_of_an_agent_before_threads_were_recorded_is_still_good(bench, threaded):
    done = bench.execute("nice_adjust", pid=threaded, priority=18)
    old = done.data["snapshot"]
    del old["state"]["threads"]
    back = bench.phase("rollback", "nice_adjust", given=old, pid=threaded)
    assert (back.data["restored"], set(priorities(threaded))) == (True, {old["state"]["nice"]})


def test_a_priority_that_the_kernel_refuses_is_told(bench, stray, monkeypatch):
    pid = stray()

    def refuse(which, who, priority):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "setpriority", refuse)
    refused = bench.execute("nice_adjust", pid=pid, priority=19)
    assert (refused.ran.status, refused.ran.reason.endswith("Permission denied")) == ("failed", True)


@pytest.mark.parametrize("action", ["process_kill", "nice_adjust"])
def test_what_is_protected_meanwhile_is_not_touched(bench, stray, action):
    pid = stray()
    bench.phase("snapshot", action, pid=pid)
    name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    bench.host.protected.add(name)
    refused = bench.execute(action, pid=pid)
    assert (refused.ran.status, refused.ran.reason) == ("failed", f"{name} ({pid}) is protected")
    assert lives(pid, start_time(pid))


class Everything(set):
    def __contains__(self, _name):
        return True


@pytest.mark.parametrize("by", ["cpu", "memory"])
def test_the_process_on_top_is_one_that_may_be_touched(bench, stray, by):
    """The hungriest are this test's own, the agent's here, and spared."""
    pid = stray("while :; do :; done")
    spared = native.untouchable(bench.host.protected)
    found = until(lambda: native.top_process(by, bench.host.protected), what="a process on top")
    assert not spared(found)
    assert found.pid != os.getpid()
    assert native.top_process(by, Everything()) is None
    assert lives(pid, start_time(pid))


def test_caches_are_dropped_by_the_kernels_own_switches(bench, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(native, "_write", lambda path, value, told: asked.append((path, value)) or native.done(told))
    done = bench.execute("memory_pressure_relief")
    assert done.ran.output.decode().splitlines() == [
        "page cache, dentries and inodes were dropped",
        "memory was compacted",
    ]
    assert asked == [("/proc/sys/vm/drop_caches", "3"), ("/proc/sys/vm/compact_memory", "1")]


def test_a_switch_that_cannot_be_written_is_told(tmp_path):
    refused = native._write(str(tmp_path / "none" / "drop_caches"), "3", "dropped")
    assert (refused.status, refused.reason.endswith("drop_caches: No such file or directory")) == ("failed", True)
    switch = tmp_path / "switch"
    switch.touch()
    assert native._write(str(switch), "3", "dropped").status == "done"
    assert switch.read_text() == "3"


SHOWN = "Requires=db.service postgresql@15-main.service systemd-journald.socket\\nBindsTo=dbus.service\\nRequisite="


@pytest.mark.parametrize("by_systemd", [True, False])
def test_a_service_is_restarted_once_with_what_it_requires(tmp_path, monkeypatch, by_systemd):
    """systemd restarts what runs and requires another unit with that one; what did not run is only started."""
    run = tmp_path / "run"
    run.write_text("1")
    script = f"""case "$*" in
      *InvocationID*) echo InvocationID=$(cat {run});;
      *" show "*|"show "*) printf "{SHOWN}\\n";;
      *restart*db*) [ {by_systemd} = False ] || echo 2 > {run};;
      *restart*web*) echo 3 > {run};;
    esac"""
    bench = Bench(tmp_path, monkeypatch, {"systemctl": script})
    done = bench.execute("service_dependency_restart", service="web.service")
    assert done.ran.status == "done", done
    orders = [" ".join(argv[1:]) for argv in bench.calls("systemctl") if argv[1] in ("restart", "start")]
    expected = ["restart -- db.service", "start -- web.service", "restart -- web.service"]
    assert orders == expected[: 2 if by_systemd else 3]
    assert done.ran.output.decode().startswith("restart db.service: done\nstart web.service: done\n")


@pytest.mark.parametrize(
    ("script", "code", "restarts"),
    [
        ('case "$2" in restart) echo no; exit 4;; show) echo Id=x; echo ActiveState=active;; esac', 4, 1),
        ('case "$*" in *Requires*) exit 3;; esac; echo Id=x; echo ActiveState=active', 3, 0),
    ],
    ids=["restart", "show"],
)
def test_a_restart_that_does_not_work_is_no_success(tmp_path, monkeypatch, script, code, restarts):
    bench = Bench(tmp_path, monkeypatch, {"systemctl": script})
    failed = bench.execute("service_dependency_restart", service="web.service")
    assert (failed.ran.status, failed.ran.exit_code) == ("failed", code), failed
    assert len([argv for argv in bench.calls() if argv[1] == "restart"]) == restarts
