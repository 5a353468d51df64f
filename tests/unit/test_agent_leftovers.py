"""What a killed server leaves of its programs on this machine: ended by the next server, whatever the store says."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from opsapp.agent import leftovers
from tests.support.waiting import until


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Makes what a server would have left: its program, which has left the process group, and its directory."""
    monkeypatch.setattr(leftovers.tempfile, "gettempdir", lambda: str(tmp_path))
    children = []

    def make(server, **more):
        directory = tmp_path / f"{leftovers.DIRECTORY}.{server}.r1-abc"
        directory.mkdir(exist_ok=True)
        env = {**os.environ, leftovers.RUN: "r1", leftovers.OWNER: server, **more}
        child = subprocess.Popen(["sleep", "60"], env=env, start_new_session=True)
        children.append(child)
        # The kernel lets its parent go on a moment before the new program's environment can be read.
        until(lambda: leftovers.RUN in Path(f"/proc/{child.pid}/environ").read_text(), what="its marks")
        return child, directory

    yield make
    for child in children:
        child.kill()
        child.wait()


@pytest.fixture
def dead():
    """The name of a server that is gone."""
    with subprocess.Popen(["sleep", "60"]) as server:
        name = f"{leftovers._namespace()}_{server.pid}_{leftovers._beginning(server.pid)}"
        server.kill()
    return name


def test_programs_and_directories_of_a_dead_server_are_cleared(started, dead):
    child, directory = started(dead)
    leftovers.clear_leftovers()  # or a server that starts beside this test did it a moment ago
    assert child.wait() == -signal.SIGKILL
    assert not directory.exists()


def test_a_number_that_another_process_has_by_now_is_no_living_server(started):
    child, directory = started(leftovers.this_process()[:-1])
    leftovers.clear_leftovers()  # or a server that starts beside this test did it a moment ago
    assert child.wait() == -signal.SIGKILL
    assert not directory.exists()


@pytest.mark.parametrize("living", [leftovers.this_process, lambda: "1" + leftovers.this_process(), lambda: "rubbish"])
def test_what_a_living_server_runs_or_nobody_can_judge_is_left_alone(started, living):
    child, directory = started(living())
    leftovers.clear_leftovers()
    assert child.poll() is None
    assert directory.exists()


def test_what_a_run_of_ours_left_is_ended_and_a_run_of_the_same_name_of_another_server_goes_on(started):
    ours, _directory = started(leftovers.this_process())
    with subprocess.Popen(["sleep", "60"]) as server:
        other, _directory = started(f"{leftovers._namespace()}_{server.pid}_{leftovers._beginning(server.pid)}")
        assert leftovers.end_stragglers("r1") == 1
        assert (ours.wait(), other.poll()) == (-signal.SIGKILL, None)
        server.kill()


def test_a_program_that_names_more_in_its_environment_is_found_all_the_same(started):
    child, _directory = started(leftovers.this_process(), OPSAPP_RUN_OF_THE_SCRIPT="1")
    assert leftovers.end_stragglers("r1") == 1
    assert child.wait() == -signal.SIGKILL
