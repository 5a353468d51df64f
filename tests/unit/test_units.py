"""The unit files of the guide: what systemd itself says of them."""

import pathlib
import re
import shutil
import subprocess

import pytest

UNITS = pathlib.Path(__file__).resolve().parents[2] / "docs/guide/units"
MOST = 3.0


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze")
@pytest.mark.parametrize("name", ["opsapp.service", "opsapp-executor@.service"])
def test_the_units_leave_little_open(name):
    command = ["systemd-analyze", "security", "--offline=yes", "--no-pager", str(UNITS / name)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if "unrecognized option" in said.stderr:
        pytest.skip("a systemd older than 250 cannot judge a file")
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", said.stdout)
    assert found, said.stdout + said.stderr
    assert float(found[1]) <= MOST


def test_service_and_executor_have_users_of_their_own():
    users = [re.search(r"^User=(.+)$", path.read_text(), re.M)[1] for path in sorted(UNITS.glob("*.service"))]
    assert len(users) == len(set(users)) == 2
    assert "root" not in users
