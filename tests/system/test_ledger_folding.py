"""kill -9 while the ledger is folded: the chain is whole each time, what was said to be folded is, and it goes on."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.app import Service
from tests.support.ledger_folder import ENTRIES
from tests.support.waiting import until

pytestmark = pytest.mark.system
ROOT = Path(__file__).resolve().parents[2]


def fold_until_killed(directory, lines):
    """End the folder without warning once it has said so many lines; the last number that it said, 0 for none."""
    said = directory / "said"
    command = [sys.executable, "-m", "tests.support.ledger_folder", str(directory)]
    with open(said, "w") as out:
        child = subprocess.Popen(command, stdout=out, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        try:
            until(lambda: said.read_text().count("\n") > lines or child.poll() is not None, 60, what=f"{lines} pages")
        finally:
            child.send_signal(signal.SIGKILL)
            child.wait()
    numbers = [int(line) for line in said.read_text().split("\n")[:-1] if line.isdigit()]
    return numbers[-1] if numbers else 0


@pytest.mark.nightly("it starts six processes; the core list kills at each transaction of a pass")
def test_the_chain_is_whole_wherever_the_process_dies(tmp_path):
    folded = 0
    for lines in (3, 40, 90):
        said = fold_until_killed(tmp_path, lines)
        with closing(Service(tmp_path)) as service:
            verdict = service.vera.get("/api/healing/ledger/verify").json
        assert (verdict["valid"], verdict["entries"] + verdict["folded"]) == (True, ENTRIES), verdict
        assert folded < said <= verdict["folded"] <= said + 1, "what was said is folded, and at most the next one"
        folded = verdict["folded"]
