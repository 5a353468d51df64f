"""The Autobahn test suite itself against our server: sections 1 to 7 and 10, 247 cases, each of them passed.

It is a Python 2 program that the project does not carry: `OPSAPP_WSTEST="python2 /path/to/wstest"` says where it is
(`pip2 install autobahntestsuite`). The cases by section are our own in test_websocket_conformance.py, and always run.
"""

import json
import os
import shlex
import subprocess

import pytest

from tests.support.serving import Serving

WSTEST = os.environ.get("OPSAPP_WSTEST")
pytestmark = [
    pytest.mark.system,
    pytest.mark.soak,
    pytest.mark.skipif(not WSTEST, reason="OPSAPP_WSTEST does not say where the Autobahn test suite is"),
]
GOOD = {"OK", "INFORMATIONAL"}  # the latter: cases that only record what a server does


def test_every_case_is_passed_strictly(tmp_path):
    with Serving() as serving:
        plan = {
            "outdir": str(tmp_path / "reports"),
            "servers": [{"agent": "opsapp", "url": f"ws://127.0.0.1:{serving.port}/api/session"}],
            "cases": [f"{section}.*" for section in (1, 2, 3, 4, 5, 6, 7, 10)],
            "exclude-cases": [],
            "exclude-agent-cases": {},
        }
        (tmp_path / "plan.json").write_text(json.dumps(plan))
        command = [*shlex.split(WSTEST), "-m", "fuzzingclient", "-s", str(tmp_path / "plan.json")]
        subprocess.run(command, check=True, timeout=900, cwd=tmp_path, capture_output=True)
    found = json.loads((tmp_path / "reports" / "index.json").read_text())["opsapp"]
    assert len(found) == 247
    wrong = {name: one for name, one in found.items() if not {one["behavior"], one["behaviorClose"]} <= GOOD}
    assert not wrong
