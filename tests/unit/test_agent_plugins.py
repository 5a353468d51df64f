"""Plugins on a host: which ones the agent runs, and that none of them outlives its check, whatever it does."""

import json
import os
import threading
from dataclasses import replace

import pytest

from opsapp.agent import processes
from opsapp.agent.probing.plugins import PluginRunner
from opsapp.agent.probing.probesunderway import Probing, gate_of, look, message_of, target_of
from opsapp.agent.processes import signal_group, start_time
from opsapp.agent.tails import end_left
from opsapp.wire import probemessages
from opsapp.wire.checks import checks_of
from opsapp.wire.fields import record
from opsapp.wire.probes import Outcome, ProbeUnavailable
from opsapp.wire.records import plain
from tests.support import plugins
from tests.support.plugins import write_plugin
from tests.support.waiting import patience, until


@pytest.fixture
def place(tmp_path):
    """A directory of plugins."""
    (tmp_path / "plugins").mkdir(mode=0o755)
    return tmp_path / "plugins"


def runner(place):
    return PluginRunner((str(place),), str(place.parent))


def seen(place, *command, timeout=5, running=None):
    asked = record({"type": "plugin", "timeout": timeout, "command": list(command)}, probemessages.PROBE_TARGET)
    return look(target_of(asked), gate_of(asked), (running or runner(place)).probe)


def alive(pid):
    return start_time(pid) > 0


@pytest.mark.parametrize(
    ("lines", "ok", "degraded", "detail"),
    [
        (plugins.OK, True, None, "OK - fine"),
        (plugins.WARNING, True, True, "WARNING - it fills"),
        (plugins.CRITICAL, False, None, "CRITICAL - it is full"),
        (plugins.UNKNOWN, None, None, "UNKNOWN - what is this; $HOME?"),
        ("exit 7", None, None, "the plugin ended with exit code 7, which is none of 0 to 3"),
        ("kill -9 $$", None, None, "the plugin did not run to its end: ended by signal 9"),
        ("echo noise >&2; echo OK", True, None, "OK"),
        ('echo "$LC_ALL $OPSAPP_AGENT_KEY $(pwd)"', True, None, "C.UTF-8  /"),
    ],
)
def test_a_plugin_says_what_it_sees(place, monkeypatch, lines, ok, degraded, detail):
    monkeypatch.setenv("OPSAPP_AGENT_KEY", "a secret")
    outcome = seen(place, write_plugin(place, "check_it", lines), "this; $HOME")
    assert (outcome.ok, outcome.degraded, outcome.detail) == (ok, degraded, detail)


def test_performance_data_are_its_metrics(place):
    outcome = seen(place, write_plugin(place, "check_load", plugins.OK))
    assert outcome.metrics == {"load1": 0.4, "free_space": 3 * 1024**2}
    assert outcome.units == {"load1": "", "free_space": "B"}
    assert outcome.response_time_ms > 0


def test_a_plugin_goes_by_the_name_that_it_is_called_by(place):
    write_plugin(place, "check_tcp", 'echo "I am ${0##*/}"')
    os.symlink("check_tcp", place / "check_ftp")
    assert seen(place, f"{place}/check_ftp").detail == "I am check_ftp"


def refusal(running, path):
    with pytest.raises(ProbeUnavailable) as refused:
        running.place_of(str(path))
    return str(refused.value)


def test_only_what_really_stands_below_its_directories_is_run(place, tmp_path):
    inside = write_plugin(place / "more", "check_in", plugins.OK)
    outside = write_plugin(tmp_path / "elsewhere", "check_out", plugins.OK)
    beside = write_plugin(tmp_path / "plugins-of-others", "check_beside", plugins.OK)
    os.symlink(outside, place / "check_link")
    os.symlink(inside, tmp_path / "elsewhere" / "check_back")
    running, ran = runner(place), "the agent runs only plugins below its plugin_dirs"
    assert running.place_of(inside) == inside
    assert running.place_of(f"{place}/more/../more/check_in") == inside
    wrong = [
        outside,
        beside,
        place / "check_link",
        tmp_path / "elsewhere" / "check_back",
        f"{place}/../elsewhere/check_out",
        "/bin/sh",
        place,
    ]
    assert {str(path): refusal(running, path) for path in wrong} == dict.fromkeys(map(str, wrong), ran)
    gone = "there is no such plugin on this host, or the agent may not run it"
    not_executable = write_plugin(place, "check_plain", plugins.OK, mode=0o644)
    assert {refusal(running, path) for path in (place / "nothing", place / "more", not_executable)} == {gone}


def test_an_agent_runs_none_unless_its_configuration_says_where_they_stand(place):
    path = write_plugin(place, "check_it", plugins.OK)
    assert "has no plugin_dirs" in refusal(PluginRunner((), str(place)), path)


def test_the_directories_may_be_links_themselves(place, tmp_path):
    write_plugin(place, "check_it", plugins.OK)
    os.symlink(place, tmp_path / "usual")
    running = PluginRunner((f"{tmp_path}/usual/",), str(tmp_path))
    assert running.place_of(f"{tmp_path}/usual/check_it") == f"{place}/check_it"
    assert PluginRunner(("/",), str(tmp_path)).place_of("/bin/sh")


