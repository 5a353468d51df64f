"""A restore between heals of a real host, with the settings that opsapp comes with: its agent goes on healing."""

import pytest

from tests.fleet.care import DEFAULT, Ward
from tests.fleet.healed import promote
from tests.support.process import opsapp
from tests.support.waiting import until

pytestmark = pytest.mark.nightly("minutes of the default waits")

RULE = "default-service"


@pytest.fixture
def ward(host, lab, tmp_path):
    with lab.serve(tmp_path / "server") as serve:
        yield Ward(host, serve, **DEFAULT)


def heal(ward, unit):
    ward.host.exec("systemctl", "stop", unit)
    done = ward.ended(RULE, f"{ward.host.name}/{unit}", "verified", 90)
    assert done["action_type"] == "restart_service"
    assert ward.host.exec("systemctl", "is-active", unit).stdout == "active\n"
    return done["id"]


def again(ward, restored=None):
    """The server stops and starts; between the two a backup is put back, if there is one."""
    serve = ward.serve
    assert serve.stop() == 0
    if restored:
        done = opsapp("restore", restored, "--data", serve.data)
        assert done.returncode == 0, done.stderr
    serve.start()
    until(lambda: ward.api.get(f"/api/agents/{ward.agent_id}")["connected"], 90, what="the agent being connected")


@pytest.mark.timeout(900)
def test_after_a_restore_the_next_heal_is_verified(ward, tmp_path):
    units = ("first", "second", "third", "fourth")
    ward.run(*units)
    promote(ward.api, RULE)
    heal(ward, "first")
    saved = opsapp("backup", tmp_path / "saved", "--data", ward.serve.data)
    assert saved.returncode == 0, saved.stderr
    heal(ward, "second")
    again(ward)
    lost = heal(ward, "third")  # the newest that its agent has seen, of a service that is forgotten now
    again(ward, restored=tmp_path / "saved")
    assert lost not in [one["id"] for one in ward.ledger(RULE, f"{ward.host.name}/third")]
    heal(ward, "fourth")
    entries = ward.api.get("/api/healing/ledger?limit=1000")
    assert [one for one in entries if "stale_token" in (one["reason"] or "")] == []
    assert ward.api.get("/api/healing/health")["status"] == "Active"
    assert ward.api.get("/api/healing/ledger/verify")["valid"] is True
