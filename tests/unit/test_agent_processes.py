"""Programs that the agent runs: what a kill of the agent leaves of them, whenever it comes."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from opsapp.agent import processes, tails
from opsapp.agent.executor import CommandExecutor
from opsapp.agent.guard import lives
from opsapp.agent.journal import CommandJournal
from opsapp.agent.processes import Cancel, ProcessGroup, RunOptions, boot_id, end_orphans, run, start_time
from tests.support.waiting import until

# An agent's journal and executor in a process that is killed when the child is there and its group is not noted yet.
KILLED_AT_THE_GATE = """
import os, signal, sys, time
from opsapp.agent.commands import shell
from opsapp.agent.executor import CommandExecutor
from opsapp.agent.journal import CommandJournal
from opsapp.wire.commands import CommandSent

def killed(name, group):
    print(group.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

journal = CommandJournal(sys.argv[1], 0)
journal.process = killed
executor = CommandExecutor(journal, {"shell": shell}, busy_limit=1, start_expiry_s=60, tell=lambda: None,
                    output=lambda name, data: None, started=lambda name, at: None)
executor.submit(CommandSent("c1", "shell",
                 {"command": f"while :; do echo x >> {sys.argv[2]}; sleep 0.02; done"}))
time.sleep(60)
"""


@pytest.fixture
def cancel():
    made = Cancel()
    yield made
    made.close()


def test_what_the_agent_had_not_noted_yet_never_runs(tmp_path):
    marker = tmp_path / "marker"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_AT_THE_GATE, str(tmp_path), str(marker)],
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    pid = int(killed.stdout)
    until(lambda: not lives(pid, start_time(pid)), what="the end of the child")
    assert not marker.exists()

    again = CommandJournal(str(tmp_path), time.time())
    CommandExecutor(
        again, {}, busy_limit=1, start_expiry_s=60, tell=lambda: None, output=lambda *_: None, started=lambda *_: None
    ).recover()
    assert again.result("c1").status == "lost"
    assert not marker.exists()
    again.close()


def test_a_program_is_noted_before_it_begins(tmp_path, cancel):
    marker, seen = tmp_path / "marker", []

    def note(group):
        seen.append((group, marker.exists(), start_time(group.pid)))

    ran = run(["/bin/sh", "-c", f"echo $$ | tee {marker}; cat"], 20, cancel, on_start=note)
    ((group, began, started),) = seen
    assert (ran.status, ran.output) == ("done", b"%d\n" % group.pid)  # `cat` found an empty standard input
    assert not began
    assert group == ProcessGroup(group.pid, started, boot_id())


def test_nothing_begins_when_it_cannot_be_noted(tmp_path, cancel):
    def note(_group):
        raise OSError(28, "No space left on device")

    ran = run(["/usr/bin/touch", str(tmp_path / "marker")], 20, cancel, on_start=note)
    assert (ran.status, ran.reason) == ("failed", "cannot start /usr/bin/touch: No space left on device")
    assert not (tmp_path / "marker").exists()


def test_a_program_that_cannot_be_started_says_why(tmp_path, cancel):
    (tmp_path / "plain").write_text("")
    assert run(["no-such-program"], 20, cancel).reason == "cannot start no-such-program: No such file or directory"
    assert run([str(tmp_path / "plain")], 20, cancel).reason.endswith("Permission denied")
    assert run([str(tmp_path)], 20, cancel).status == "failed"


def test_descriptors_are_the_programs_and_nobody_elses(cancel):
    before = os.listdir("/proc/self/fd")
    manner = RunOptions(descriptors={"A": "x" * 300_000, "B": "é"})
    ran = run(["/bin/sh", "-c", "wc -c < /dev/fd/$A; cat /dev/fd/$B /dev/fd/$B"], 9, cancel, manner=manner)
    assert ran.output.decode() == "300000\néé"
    assert os.listdir("/proc/self/fd") == before


def test_without_files_in_memory_nothing_begins(cancel, monkeypatch):
    monkeypatch.delattr(os, "memfd_create")
    ran = run(["true"], 9, cancel, manner=RunOptions(descriptors={"A": "x"}))
    assert (ran.status, ran.reason) == (
        "failed", "cannot start true: this Python makes no files in memory, so it hands over no descriptors"
    )  # fmt: skip


def test_what_is_dead_and_not_buried_yet_holds_nothing_up(tmp_path, cancel, monkeypatch):
    """Its parent, in a session of its own by then unmarked, never asks for it: a corpse stays in the group."""
    monkeypatch.setattr(processes, "TERM_GRACE_S", 3600)  # whoever waits for it waits longer than a test may last
    parent = tmp_path / "parent"
    code = (
        f"import os, time; os.fork() or time.sleep(3600); os.setsid(); "
        f"open('{parent}', 'w').write(str(os.getpid())); os.execve('/bin/sleep', ['sleep', '3600'], {{}})"
    )
    ran = run(["/bin/sh", "-c", f'{sys.executable} -c "$1"; :', "sh", code], 3600, _at(parent, cancel))
    try:
        assert ran.status == "cancelled"
    finally:
        os.kill(int(parent.read_text()), signal.SIGKILL)


def _at(path, cancel):
    def wait():
        until(lambda: path.exists() and path.read_text(), 30)
        cancel()

    threading.Thread(target=wait).start()
    return cancel


DAEMON = "setsid sh -c 'trap \"echo told > {0}.told; exit\" TERM; echo $$ > {0}; while :; do sleep 0.05; done' &"


def daemon_of(path):
    """The number of the process that left its session and wrote it there."""
    pid = int(until(lambda: path.exists() and path.read_text(), 30))
    return pid, start_time(pid)


@pytest.fixture
def ends():
    """What a test leaves on purpose is ended."""
    left = []
    yield left
    for pid, started in left:
        if lives(pid, started):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("how", ["timeout", "cancelled"])
def test_what_left_the_group_is_ended_with_it(tmp_path, cancel, ends, how):
    """TERM first, as the group has it: it may put things in order."""
    path = tmp_path / "daemon"
    stop = cancel if how == "timeout" else _at(path, cancel)
    script = f"{DAEMON.format(path)} sleep 600"
    ran = run(["/bin/sh", "-c", script], 2 if how == "timeout" else 600, stop)
    ends.append(daemon_of(path))
    assert ran.status == how
    until(lambda: not lives(*ends[0]), what="the end of what left the group")
    assert (tmp_path / "daemon.told").read_text() == "told\n"


def test_what_left_the_group_and_hears_no_term_is_killed(tmp_path, cancel, ends):
    path = tmp_path / "daemon"
    script = f"setsid sh -c 'trap \"\" TERM; echo $$ > {path}; while :; do sleep 0.05; done' & sleep 600"
    run(["/bin/sh", "-c", script], 600, _at(path, cancel), manner=RunOptions(grace=0.2))
    ends.append(daemon_of(path))
    until(lambda: not lives(*ends[0]), what="the end of what left the group")


def test_what_is_about_to_become_another_program_is_waited_for(monkeypatch):
    """At that moment it has neither arguments nor an environment, so nobody can see whose it is."""
    mark, started = processes.new_mark(), []
    blank = subprocess.Popen([""], executable=shutil.which("cat"), env={}, stdin=subprocess.PIPE, cwd="/")
    until(lambda: processes._is_blank(str(blank.pid)), what="a process without a name")

    def nap(_):
        if not started:
            started.append(subprocess.Popen(["sleep", "600"], env={processes.RUN: mark}, start_new_session=True))
            until(lambda: processes._carries(started[0].pid, processes.RUN, mark), what="the mark")
            blank.kill()
            blank.communicate()

    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=time.monotonic, sleep=nap))
    processes.end_strays(mark)
    assert started[0].wait() == -signal.SIGKILL


def test_what_a_program_left_on_purpose_lives_on(tmp_path, cancel, ends):
    """A daemon that was started by a program that ended in time is none of the next one's, whose time is over."""
    path = tmp_path / "daemon"
    script = f"{DAEMON.format(path)} while [ ! -s {path} ]; do sleep 0.02; done"
    assert run(["/bin/sh", "-c", script], 60, cancel).status == "done"
    ends.append(daemon_of(path))
    assert run(["sleep", "600"], 0.1, cancel).status == "timeout"
    assert lives(*ends[0])


def test_what_was_given_a_cgroup_of_its_own_is_somebody_elses(tmp_path, cancel, ends, monkeypatch):
    """A container or a transient unit that a program started has its own manager."""
    path = tmp_path / "daemon"
    real = processes.cgroup_of
    monkeypatch.setattr(processes, "cgroup_of", lambda pid: "its own" if path.read_text() == f"{pid}\n" else real(pid))
    ran = run(["/bin/sh", "-c", f"{DAEMON.format(path)} sleep 600"], 600, _at(path, cancel))
    ends.append(daemon_of(path))
    assert ran.status == "cancelled"
    assert lives(*ends[0])


def test_a_group_of_another_boot_is_left_alone():
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        group = ProcessGroup(other.pid, start_time(other.pid), boot_id())
        try:
            assert not end_orphans(group._replace(boot="an earlier one"))
            assert not end_orphans(group._replace(started=group.started + 1))
            assert other.poll() is None
            assert end_orphans(group)
            assert other.wait() == -signal.SIGTERM
        finally:
            other.kill()


def test_what_followed_a_log_for_a_killed_agent_is_ended(tmp_path):
    mine, others = tmp_path / "mine", tmp_path / "others"
    left = []
    for directory in (mine, others):
        directory.mkdir()
        mark = tails.whose(str(directory))
        left.append(subprocess.Popen(["sleep", "60"], env={**os.environ, tails.MARK: mark}))
        # The kernel lets its parent go on a moment before the new program's environment can be read.
        until(lambda pid=left[-1].pid, mark=mark: processes._carries(pid, tails.MARK, mark), what="its mark")
    try:
        assert tails.end_left(str(mine)) == 1
        assert left[0].wait() == -signal.SIGKILL
        assert left[1].poll() is None
    finally:
        for child in left:
            child.kill()
            child.wait()
