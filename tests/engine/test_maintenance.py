"""What a window does: monitors, incidents, the SLA, messages, heals that wait. The clock is the test's."""

import pytest

from opsapp.agents.engine.lifecycle import create as add_agent
from opsapp.healing.config import HealingSettings
from opsapp.healing.resources import healing_of
from opsapp.maintenance.engine import active_windows, board_of, healing_windows, silent
from opsapp.maintenance.engine import windows as engine
from opsapp.maintenance.resources import HealingWindow
from opsapp.monitoring.engine.maintenance import WindowEdges
from opsapp.notify.resources import inbox
from opsapp.runtime import serieswork
from opsapp.runtime.config import General
from tests.support.monitoring import DOWN, UP, Lookout
from tests.support.projections import failing_load

BASE, HEALING = "/api/maintenance", "/api/healing/maintenance"
# The test's clock stands at 2055-01-15 08:00 UTC.
LATER = {"name": "patch", "start": "2055-01-15T08:10:00", "end": "2055-01-15T08:20:00"}


@pytest.fixture
def lookout(service):
    lookout = Lookout(service)
    lookout.edges = WindowEdges(service.node, lookout.watch.register, lookout.checker.table)
    tick = lookout.tick

    def with_windows():
        lookout.edges.step()
        tick()

    lookout.tick = with_windows
    return lookout


def window(service, **more):
    return service.otto.post_json(BASE, LATER | more, status=201).json["id"]


def told(service):
    return [row.title for row in service.transact(inbox.take, 100)]


def test_a_window_begins_and_ends_for_the_monitors_in_it(service, lookout):
    covered, other = lookout.add(name="Covered"), lookout.add(name="Other")
    lookout.sees.update({covered: UP, other: UP})
    window(service, scope=[covered])
    lookout.run(599)
    assert lookout.monitor(covered)["status"] == "up"
    lookout.sees.update({covered: DOWN, other: DOWN})
    lookout.run(5)
    assert lookout.monitor(covered)["status"] == "maintenance"
    lookout.run(300)
    assert lookout.monitor(covered)["status"] == "maintenance"
    assert lookout.monitor(other)["status"] == "down"
    assert [each["monitor_id"] for each in lookout.incidents()] == [other]
    assert told(service) == ["Other is down"]
    lookout.run(300)
    assert lookout.monitor(covered)["status"] == "down"
    assert sorted(each["monitor_name"] for each in lookout.incidents()) == ["Covered", "Other"]
    assert told(service) == ["Covered is down"]


def test_the_time_of_a_window_is_not_in_the_sla(service, lookout):
    monitor = lookout.add(interval=60)
    lookout.sees[monitor] = UP
    lookout.run(590)
    window(service)
    lookout.sees[monitor] = DOWN
    lookout.run(605)
    lookout.sees[monitor] = UP
    lookout.run(600)
    serieswork.stop(service.node)  # commits what was observed
    (entry,) = service.vera.get("/api/monitoring/sla?days=1").json
    assert entry["uptime_percent"] == 100
    assert 9.5 <= entry["maintenance_minutes"] <= 10.5


def test_begin_and_end_are_checked_at_once_and_not_an_interval_later(service, lookout):
    monitor = lookout.add(interval=3600)
    lookout.sees[monitor] = UP
    lookout.run(100)
    window(service)
    lookout.run(1200)
    checked = [round(at) for each, at in lookout.checked if each == monitor]
    assert [at for at in checked if 595 <= at <= 605]
    assert [at for at in checked if 1195 <= at <= 1205]
    assert lookout.monitor(monitor)["status"] == "up"


def test_a_window_shows_before_the_next_check_and_no_longer_than_it_is_on(service, lookout):
    monitor = lookout.add()
    lookout.sees[monitor] = UP
    lookout.run(61)
    made = window(service)
    service.otto.post(f"{BASE}/{made}/activate")
    assert lookout.monitor(monitor)["status"] == "maintenance"
    listed = service.vera.get("/api/monitoring/endpoints?status=maintenance").json
    assert [one["id"] for one in listed] == [monitor]
    service.otto.post(f"{BASE}/{made}/deactivate")
    assert lookout.monitor(monitor)["status"] in ("up", "unknown")
    service.otto.post(f"{BASE}/{made}/activate")
    lookout.run(2)
    service.otto.delete(f"{BASE}/{made}")
    lookout.run(2)
    assert lookout.monitor(monitor)["status"] == "up"


def test_an_incident_that_is_open_is_resolved_in_silence(service, lookout):
    monitor = lookout.add()
    lookout.sees[monitor] = DOWN
    lookout.run(120)
    assert told(service) == ["Shop is down"]
    window(service, scope=[monitor])
    lookout.run(500)
    lookout.sees[monitor] = UP
    lookout.run(100)
    assert [each["status"] for each in lookout.incidents()] == ["resolved"]
    assert told(service) == []


