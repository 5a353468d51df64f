"""`opsapp demo` as a newcomer uses it: a heal is seen, and nothing is left."""

import contextlib
import os
import signal
import socket
import urllib.request
from pathlib import Path

import pytest

from opsapp.demo import estate
from opsapp.demo.processes import LASTS_S, DemoProcesses, DemoTrouble
from tests.support.demo import Demo
from tests.support.process import ROOT, opsapp
from tests.support.receiver import Receiver
from tests.support.waiting import patience, until


@pytest.fixture
def demo(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_SECRET_FILE", str(tmp_path / "key-of-an-installation"))
    with Demo(tmp_path) as started:
        yield started


def living(pids):
    return [pid for pid in pids if Path(f"/proc/{pid}/stat").exists() and not is_zombie(pid)]


def is_zombie(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def test_a_heal_is_seen_and_the_end_leaves_nothing(demo, tmp_path):
    family = demo.family()
    assert len(family) == 5  # three services, the server, the agent
    until(demo.has_healed, 90, what="a verified heal")
    with urllib.request.urlopen(f"http://127.0.0.1:{demo.port}/status", timeout=60) as page:
        assert b"Demo shop" in page.read()
    assert f"the password is in {demo.place}/admin-password" in demo.tail()  # no password in a log
    again = opsapp("serve", ROOT / "development.ini", "--demo", "--data", demo.data)
    assert (again.returncode, "a demo runs" in again.stderr) == (1, True)
    demo.child.send_signal(signal.SIGINT)
    assert demo.child.wait(30 * patience()) == 0
    assert living(family) == []
    assert not demo.place.exists()
    assert not (tmp_path / "key-of-an-installation").exists()


@pytest.mark.nightly("the core list has the walk through the demo")
def test_what_a_killed_demo_leaves_is_ended_and_deleted(demo):
    family = demo.family()
    os.kill(demo.child.pid, signal.SIGKILL)
    demo.child.wait(10 * patience())
    until(lambda: not living(family), 10, what="its processes have ended")
    assert demo.place.exists()
    done = opsapp("demo", "--remove", "--dir", demo.place)
    assert (done.returncode, done.stdout) == (0, f"The demo is gone, and so is {demo.place}.\n")
    assert not demo.place.exists()


@pytest.mark.nightly("the core list has the walk through the demo")
def test_one_that_runs_is_ended_from_another_terminal(demo):
    family = demo.family()
    assert opsapp("demo", "--remove", "--dir", demo.place).returncode == 0
    assert demo.child.wait(30 * patience()) == 0
    assert living(family) == []
    assert not demo.place.exists()


def test_a_taken_port_is_told_and_nothing_is_left(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = opsapp("demo", "--dir", tmp_path / "demo", "--port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"opsapp: cannot listen at 127.0.0.1:{port}: Address already in use\n"
    assert not (tmp_path / "demo").exists()


def test_nothing_of_others_is_deleted(tmp_path):
    (tmp_path / "mine").write_text("dear")
    for words in (["--remove"], []):
        done = opsapp("demo", *words, "--dir", tmp_path)
        assert done.returncode == 1
        assert "no demo" in done.stderr
    assert (tmp_path / "mine").read_text() == "dear"


@pytest.mark.nightly("the core list has the walk through the demo")
def test_another_service_at_the_address_is_not_asked_anything(tmp_path):
    with Receiver() as other:
        done = opsapp("demo", "--port", other.port, "--dir", tmp_path / "demo")
    assert done.returncode == 1
    assert "ddress already in use" in done.stderr
    assert other.asked == 0
    assert not (tmp_path / "demo").exists()


def test_a_story_that_is_refused_is_told_once_and_ends_nothing():
    with Receiver() as service:
        story = estate.DemoStory(f"http://127.0.0.1:{service.port}", "ended")
        assert ["not shown here any more" in line for line in [*story.step(), *story.step()]] == [True]


class Shop:
    """The demo's shop as a process, what goes wrong with it, and a clock that the test moves."""

    def __init__(self, processes):
        self.now, self.processes = 0.0, processes
        processes.start_sites(["shop"])
        self.trouble = DemoTrouble(processes, lambda: self.now)

    def pass_by(self, seconds):
        lines = []
        for _ in range(int(seconds)):
            self.now += 1
            lines += self.trouble.step()
        return lines

    def restart(self):
        self.processes.restart("shop")

    def is_well(self):
        return self.processes.sites["shop"].runs


@pytest.fixture
def shop(tmp_path):
    with DemoProcesses(tmp_path) as processes:
        yield Shop(processes)


def test_the_shop_stops_and_becomes_slow_in_turns(shop):
    (stopped,) = shop.pass_by(21)
    assert "has stopped" in stopped
    assert not shop.is_well()
    shop.restart()
    (slow,) = shop.pass_by(182)
    assert "become slow" in slow
    shop.restart()
    assert ["has stopped" in line for line in shop.pass_by(182)] == [True]


def test_what_nobody_restarts_is_restarted_by_the_demo(shop):
    shop.pass_by(21)
    assert shop.pass_by(LASTS_S) == ["Nobody has restarted the shop: the demo has done it."]
    assert shop.is_well()


def test_a_shop_that_a_visitor_has_killed_is_said_and_does_not_end_the_demo(shop):
    shop.processes.sites["shop"].end()
    (line,) = shop.pass_by(2)
    assert "the demo did not do it" in line
    shop.restart()
    (slow_or_stopped,) = shop.pass_by(182)
    assert slow_or_stopped.startswith("The shop has")
