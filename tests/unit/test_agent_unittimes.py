"""How long the agent waits for systemd: as long as the unit may take, and a little more, up to a limit that is told."""

import pytest

from opsapp.agent import commands, unittimes
from opsapp.agent.unittimes import UnitPatience
from opsapp.healing.engine import commands as sent
from opsapp.wire.actionparams import HealParams
from opsapp.wire.actions import ACTIONS
from opsapp.wire.commands import check_params, read_params
from tests.support.fake_tools import Bench, Known, Task

SLOW = "TimeoutStartUSec=1min 30s\nTimeoutStopUSec=5min"
ENDLESS = "TimeoutStartUSec=infinity\nTimeoutStopUSec=1min 30s"
SHORT = "TimeoutStartUSec=5s\nTimeoutStopUSec=500ms"


def said(times, needs="Requires=system.slice"):
    """A systemctl that shows this, and whose restart takes a while."""
    return f"""case "$*" in
      *Requires*) printf '{needs}\n';;
      *Timeout*) printf '{times}\n';;
      *show*) printf 'Id=web.service\nActiveState=active\n';;
      *restart*) sleep 0.5; echo restarted;;
    esac"""


def waited(tmp_path, monkeypatch, times, action="restart_service", **more):
    Bench(tmp_path, monkeypatch, {"systemctl": said(times, **more)})
    return unittimes.for_action(ACTIONS[action], HealParams(service="web.service"))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (SLOW, UnitPatience(410, 390)),
        (SHORT, UnitPatience(200, 5.5)),
        (ENDLESS, UnitPatience(900, float("inf"))),
        ("TimeoutStartUSec=1h 1min\nTimeoutStopUSec=1min 30s", UnitPatience(900, 3750)),
        ("TimeoutStartUSec=soon\nTimeoutStopUSec=1min 30s", UnitPatience(200)),
        ("", UnitPatience(200)),
    ],
    ids=["longer", "shorter", "endless", "too long", "unknown word", "nothing said"],
)
def test_a_restart_waits_for_as_long_as_the_unit_may_take(tmp_path, monkeypatch, times, expected):
    assert waited(tmp_path, monkeypatch, times) == expected


def test_where_systemd_does_not_answer_the_usual_time_is_waited(tmp_path, monkeypatch):
    Bench(tmp_path, monkeypatch, {"systemctl": "echo Failed to connect to bus; exit 1"})
    assert unittimes.for_service("web") == UnitPatience(200)


def test_what_a_unit_requires_is_restarted_before_it(tmp_path, monkeypatch):
    needs = "Requires=system.slice db.service\nBindsTo=\nRequisite="
    assert waited(tmp_path, monkeypatch, SLOW, "service_dependency_restart", needs=needs) == UnitPatience(800, 780)


def test_other_actions_have_their_own_time(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"systemctl": said(SLOW)})
    assert unittimes.for_action(ACTIONS["container_image_pull"], HealParams(container="web")) == UnitPatience(600)
    assert bench.calls() == []


def test_a_unit_that_takes_longer_than_the_usual_time_is_waited_for(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"systemctl": said(SLOW)})
    monkeypatch.setitem(ACTIONS, "restart_service", ACTIONS["restart_service"]._replace(timeout=0.1))
    done = bench.execute("restart_service", within=None, service="web.service")
    assert (done.ran.status, done.ran.output) == ("done", b"restarted\n"), done


def test_a_service_that_takes_longer_than_the_usual_time_is_waited_for(tmp_path, monkeypatch):
    Bench(tmp_path, monkeypatch, {"systemctl": said(SLOW)})
    monkeypatch.setattr(unittimes, "UNIT_TIMEOUT_S", 0.1)
    asked = Task(read_params("service", {"service": "web", "action": "restart"}))
    assert commands.service(asked, Known({"systemctl"})).ran.status == "done"


def test_who_reaches_the_limit_is_told_what_systemd_allows(tmp_path, monkeypatch):
    bench = Bench(tmp_path, monkeypatch, {"systemctl": said(ENDLESS)})
    monkeypatch.setitem(ACTIONS, "restart_service", ACTIONS["restart_service"]._replace(timeout=0.1))
    monkeypatch.setattr(unittimes, "UNIT_LONGEST_S", 0.2)
    ran = bench.execute("restart_service", within=None, service="web.service").ran
    assert ran.status == "timeout"
    assert "the longest that is waited for; systemd waits for ever" in ran.reason


def test_who_gives_a_time_is_given_it(tmp_path, monkeypatch):
    Bench(tmp_path, monkeypatch, {"systemctl": said(SLOW)})
    given = read_params("service", {"service": "web", "action": "restart", "timeout": 1})
    assert given.timeout == 1
    assert commands.service(Task(given), Known({"systemctl"})).ran.status == "done"


def test_the_service_leaves_it_to_the_host_and_waits_as_long_as_that_may_take():
    assert check_params("service", {"service": "web", "action": "restart"})["timeout"] is None
    assert ACTIONS["restart_service"].longest == ACTIONS["vpn_reconnect"].longest == 900
    assert ACTIONS["run"].longest == ACTIONS["run"].timeout
    assert sent.timeout_of(ACTIONS["restart_service"]) is None
    assert sent.timeout_of(ACTIONS["run"]) == ACTIONS["run"].timeout
