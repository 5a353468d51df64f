"""An executor that ends while a message waits for its turn to be written."""

from types import SimpleNamespace

import gevent
import pytest

from opsapp.agents.engine.executor import ExecutorProcess
from opsapp.wire.messages import CancelAsked, Ping
from tests.support.clock import FakeClock

PROGRAM = {"name": "run-1", "steps": [["true"]], "timeout": 5.0}


@pytest.fixture
def executor():
    node = SimpleNamespace(registry=SimpleNamespace(settings={}), clock=FakeClock(), wake=lambda name: None)
    process = ExecutorProcess(node)
    process._sock, far = gevent.socket.socketpair()
    process._ready.set()
    with far:
        yield process


@pytest.mark.parametrize(
    ("write", "outcome"),
    [
        (lambda process: process.run("c1", PROGRAM).status, "lost"),
        (lambda process: process._send_if_there(Ping("ping")), None),
        (lambda process: process._send_if_there(CancelAsked("c1")), None),
    ],
    ids=["a command is lost", "nobody is asked", "nothing is cancelled"],
)
def test_who_waits_to_write_hears_that_it_has_ended(executor, write, outcome):
    with executor._writing:
        writer = gevent.spawn(write, executor)
        gevent.idle()
        executor._gone("it has ended")
    assert writer.get() == outcome
