"""Live logs of one stream, without a session: what is said of a file and of the journal, and what is left out."""

import json
import os
import threading

import pytest

from opsapp.agent import tails
from opsapp.agent.config import AgentConfig
from opsapp.agent.paths import PathRules
from opsapp.agent.streams import StreamStopped
from opsapp.wire.commands import read_stream_params
from tests.support.manyfiles import holding
from tests.support.waiting import until


class Session:
    """What the stream says, as its reader gets it."""

    def __init__(self):
        self.said = []

    def send(self, text):
        self.said.append(json.loads(text))


class Reader:
    """A LogTail in a thread, and what came of it."""

    def __init__(self, state, **params):
        self.session = Session()
        rules = PathRules(AgentConfig(server="http://127.0.0.1:1", agent_id="a1", key="k", state_dir=str(state)))
        self.tail = tails.LogTail(
            3, read_stream_params("logs", {"role": "operator", **params}), self.session, rules, str(state)
        )
        self.end = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        try:
            self.tail.run()
        except StreamStopped as ended:
            self.end = ended

    def start(self):
        self._thread.start()
        until(lambda: self.session.said or self.end, what="the stream")
        return self

    @property
    def entries(self):
        return [entry for said in list(self.session.said) for entry in said.get("lines", [])]

    @property
    def lines(self):
        return [entry["line"] for entry in self.entries]

    def reads(self, *lines):
        until(lambda: self.lines == list(lines), what=f"{lines} instead of {self.lines}")

    def ended(self):
        self._thread.join()
        return self.end.code

    def leaves(self):
        self.tail.leave()
        return self.ended()


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(tails, "FOLLOW_S", 0.02)
    monkeypatch.setattr(tails, "FLUSH_S", 0.02)


@pytest.fixture
def follow(tmp_path):
    readers = []

    def start(**params):
        readers.append(Reader(tmp_path, **params).start())
        return readers[-1]

    yield start
    for reader in readers:
        reader.leaves()


@pytest.fixture
def log(tmp_path):
    made = tmp_path / "app.log"
    made.write_text("one\ntwo\nthree\n")
    return made


def add(path, text):
    with open(path, "a") as file:
        file.write(text)


def test_the_last_lines_and_then_every_new_one(follow, log):
    reader = follow(source="file", path=str(log), lines=2)
    opened = reader.session.said[0]
    assert (opened["type"], opened["stream"], opened["path"]) == ("opened", 3, str(log))
    reader.reads("two", "three")
    assert [entry["time"] for entry in reader.entries] == [None, None]  # nobody can say when they were written
    add(log, "four\nfi")
    reader.reads("two", "three", "four")
    assert reader.entries[-1]["time"] > 1e9
    add(log, "ve\r\n")
    reader.reads("two", "three", "four", "five")
    assert reader.leaves() == "left"


def test_no_old_lines_when_none_are_wanted(follow, log):
    reader = follow(source="file", path=str(log), lines=0)
    add(log, "four\n")
    reader.reads("four")


def test_a_line_that_has_no_end_yet_is_shown(follow, log):
    add(log, "half")
    follow(source="file", path=str(log), lines=2).reads("three", "half")


def test_a_reader_that_comes_back_gets_what_it_missed_and_nothing_twice(follow, log):
    first = follow(source="file", path=str(log), lines=1)
    first.reads("three")
    place = first.entries[-1]["place"]
    first.leaves()
    add(log, "four\nfive\n")
    follow(source="file", path=str(log), after=place).reads("four", "five")


def test_a_reader_that_comes_back_to_another_file_is_told(follow, log):
    about = log.stat()
    again = follow(source="file", path=str(log), after=f"{about.st_dev}:{about.st_ino + 1}:4")
    again.reads("[the file was replaced meanwhile]", "one", "two", "three")
    shorter = follow(source="file", path=str(log), after=f"{about.st_dev}:{about.st_ino}:4000")
    shorter.reads("[the file was replaced meanwhile]", "one", "two", "three")


def test_a_reader_that_was_away_for_long_is_told_that_lines_are_missing(follow, log, monkeypatch):
    from opsapp.agent import commands

    for module in (tails, commands):
        monkeypatch.setattr(module, "TAIL_MOST", 64)
    log.write_text("".join(f"line {number:03d}\n" for number in range(100)))
    about = log.stat()
    reader = follow(source="file", path=str(log), after=f"{about.st_dev}:{about.st_ino}:0")
    until(lambda: reader.lines[-1:] == ["line 099"])
    assert reader.lines[0] == "[lines were left out: too much was written meanwhile]"
    assert len(reader.lines) < 9


def test_rotation_loses_nothing_and_goes_on_with_the_new_file(follow, log):
    reader = follow(source="file", path=str(log), lines=1)
    reader.reads("three")
    with open(log, "a") as old:
        os.rename(log, f"{log}.1")
        old.write("last of the old\n")
    log.write_text("first of the new\n")
    reader.reads("three", "last of the old", "first of the new")


