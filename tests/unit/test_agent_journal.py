"""The journal and the spool: what a restart finds, whatever was written last."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsapp.agent import journal as journal_module
from opsapp.agent.disk import LineFile, write_whole
from opsapp.agent.journal import KEEP_S, CommandJournal
from opsapp.agent.processes import ProcessGroup
from opsapp.agent.spool import Spool
from opsapp.wire.commands import CommandSent
from opsapp.wire.reports import CommandResult, HostReport


def command(name):
    return CommandSent(name, "shell", {"command": "true"})


def result(name):
    return CommandResult(name, "done", output="x")


@pytest.fixture
def home(tmp_path):
    return str(tmp_path)


def test_a_command_is_new_once_and_over_restarts(home):
    first = CommandJournal(home, 0)
    assert first.accept(command("c1"), 1)
    assert not first.accept(command("c1"), 2)
    assert not CommandJournal(home, 3).accept(command("c1"), 3)


def test_the_four_steps_are_found_again(home):
    first = CommandJournal(home, 0)
    for name in ("accepted", "started", "finished", "thanked"):
        first.accept(command(name), 1)
    for name in ("started", "finished", "thanked"):
        first.start(name, 2)
    first.process("started", ProcessGroup(77, 123, "boot"))
    for name in ("finished", "thanked"):
        first.finish(name, result(name), 3)
    first.thank("thanked")
    again = CommandJournal(home, 4)
    assert {name: entry.state for name, entry in again.open().items()} == {"accepted": "accepted", "started": "started"}
    assert again.open()["started"].group == (77, 123, "boot")
    assert again.open()["accepted"].command == command("accepted")
    assert again.unthanked() == ["finished"]
    assert again.result("finished") == result("finished")
    assert again.result("thanked") is None
    assert {one.command_id: one.state for one in again.held()} == {
        "accepted": "running",
        "started": "running",
        "finished": "finished",
    }
    assert not again.accept(command("thanked"), 5)


def test_a_result_counts_even_when_the_kill_came_before_its_line(home):
    first = CommandJournal(home, 0)
    first.accept(command("c1"), 1)
    first.start("c1", 1)
    write_whole(os.path.join(home, "results", "r-c1.json"), b'{"command_id":"c1","status":"done"}')
    write_whole(os.path.join(home, "results", "r-stranger.json"), b"{}")
    again = CommandJournal(home, 2)
    assert again.unthanked() == ["c1"]
    assert os.listdir(os.path.join(home, "results")) == ["r-c1.json"]


def test_an_older_token_is_not_admitted_over_restarts(home):
    first = CommandJournal(home, 0)
    assert first.admit(3)
    assert first.admit(3)
    assert first.admit(5)
    assert not first.admit(4)
    assert not CommandJournal(home, 1).admit(4)


def test_tokens_of_different_services_are_not_compared(home):
    """An agent that comes from another service has seen none of this one's tokens."""
    first = CommandJournal(home, 0)
    assert first.admit(900, "old")
    assert first.admit(3, "new")
    assert not first.admit(2, "new")
    assert not first.admit(899, "old")
    again = CommandJournal(home, 1)
    assert (again.newest("old"), again.newest("new"), again.newest("other")) == (900, 3, 0)
    assert not again.admit(2, "new")


def test_tokens_written_before_services_had_an_identity_count_for_those_only(home):
    with open(os.path.join(home, "journal.jsonl"), "wb") as file:
        file.write(b'{"did":"token","token":57}\n')
    kept = CommandJournal(home, 0)
    assert not kept.admit(56)
    assert kept.admit(1, "a service that says who it is")


def test_only_the_latest_services_are_remembered(home):
    first = CommandJournal(home, 0)
    for number in range(journal_module.KEEP_STORES + 1):
        assert first.admit(5, f"s{number}")
    assert first.newest("s0") == 0
    assert first.newest("s1") == 5


def test_ids_are_forgotten_after_a_week_and_open_ones_never(home):
    first = CommandJournal(home, 0)
    for name in ("old", "open"):
        first.accept(command(name), 0)
    first.finish("old", result("old"), 0)
    first.thank("old")
    first.compact(KEEP_S - 1)
    assert first.state("old") == "thanked"
    first.compact(KEEP_S + 1)
    assert first.state("old") is None
    assert first.state("open") == "accepted"


