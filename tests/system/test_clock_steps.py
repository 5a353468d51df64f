"""A real server's clock is set back and forth while it runs, and while it does not."""

import time

import pytest

from tests.support.checkedsite import CheckedSite
from tests.support.monitors import MONITORS, checked
from tests.support.process import opsapp
from tests.support.stepped import SteppedServe
from tests.support.waiting import until

pytestmark = pytest.mark.system

HOUR = 3600
RULE = {
    "id": "gone",
    "condition": 'monitor.status == "down"',
    "initial_level": "notify",
    "action": {"type": "clear_cache"},
}
CONFIG = {"healing": {"default_rules": False, "hold_s": 0.1, "rules": [RULE]}}


def to_the_end_of_a_minute(seconds):
    """About so many seconds, so that the stepped clock then shows five seconds before a full minute."""
    return seconds - seconds % 60 + 55 - time.time() % 60


@pytest.mark.parametrize(
    ("seconds", "way"),
    [
        (-HOUR, "back"),
        pytest.param(HOUR, "forward", marks=pytest.mark.nightly("the core list has a clock that is set back")),
        pytest.param(25 * HOUR, "forward", marks=pytest.mark.nightly("the core list has a clock that is set back")),
    ],
)
def test_monitors_rules_and_schedules_go_on_and_the_step_is_told(tmp_path, seconds, way):
    with SteppedServe(tmp_path, CONFIG) as serve:
        monitor = {"name": "shop", "type": "http", "interval": 5, "timeout": 4, "retries": 0}
        every_minute = {"name": "tick", "type": "notification", "params": {"title": "x"}, "schedule": "* * * * *"}
        with CheckedSite() as site:
            path = f"{MONITORS}/{serve.admin.post(MONITORS, {**monitor, 'url': site.url}, expect=201)['id']}"
            serve.admin.post("/api/automations", every_minute, expect=201)
            checked(serve, path, "up")
            had = len(serve.admin.get("/api/automations/runs"))
            serve.step_clock(to_the_end_of_a_minute(seconds))
            until(
                lambda: f"the clock of this machine was set {way}" in serve.log.read_text(), 5, what="the step noticed"
            )
            serve._admin = None  # a session ends by the clock on the wall
        notes = serve.admin.get("/api/healing/health")["notes"]
        assert [f"was set {way} by" in note for note in notes].count(True) == 1
        findings = serve.admin.get("/api/doctor")["findings"]
        assert [f"was set {way} by" in finding["said"] for finding in findings].count(True) == 1
        checked(serve, path, "down")
        [entry] = until(lambda: serve.admin.get("/api/healing/ledger"), 20, what="the alert")
        assert (entry["rule_id"], entry["outcome"]) == ("gone", "notified")
        until(lambda: len(serve.admin.get("/api/automations/runs")) > had, 30, what="a run by its schedule")


@pytest.mark.files("copies the files of the store")
def test_a_store_from_the_future_starts_works_and_is_copied(tmp_path):
    serve = SteppedServe(tmp_path / "serve", CONFIG)
    serve.step_clock(25 * HOUR)
    with CheckedSite() as site, serve:
        monitor = {"name": "shop", "type": "http", "interval": 5, "timeout": 4, "retries": 0, "url": site.url}
        path = f"{MONITORS}/{serve.admin.post(MONITORS, monitor, expect=201)['id']}"
        checked(serve, path, "up")
        serve.kill()
        serve.step_clock(0)
        done = opsapp("doctor", *serve.places)
        assert "changes from times that have not come yet, since" in done.stdout
        serve.start()
        serve._admin = None
        since = serve.admin.get(path)["last_check"]
        until(lambda: serve.admin.get(path)["last_check"] not in (None, since), 20, what="a check after the start")
        assert serve.admin.get(path)["status"] == "up"
        assert opsapp("backup", *serve.places, str(tmp_path / "copy")).returncode == 0
        told = [note for note in serve.admin.get("/api/healing/health")["notes"] if "was set back by 1 d" in note]
        assert len(told) == 1
    assert opsapp("restore", *serve.places, str(tmp_path / "copy")).returncode == 0
    with serve:
        checked(serve, path, "down")
