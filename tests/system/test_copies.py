"""Most servers of the tests begin as copies of a process that has imported (tests/support/copies.py): what one of them
is, beside one that began as the program does."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from pyramid.events import ApplicationCreated

from tests.support import copies
from tests.support.process import Serve
from tests.support.raw import HANGS_S

pytestmark = pytest.mark.system

TOLD = "OPSAPP_TEST_TOLD"


class Telling(Serve):
    """A server that writes down what its process is, once it has an application."""

    def __init__(self, directory, **more):
        super().__init__(directory, **more)
        text = self.ini.read_text().replace("%(here)s", str(self.ini.parent))
        self.ini = self.directory / "telling.ini"
        self.ini.write_text(re.sub(r"^(\[app:main\])$", rf"\1\npyramid.includes = {__name__}", text, flags=re.M))

    def environment(self):
        return {**super().environment(), TOLD: str(self.directory / "told")}

    def told(self):
        return json.loads((self.directory / "told").read_text().replace(str(self.directory), "DIRECTORY"))


def includeme(config):
    config.add_subscriber(tell, ApplicationCreated)


def tell(_event):
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    about = {
        "modules": sorted(name for name in sys.modules if not name.startswith("tests.support.nursery")),
        "words": [sys.executable, *sys.argv],
        "path": sys.path,
        "flags": str(sys.flags),
        "environment": dict(os.environ),
        "directory": os.getcwd(),
        "status": {name: status[name] for name in ("Umask", "SigBlk", "SigIgn", "SigCgt", "Uid", "Gid", "Groups")},
        "signals": {str(number): str(signal.getsignal(number)) for number in signal.valid_signals()},
        "warnings": [str(rule) for rule in warnings.filters],
        "collects": [gc.isenabled(), gc.get_threshold()],
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "streams": [describe(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)],
        "files": sorted(
            os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd") if open_(number)
        ),
        "main": [sys.modules["__main__"].__name__, sys.modules["__main__"].__spec__.name],
    }
    Path(os.environ[TOLD]).write_text(json.dumps(about))


def open_(number):
    """Whether it is still: that of the list itself is not."""
    return os.path.lexists(f"/proc/self/fd/{number}")


def describe(stream):
    return [stream.name, stream.mode, stream.encoding, stream.errors, stream.line_buffering, stream.write_through]


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """A server that began as the program does, and a copy."""
    port = Serve(tmp_path / "first").port
    servers = [Telling(tmp_path / kind, port=port) for kind in ("program", "copy")]
    for server, is_program in zip(servers, (True, False), strict=True):
        monkeypatch.setattr(copies, "own_program", is_program)
        monkeypatch.setattr(copies, "_begun", copies.PROGRAMS_FIRST)
        with server:
            assert server.stop() == 0
    assert [type(server.child) for server in servers] == [subprocess.Popen, copies.Copy]
    return servers


def test_a_copy_is_what_the_program_would_be(pair):
    program, copy = [server.told() for server in pair]
    for about in program:
        assert copy[about] == program[about], about


@pytest.fixture
def copied(tmp_path, monkeypatch):
    monkeypatch.setattr(copies, "own_program", False)
    monkeypatch.setattr(copies, "_begun", copies.PROGRAMS_FIRST)
    with Serve(tmp_path) as serve:
        assert isinstance(serve.child, copies.Copy)
        yield serve


def test_a_copy_is_waited_for_like_a_child(copied):
    child = copied.child
    assert child.poll() is None
    assert child.returncode is None
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0)
    child.kill()
    assert child.wait(HANGS_S) == -signal.SIGKILL == child.poll() == child.returncode
    child.terminate()  # nobody is told: its number may be another process' by now


def test_a_copy_that_cannot_start_says_so(tmp_path, copied):
    again = Serve(tmp_path / "again", data=copied.data)
    with pytest.raises(AssertionError, match="ended with 1"):
        again.start()
    assert "another process serves this data already" in again.tail()