def test_the_status_page_tells_of_windows(service, lookout):
    shown, hidden = lookout.add(name="Shown", tags=["public"]), lookout.add(name="Hidden")
    window(service, name="covers", scope=[shown, hidden])
    window(service, name="covers another", scope=[hidden])
    window(service, name="everything", start="2055-01-16T08:00:00", end="2055-01-16T09:00:00")
    window(service, name="far away", start="2055-06-16T08:00:00", end="2055-06-16T09:00:00")
    found = service.anonymous.get("/api/monitoring/status-page").json["maintenance"]
    assert [(one["name"], one["monitors"], one["active"]) for one in found] == [
        ("covers", ["Shown"], False),
        ("everything", ["Shown"], False),
    ]
    lookout.sees.update({shown: UP, hidden: UP})
    lookout.run(700)
    document = service.anonymous.get("/api/monitoring/status-page").json
    assert document["overall"] == "maintenance"
    assert document["maintenance"][0]["active"] is True


def test_targets_are_silent_by_id_name_and_part(service, lookout):
    monitor = lookout.add(name="Shop")
    agent, _ = service.transact(add_agent, "box-1", [])
    made = window(service, scope=[monitor, agent])
    service.otto.post(f"{BASE}/{made}/activate")
    now = service.clock.now()
    for target, quiet in [(monitor, True), ("Shop", True), (agent, True), ("box-1", True), ("box-1/nginx", True),
                          ("box-2", False), ("box-2/nginx", False)]:  # fmt: skip
        assert service.transact(silent, target, now) is quiet, target
    service.otto.post_json(HEALING, {"target": "box-2", "duration": "1h", "action": "suppress"}, status=201)
    assert service.transact(silent, "box-2", now) is False, "a healing window is about healing"


def test_this_nodes_memory_follows_the_store(service):
    """What another node changes comes by its event; here the store is changed behind the memory's back."""
    board, now = board_of(service.node), service.clock.now()
    made = window(service)
    service.otto.post(f"{BASE}/{made}/activate")
    assert board.covered(now)("anything")
    board.put(made, None)
    assert not board.covered(now)("anything")
    board.step()
    assert not board.covered(now)("anything")
    board.reset()
    board.step()
    assert board.covered(now)("anything")
    assert not board.covered(now + 1201)("anything")
    service.configure(General, timezone="Europe/Berlin")
    board.step()
    assert board.plans[made].zone == "Europe/Berlin"


class TestHealing:
    """What windows of both families say to healing, and what becomes of events that wait."""

    FAILED = {"services": {"nginx": "failed"}}

    def apply(self, here, **fields):
        given = {"target": "box-1", "duration": "10m", "reason": "disk", "action": "queue"} | fields
        return here.node.transact(lambda root: engine.open_healing(root, given, "otto").__name__)

    def test_both_families_are_one_list(self, service):
        made = window(service, scope=[], autonomy_override="approve")
        service.otto.post(f"{BASE}/{made}/activate")
        brief = service.otto.post_json(HEALING, {"target": "all", "duration": "1h", "action": "notify_only"}).json
        now = service.clock.now()
        plans = service.transact(lambda root: [plan for plan, _ in active_windows(root, now)])
        found = [(plan.id, plan.family, plan.scope, plan.effect) for plan in plans]
        assert sorted(found) == sorted(
            [(made, "maintenance", None, "approve"), (brief["id"], "healing", None, "notify_only")]
        )
        assert service.vera.get("/api/healing/health").json["status"] == "Paused"

    def test_what_was_over_long_ago_is_not_read_again_and_again(self, service):
        """Each decision asks what is on, and a window is kept for a month after its end."""
        told = {"target": "box-1", "duration": "1h", "reason": "disk", "action": "hands_off"}
        for _ in range(30):
            service.transact(lambda root: engine.open_healing(root, told, "otto").__name__)
        service.clock.advance(2 * 86400)
        name = service.transact(lambda root: engine.open_healing(root, told, "otto").__name__)

        def read(root):
            with failing_load(root, 0, Exception()) as loaded:
                on = [plan.id for plan, _ in active_windows(root, service.clock.now())]
                assert on == [window.__name__ for window in healing_windows(root, service.clock.now())]
            return on, [window for window in loaded if isinstance(window, HealingWindow)]

        on, loaded = service.transact(read)
        assert (on, len(loaded)) == ([name], 1)

    def test_what_waits_is_looked_at_again_when_its_window_is_ended_early(self, ward):
        from tests.engine.test_healing_pipeline import FAILED

        here = ward().at("execute")
        name = self.apply(here)
        here.report(**FAILED).turn().turn(6).pass_time(60, step=10, **FAILED)
        assert [entry["outcome"] for entry in here.ledger] == []
        cases = here.node.transact(lambda root: [case.plain() for case in healing_of(root).book.cases.values()])
        assert len(cases) == 1
        assert cases[0]["queued"]

        def end(root):
            engine.end_healing(root, root["api"]["maintenance"].get(name))

        here.node.transact(end)
        spread = here.node.config[HealingSettings].queue_spread_s
        here.pass_time(spread + 5, step=5, **FAILED)
        assert here.hosts.sent
