"""`opsapp demo` as a newcomer uses it: a heal is seen, and nothing is left."""

import contextlib
import os
import signal
import urllib.request
from pathlib import Path

import pytest

from tests.support.demo import Demo
from tests.support.process import ROOT, opsapp
from tests.support.waiting import until


@pytest.fixture
def demo(tmp_path):
    with Demo(tmp_path) as started:
        yield started


def living(pids):
    return [pid for pid in pids if Path(f"/proc/{pid}/stat").exists() and not is_zombie(pid)]


def is_zombie(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def test_a_heal_is_seen_and_the_end_leaves_nothing(demo):
    family = demo.family()
    assert len(family) == 5  # three services, the server, the agent
    until(demo.has_healed, 90, what="a verified heal")
    with urllib.request.urlopen(f"http://127.0.0.1:{demo.port}/status", timeout=5) as page:
        assert b"Demo shop" in page.read()
    again = opsapp("serve", ROOT / "development.ini", "--demo", "--data", demo.data)
    assert (again.returncode, "a demo runs" in again.stderr) == (1, True)
    demo.child.send_signal(signal.SIGINT)
    assert demo.child.wait(30) == 0
    assert living(family) == []
    assert not demo.place.exists()


def test_what_a_killed_demo_leaves_is_ended_and_deleted(demo):
    family = demo.family()
    os.kill(demo.child.pid, signal.SIGKILL)
    demo.child.wait(10)
    until(lambda: not living(family), 10, what="its processes have ended")
    assert demo.place.exists()
    done = opsapp("demo", "--remove", "--dir", demo.place)
    assert (done.returncode, done.stdout) == (0, f"The demo is gone, and so is {demo.place}.\n")
    assert not demo.place.exists()


def test_one_that_runs_is_ended_from_another_terminal(demo):
    family = demo.family()
    assert opsapp("demo", "--remove", "--dir", demo.place).returncode == 0
    assert demo.child.wait(30) == 0
    assert living(family) == []
    assert not demo.place.exists()


def test_nothing_of_others_is_deleted(tmp_path):
    (tmp_path / "mine").write_text("dear")
    for words in (["--remove"], []):
        done = opsapp("demo", *words, "--dir", tmp_path)
        assert done.returncode == 1
        assert "no demo" in done.stderr
    assert (tmp_path / "mine").read_text() == "dear"
