"""1,000 runs queued and 50 readers on their streams: memory stays bounded, and every reader gets its lines in order."""

import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.automations import events, run, script
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = pytest.mark.system
QUEUED, READERS, LINES = 1000, 50, 4000


def memory(serve):
    return int(Path(f"/proc/{serve.child.pid}/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.nightly("a load of minutes")
@pytest.mark.crash
@pytest.mark.timeout(600)
def test_a_thousand_queued_runs_and_fifty_readers(tmp_path):
    config = {"web": {"limits": {"streams_per_user": READERS}}}  # all of them are one admin's
    with Serve(tmp_path, config) as serve:
        gate = tmp_path / "gate"
        slow = script(serve, f"while [ ! -e {gate} ]; do sleep 0.1; done; seq 1 {LINES}")
        first = run(serve, slow)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: run(serve, slow), range(QUEUED)))
        assert serve.admin.get(f"/api/automations/{slow}")["queued"] == QUEUED
        before, seen = memory(serve), [[] for _ in range(READERS)]

        def read(lines):
            for event in events(serve, first, timeout=120):
                if event["event"] == "log":
                    lines.append(int(event["data"]["line"]))

        threads = [threading.Thread(target=read, args=(lines,), daemon=True) for lines in seen]
        for thread in threads:
            thread.start()
        gate.touch()
        for thread in threads:
            thread.join(120)
        assert all(lines == list(range(1, LINES + 1)) for lines in seen)
        grown = memory(serve) - before
        assert grown < 80 << 20, f"{grown >> 20} MiB more"
        until(lambda: serve.admin.get(f"/api/automations/{slow}")["queued"] < QUEUED - 5, 60, what="the queue going on")
        serve.admin.delete(f"/api/automations/{slow}")