@pytest.mark.parametrize("what", ["check_it", "."])
def test_a_plugin_that_others_may_change_is_not_run(place, what):
    path = write_plugin(place / "more", "check_it", plugins.OK)
    os.chmod(place / "more" / what, 0o757)
    assert "other users may change it" in refusal(runner(place), path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_plugin_of_another_user_or_group_is_not_run(place):
    path = write_plugin(place, "check_it", plugins.OK, mode=0o775)
    assert runner(place).place_of(path)
    os.chown(path, 0, 12345)
    assert "other users may change it" in refusal(runner(place), path)
    os.chmod(path, 0o755)
    assert runner(place).place_of(path)
    os.chown(path, 12345, 0)
    assert "other users may change it" in refusal(runner(place), path)


def test_a_plugin_that_hangs_is_ended_with_all_that_it_started(place):
    pids = place.parent / "pids"
    path = write_plugin(place, "check_hung", f"sleep 600 & echo $! $$ > {pids}; sleep 601")
    time = round(patience() / 10, 1)  # in which its shell has begun
    outcome = seen(place, path, timeout=time)
    assert (outcome.ok, outcome.detail) == (False, f"no answer within {time:g} s")
    started = [int(pid) for pid in pids.read_text().split()]
    assert len(started) == 2
    until(lambda: not any(map(alive, started)), what="the end of the plugin's processes")


def test_what_a_plugin_leaves_behind_is_ended(place):
    pids = place.parent / "pids"
    outcome = seen(place, write_plugin(place, "check_fork", plugins.FORKING.format(pids=pids)))
    assert (outcome.ok, outcome.detail) == (True, "forked")
    until(lambda: not alive(int(pids.read_text())), what="the end of what it left")


@pytest.mark.parametrize("code", [0, 2, 7])
def test_a_child_that_left_the_group_ends_with_the_check(place, code):
    """However the plugin ended in time."""
    pids = place.parent / "pids"
    outcome = seen(place, write_plugin(place, "check_detached", plugins.DETACHED.format(pids=pids, code=code)))
    assert "left" in outcome.detail
    until(lambda: not alive(int(pids.read_text())), what="the end of what had left the group")


def test_a_stop_ends_what_left_the_group_too(place):
    pids, running = place.parent / "pids", runner(place)
    path = write_plugin(place, "check_hung", f"setsid sleep 602 & echo $! > {pids}; sleep 601")
    check = threading.Thread(target=lambda: seen(place, path, timeout=30, running=running))
    check.start()
    until(lambda: pids.exists() and pids.read_text().strip(), what="the plugin's start")
    running.stop()
    until(lambda: not alive(int(pids.read_text())), what="the end of what had left the group")
    check.join()


def test_an_endless_output_is_cut(place):
    outcome = seen(place, write_plugin(place, "check_much", plugins.ENDLESS))
    assert (outcome.ok, outcome.metrics) == (True, None)
    assert outcome.detail == "x" * 65536


def test_a_stop_ends_what_runs_and_begins_nothing_more(place):
    pids, running = place.parent / "pids", runner(place)
    path = write_plugin(place, "check_hung", f"echo $$ > {pids}; sleep 601")
    outcomes = []
    check = threading.Thread(target=lambda: outcomes.append(seen(place, path, timeout=30, running=running)))
    check.start()
    until(lambda: pids.exists() and pids.read_text().strip(), what="the plugin's start")
    running.stop()
    check.join()
    assert [(outcome.ok, outcome.detail) for outcome in outcomes] == [
        (None, "the plugin did not run to its end: ended by signal 9")
    ]
    assert seen(place, path, running=running) == replace(outcomes[0], detail="the agent stops", response_time_ms=None)


def test_what_a_killed_agent_left_is_ended_by_the_next(place):
    pids = place.parent / "pids"
    path = write_plugin(place, "check_hung", f"echo $$ > {pids}; sleep 601")
    check = threading.Thread(target=lambda: seen(place, path, timeout=30))
    check.start()
    until(lambda: pids.exists() and pids.read_text().strip(), what="the plugin's start")
    assert end_left(str(place.parent)) >= 1
    until(lambda: not check.is_alive(), what="the end of the check")


def test_the_answer_comes_in_time_and_fits_into_its_message(place, monkeypatch):
    """It does not wait for the end of a plugin, however long that takes."""
    path = write_plugin(place, "check_stubborn", "trap '' TERM; sleep 601 & wait; wait")
    answers, may_end, is_over, end_group = [], threading.Event(), threading.Event(), processes.end_group

    def held(*given):
        may_end.wait()
        end_group(*given)
        is_over.set()

    monkeypatch.setattr(processes, "end_group", held)
    probing = Probing(lambda said: answers.append((is_over.is_set(), json.dumps(plain(said)))), runner(place))
    probing.take("p1", record({"type": "plugin", "timeout": 0.5, "command": [path]}, probemessages.PROBE_TARGET))
    until(lambda: answers, what="the answer")
    may_end.set()
    until(is_over.is_set, what="the plugin's end")
    ((was_over, answer),) = answers
    assert not was_over
    assert record(json.loads(answer)["outcome"], checks_of(Outcome))["ok"] is False


def test_what_cannot_be_printed_does_not_silence_the_answer(place):
    path = write_plugin(place, "check_nul", r"printf 'OK\000 fine | a\000=1m\000s\n'")
    told = json.loads(json.dumps(plain(message_of(seen(place, path)))))
    assert record(told, checks_of(Outcome))["detail"] == "OK  fine"
    assert (told["metrics"], told["units"]) == ({"a_": 0.001}, {"a_": "s"})


def test_a_number_that_is_somebody_elses_by_now_is_left_alone(place, monkeypatch):
    killed = []
    monkeypatch.setattr("opsapp.agent.probing.plugins.start_time", lambda pid: 7)
    monkeypatch.setattr("opsapp.agent.probing.plugins.signal_group", lambda *asked: killed.append(asked))
    assert seen(place, write_plugin(place, "check_it", plugins.OK)).ok
    assert (killed, signal_group(2**22 + 1, 0)) == ([], False)
