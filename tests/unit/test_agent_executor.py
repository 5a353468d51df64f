"""Commands that do not simply run: held for an update, cancelled, too late, wrong, or with no room for their result."""

import threading
import time

import pytest

from opsapp.agent import executor as module
from opsapp.agent.executor import CommandAnswer, CommandExecutor
from opsapp.agent.journal import CommandJournal
from opsapp.agent.processes import Ran
from opsapp.wire.commands import CommandSent
from tests.support.waiting import until


class Host:
    """An executor whose only command waits for `go`, by the name of the command."""

    def __init__(self, directory, **more):
        self.go, self.begun, self.now = {}, [], time.time()
        self.journal = CommandJournal(str(directory), self.now)
        settings = {"busy_limit": 2, "start_expiry_s": 60, **more}
        self.executor = CommandExecutor(
            self.journal,
            {"shell": self._shell},
            tell=lambda: None,
            output=lambda *_: None,
            started=lambda *_: None,
            clock=lambda: self.now,
            **settings,
        )
        self.room = dict(self.executor._room)

    def _shell(self, task):
        self.begun.append(task.id)
        if task.params.command == "fail":
            raise RuntimeError("boom")
        self.go.setdefault(task.id, threading.Event())
        until(lambda: self.go[task.id].is_set() or bool(task.cancel), what=f"the end of {task.id}")
        return CommandAnswer(Ran("cancelled", None, b"", task.cancel.why) if task.cancel else Ran("done", 0, b"ran"))

    def submit(self, name, kind="shell", **params):
        return self.executor.submit(CommandSent(name, kind, {"command": "x", **params}))

    def result(self, name):
        return until(lambda: self.journal.result(name), what=f"the result of {name}")

    def begins(self, name):
        until(lambda: name in self.begun and name in self.go, what=f"the beginning of {name}")

    def close(self):
        """The journal closes behind the last thread: one that writes later would try again for ever."""
        for event in self.go.values():
            event.set()
        self.executor.stop(10)
        until(lambda: self.executor._room == self.room, what="the end of the threads")
        self.journal.close()


@pytest.fixture
def host(tmp_path):
    made = Host(tmp_path)
    yield made
    made.close()


def test_what_was_just_taken_up_when_an_update_holds_everything_runs_when_it_is_let_go(host, monkeypatch):
    host.submit("long")
    host.begins("long")
    refuse, wake, held = host.executor._refuse, host.executor._wake, threading.Event()

    def until_it_is_held(command, now):
        held.wait(60)
        return refuse(command, now)

    def until_it_is_back(whole, _seconds):
        held.set()
        for _ in range(500):
            if host.executor._waiting["other"]:
                break
            wake.wait(0.02)
        return whole()

    monkeypatch.setattr(host.executor, "_refuse", until_it_is_held)
    monkeypatch.setattr(wake, "wait_for", until_it_is_back)
    host.submit("late")
    assert host.executor.hold("update", 0.3) is False  # "long" runs still
    monkeypatch.undo()
    host.begins("late")
    host.go["late"].set()
    assert host.result("late").status == "done"


def test_what_waits_while_everything_is_held_begins_when_it_is_let_go(host):
    host.submit("long")
    host.begins("long")
    threading.Timer(0.1, host.submit, ["waiting"]).start()
    assert host.executor.hold("update", 0.5) is False
    host.begins("waiting")


def test_a_hold_that_succeeds_starts_nothing_more(host):
    assert host.executor.hold("update", 1) is True
    host.submit("later")
    assert host.executor.hold("update", 0.1) is True
    assert host.begun == []


def test_a_stop_ends_what_runs_and_leaves_what_has_not_begun_for_the_next_start(tmp_path):
    host = Host(tmp_path, busy_limit=1)
    host.submit("runs")
    host.begins("runs")
    host.submit("waits")
    host.executor.stop(10)
    assert (host.result("runs").status, host.result("runs").reason) == ("cancelled", "the agent was stopped")
    host.close()
    again = Host(tmp_path)
    again.executor.recover()
    again.begins("waits")
    again.go["waits"].set()
    assert again.result("waits").status == "done"
    again.close()


def test_cancelled_before_it_began_and_while_it_runs(tmp_path):
    host = Host(tmp_path, busy_limit=1)
    host.submit("first")
    host.begins("first")
    host.submit("second")
    host.executor.cancel("second")
    host.executor.cancel("first")
    assert host.result("first").status == "cancelled"
    assert host.result("second").reason == "cancelled before it started"
    assert host.begun == ["first"]
    host.close()


@pytest.mark.parametrize(
    ("kind", "params", "reason"),
    [
        ("shell", {"timeout": "long"}, "bad_params: "),
        ("dance", {}, "bad_params: this agent knows no command 'dance'"),
        ("shell", {"command": "fail"}, "agent error: RuntimeError: boom"),
    ],
)
def test_a_command_that_cannot_be_done_comes_to_an_end(host, kind, params, reason):
    host.submit("c", kind, **params)
    assert host.result("c").status == "failed"
    assert host.result("c").reason.startswith(reason)


def test_one_that_waited_too_long_does_not_begin(tmp_path):
    host = Host(tmp_path, busy_limit=1)
    host.submit("first")
    host.begins("first")
    host.submit("late")
    host.now += 61
    host.go["first"].set()
    assert host.result("late").reason == "it could not be started in time"
    assert host.begun == ["first"]
    host.close()


def test_what_cannot_be_written_down_is_not_done_and_those_behind_it_have_their_turn(tmp_path, monkeypatch):
    host = Host(tmp_path, busy_limit=1)
    start = host.journal.start

    def no_room(name, now):
        if name == "c":
            raise OSError(28, "No space left on device")
        start(name, now)

    monkeypatch.setattr(host.journal, "start", no_room)
    host.submit("c")
    assert host.result("c").reason == "no_space: No space left on device"
    host.submit("d")
    host.begins("d")
    host.go["d"].set()
    assert (host.result("d").status, host.begun) == ("done", ["d"])
    host.close()


def test_a_full_disk_loses_no_result(host, monkeypatch):
    monkeypatch.setattr(module, "DISK_RETRY_S", 0.01)
    finish, full = host.journal.finish, [True, True]

    def no_room(*args):
        if full:
            full.pop()
            raise OSError(28, "No space left on device")
        return finish(*args)

    monkeypatch.setattr(host.journal, "finish", no_room)
    host.submit("c")
    host.begins("c")
    host.go["c"].set()
    assert (host.result("c").status, full) == ("done", [])