def test_what_is_written_to_a_file_that_was_moved_away_is_read_until_another_one_stands_there(follow, log, monkeypatch):
    missed, stat = [], os.stat

    def looking(path, *more, **how):
        try:
            return stat(path, *more, **how)
        except FileNotFoundError:
            missed.append(path)
            raise

    monkeypatch.setattr(tails.os, "stat", looking)
    reader = follow(source="file", path=str(log), lines=1)
    reader.reads("three")
    with open(log, "a") as old:
        os.rename(log, f"{log}.1")
        until(lambda: missed.count(str(log)) > 1, what="the reader seeing that the file was moved")
        old.write("last of the old\n")
    reader.reads("three", "last of the old")
    log.write_text("first of the new\n")
    reader.reads("three", "last of the old", "first of the new")


def test_a_file_that_is_emptied_in_place_begins_anew_and_half_a_line_of_before_is_gone_with_it(follow, log):
    reader = follow(source="file", path=str(log), lines=1)
    reader.reads("three")
    add(log, "half a li")
    until(lambda: log.stat().st_size == reader_at(reader, log), what="the half line being read")
    log.write_text("new\n")
    reader.reads("three", "new")
    place = reader.entries[-1]["place"].split(":")
    assert int(place[2]) == len("new\n")


def reader_at(reader, log):
    """How far the stream has read, as the kernel has it."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == str(log):
                with open(f"/proc/self/fdinfo/{name}") as file:
                    return int(file.readline().split()[1])
        except OSError:
            continue
    return None


def test_a_file_that_stays_away_ends_the_stream(follow, log, monkeypatch):
    reader = follow(source="file", path=str(log), lines=1)
    clock = iter([0.0, 5.0, 20.0])
    monkeypatch.setattr(tails.time, "monotonic", lambda: next(clock, 30.0))
    log.unlink()
    assert (reader.ended(), str(reader.end)) == ("end", "the file is gone")


def test_what_is_not_there_is_not_found(tmp_path):
    reader = Reader(tmp_path, source="file", path=str(tmp_path / "none")).start()
    assert reader.ended() == "not_found"


def test_a_slow_reader_loses_lines_and_is_told_how_many(follow, log):
    reader = follow(source="file", path=str(log), lines=0)
    reader.tail.take_credit(reader.tail._credit - 20)
    add(log, "a" * 15 + "\n")
    until(lambda: len(reader.lines) == 1)
    add(log, "b\nc" + "c" * 15 + "\n")  # more than there is room for
    until(lambda: reader.tail._dropped == 2)
    reader.tail.grant(1000)
    add(log, "d\n")
    reader.reads("a" * 15, "[2 lines were dropped: the reader is too slow]", "d")


# ---- the journal
JOURNALCTL = """#!/bin/sh
printf '%s\\n' "$*" > {place}/asked
[ -z "$OPSAPP_AGENT_STREAM" ] || echo "$OPSAPP_AGENT_STREAM" > {place}/mark
cat {place}/entries
{then}
"""


@pytest.fixture
def journal(tmp_path, monkeypatch):
    def make(*entries, then="exec sleep 600"):
        (tmp_path / "entries").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        program = tmp_path / "bin" / "journalctl"
        program.parent.mkdir()
        program.write_text(JOURNALCTL.format(place=tmp_path, then=then))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        return tmp_path

    return make


def test_the_journal_is_followed_and_its_reader_ends_with_the_stream(follow, journal):
    place = journal(
        {"MESSAGE": "ready", "SYSLOG_IDENTIFIER": "nginx", "_PID": "7", "__REALTIME_TIMESTAMP": "1700000000123456"},
        {"MESSAGE": "plain"},
    )
    reader = follow(source="journald", unit="nginx.service", lines=9)
    reader.reads("nginx[7]: ready", "plain")
    assert reader.entries[0]["time"] == 1700000000.123456
    asked = (place / "asked").read_text().split()
    assert ("--follow" in asked, "--lines=9" in asked, "--unit=nginx.service" in asked) == (True, True, True)
    assert (place / "mark").read_text().strip() == tails.whose(str(place))
    assert reader.leaves() == "left"
    assert tails.end_left(str(place)) == 0  # nothing is left to be ended


def test_the_journal_is_followed_in_a_process_that_holds_a_thousand_files(follow, journal):
    journal({"MESSAGE": "last"}, then="exit 1")
    with holding(1100):
        reader = follow(source="journald", unit="web.service")
        assert (reader.ended(), reader.lines) == ("end", ["last"])


def test_a_journal_reader_that_ends_by_itself_ends_the_stream(follow, journal):
    journal({"MESSAGE": "last"}, then="exit 1")
    reader = follow(source="journald", unit="web.service")
    assert (reader.ended(), reader.lines) == ("end", ["last"])


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b'{"MESSAGE": "m", "SYSLOG_IDENTIFIER": "cron"}', "cron: m"),
        (b'{"MESSAGE": [104, 105, 255]}', "hi\ufffd"),
        (b"", None),
        (b"half a {", None),
    ],
)
def test_entries_of_the_journal(raw, line):
    entry = tails.journal_entry(raw)
    assert (entry and entry.line) == line


def test_a_line_longer_than_a_message_is_cut():
    entry = tails.journal_entry(json.dumps({"MESSAGE": "x" * 100_000, "__REALTIME_TIMESTAMP": 5}).encode())
    assert len(entry.line) == tails.LINE_MOST
    assert entry.time is None