def test_a_grown_file_is_rewritten_and_says_the_same(home, monkeypatch):
    monkeypatch.setattr(journal_module, "COMPACT_BYTES", 2000)
    first = CommandJournal(home, 0)
    first.admit(9)
    for number in range(40):
        first.accept(command(f"c{number}"), number)
        first.start(f"c{number}", number)
        if number < 38:
            first.finish(f"c{number}", result("c"), number)
            first.thank(f"c{number}")
    first.process("c39", ProcessGroup(5, 6, "boot"))
    size = os.path.getsize(os.path.join(home, "journal.jsonl"))
    first.compact(50)
    assert os.path.getsize(os.path.join(home, "journal.jsonl")) < size
    assert first.accept(command("after"), 51)
    again = CommandJournal(home, 52)
    assert again.newest() == 9
    assert set(again.open()) == {"c38", "c39", "after"}
    assert again.open()["c39"].group.pid == 5
    assert again.state("c0") == "thanked"


def test_full_counts_what_is_not_thanked_for(home, monkeypatch):
    monkeypatch.setattr(journal_module, "OPEN_MOST", 2)
    first = CommandJournal(home, 0)
    first.accept(command("c1"), 0)
    assert not first.full()
    first.accept(command("c2"), 0)
    assert first.full()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 4000), st.binary(max_size=20))
def test_a_torn_end_costs_at_most_what_was_torn(tmp_path_factory, cut, noise):
    home = str(tmp_path_factory.mktemp("torn"))
    first = CommandJournal(home, 0)
    for number in range(10):
        first.accept(command(f"c{number}"), number)
    first.close()
    path = os.path.join(home, "journal.jsonl")
    with open(path, "rb") as file:
        whole = file.read()
    kept = whole[:cut]
    with open(path, "wb") as file:
        file.write(kept + noise.replace(b"\n", b"?"))
    again = CommandJournal(home, 20)
    survived = kept.count(b"\n")
    assert [name for name in again.open()][:survived] == [f"c{number}" for number in range(survived)]
    assert again.accept(command("new"), 21)
    assert CommandJournal(home, 22).state("new") == "accepted"


def test_a_failed_append_leaves_no_half_line(tmp_path, monkeypatch):
    lines = LineFile(str(tmp_path / "lines"))
    lines.append(b"first")
    real = os.write

    def full(handle, data):
        real(handle, bytes(data)[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        lines.append(b"second")
    monkeypatch.undo()
    lines.append(b"third")
    assert list(lines) == [b"first\n", b"third\n"]


# ---- the spool
def report(at, **more):
    return HostReport("box-1", "Debian", time=at, reason="interval", cpu_percent=1.0, **more)


def test_reports_are_spooled_once_a_minute_and_come_back_in_order(home):
    spool = Spool(home, 10**6)
    for at in range(1000, 1300, 15):
        spool.keep(report(at))
    spool.close()
    again = Spool(home, 10**6)
    times = []
    while again.oldest():
        times.append(again.oldest().time)
        assert again.oldest().reason == "spooled"
        again.delivered()
    assert times == [1000, 1060, 1120, 1180, 1240]
    again.delivered()
    assert os.path.getsize(os.path.join(home, "spool.jsonl")) == 0


def test_a_host_whose_clock_is_set_back_spools_on(home):
    spool = Spool(home, 10**6)
    for at in (90_000, 90_010, 3600, 3610, 3660):
        spool.keep(report(at))
    times = []
    while spool.oldest():
        times.append(spool.oldest().time)
        spool.delivered()
    assert times == [90_000, 3600, 3660]


def test_what_was_delivered_is_not_delivered_again_after_a_restart(home):
    spool = Spool(home, 10**6)
    for at in (60, 120, 180):
        spool.keep(report(at))
    spool.delivered()
    again = Spool(home, 10**6)
    assert again.oldest().time == 120


def test_a_full_spool_drops_the_oldest(home):
    spool = Spool(home, 4000)
    for minute in range(1, 200):
        spool.keep(report(minute * 60.0, disks={f"/mnt/{number}": 5.0 for number in range(5)}))
    assert os.path.getsize(os.path.join(home, "spool.jsonl")) <= 4000
    times = []
    while spool.oldest():
        times.append(spool.oldest().time)
        spool.delivered()
    assert times[-1] == 199 * 60.0
    assert times == sorted(times)
    assert len(times) > 5


def test_live_reports_are_few_and_the_newest(home):
    spool = Spool(home, 10**6)
    for at in range(20):
        spool.put(report(at))
    assert [spool.take().time for _ in range(8)] == list(range(12, 20))
    assert spool.take() is None
