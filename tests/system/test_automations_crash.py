"""kill -9 of the server in the middle of runs: none is carried out twice, none stays `running`, what waited goes on."""

import http.client
import random
import re
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.automations import FINAL, make, script
from tests.support.client import Client, Refused
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = pytest.mark.system
RUN_OF = re.compile(r"\.([^.-]+)-")


class Asker:
    """Asks for runs until it is told to end, through every restart."""

    def __init__(self, serve, automations, chance):
        self.client = Client(serve.url, token=serve.admin.token, timeout=10)
        self.automations, self.chance = automations, chance
        self.asked = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._ending.wait(0.01):
            path = f"/api/automations/{self.chance.choice(self.automations)}/run"
            try:
                self.asked.append(self.client.post(path)["run_id"])
            except (OSError, http.client.HTTPException, Refused):
                self._ending.wait(0.05)

    def end(self):
        self._ending.set()
        self._thread.join()


def crash_again_and_again(tmp_path, points, seed, runs):
    chance, marks = random.Random(seed), tmp_path / "marks"
    with Serve(tmp_path, config={"automations": {"retry_delay_s": 0.05, "kill_grace_s": 0.5}}) as serve:
        text = f"echo $OPSAPP_RUN_ID >> {marks}; sleep 0.0$(( $$ % 8 ))"
        singles = [script(serve, text, name=f"single {n}") for n in range(6)]
        whole = make(serve, "composite", {"automations": singles[:2]}, name="whole")
        asker = Asker(serve, [*singles, whole], chance)
        for _ in range(points):
            seen = len(asker.asked)
            until(lambda seen=seen: len(asker.asked) >= seen + runs // points, 60, what="further runs")
            time.sleep(chance.uniform(0, 0.15))  # the seeded point of the kill
            serve.kill()
            serve.start()
        asker.end()
        rows = until(lambda: all_over(serve), 120, every=0.3, what="the end of every run")
        again = [run_id for run_id, count in Counter(marks.read_text().split()).items() if count > 1]
        asked = set(asker.asked)
        left = [path.name for path in Path("/tmp").glob("opsapp-run.*-*") if RUN_OF.search(path.name)[1] in asked]
    assert again == []
    assert set(asker.asked) <= rows.keys()
    assert set(rows.values()) <= {"done", "lost", "failed"}
    assert left == []
    return asker.asked, rows


def all_over(serve):
    rows, offset = {}, 0
    while True:
        page = serve.admin.get(f"/api/automations/runs?limit=1000&offset={offset}")
        rows.update({row["run_id"]: row["status"] for row in page})
        if len(page) < 1000:
            break
        offset += 1000
    return rows if set(rows.values()) <= FINAL else None


@pytest.mark.crash
@pytest.mark.timeout(600)
@pytest.mark.parametrize("points", [4, pytest.param(15, marks=pytest.mark.nightly("the core list has four kills"))])
def test_no_run_is_doubled_or_stuck_by_kill_9(tmp_path, points):
    asked, rows = crash_again_and_again(tmp_path, points, seed=7, runs=7 * points)
    assert len(asked) >= 6 * points
    assert "done" in rows.values()


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_no_run_is_doubled_or_stuck_by_100_kills(tmp_path):
    crash_again_and_again(tmp_path, points=100, seed=random.randrange(1 << 32), runs=1000)
