"""What hung on an object that is damaged goes on without it: a process that would end, a monitor that would stay down,
an automation whose turn would never come, a record that could not be written any more."""

import pytest

from opsapp.agents.engine import changed_since
from opsapp.agents.resources import agents_of
from opsapp.audit.engine import Actor, note
from opsapp.audit.resources import log as logs
from opsapp.automations.resources import automations_of, runs_of
from opsapp.lib.problems import Unreadable
from opsapp.monitoring.engine import pushes
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.runtime.threads.supervisor import GIVE_UP_AFTER, Supervisor
from tests.support.app import Service
from tests.support.clock import FakeClock
from tests.support.damage import oid_of, overwrite
from tests.support.monitoring import DOWN, UP, Lookout

TICKS = {"name": "ticks", "type": "script", "params": {"script": "true"}, "concurrency": "queue"}


@pytest.fixture
def damaged(tmp_path, monkeypatch):
    """`damaged(find)`: the service again, with the object that `find(root)` answers damaged."""
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    opened = [Service(tmp_path)]

    def damage(find):
        oid = oid_of(opened[-1], find)
        opened[-1].close()
        overwrite(tmp_path / "main.fs", oid, 0.5)
        opened.append(Service(tmp_path))
        return opened[-1]

    damage.first = opened[0]
    yield damage
    opened[-1].close()


@pytest.mark.parametrize(("problem", "ends"), [(Unreadable("Agent 1", "gone"), False), (ZeroDivisionError(), True)])
def test_a_step_that_fails_on_what_is_damaged_does_not_end_the_process(problem, ends):
    """It would fail again after a restart, and so would the restart after that."""

    def step():
        raise problem

    supervisor = Supervisor(FakeClock())
    worker = supervisor.add("agents-sweep", step, every=1.0)
    for _ in range(GIVE_UP_AFTER + 1):
        worker._work()
    assert supervisor.gave_up == ("agents-sweep" if ends else None)
    assert [said.startswith("agents-sweep fails each time: ") for said in supervisor.stuck()] == [True]


def test_a_monitor_comes_up_again_although_its_incident_is_damaged(damaged):
    lookout = Lookout(damaged.first)
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = DOWN
    lookout.run(61)
    service = damaged(lambda root: next(iter(incidents_of(root).values())))
    lookout = Lookout(service)
    lookout.sees[monitor_id] = UP
    lookout.run(61)
    shown = service.vera.get(f"/api/monitoring/endpoints/{monitor_id}").json
    assert (shown["status"], shown["incident_id"]) == ("up", None)
    assert service.vera.get("/api/monitoring/incidents?status=open").json == []
    lookout.sees[monitor_id] = DOWN
    lookout.run(61)
    [opened] = service.vera.get("/api/monitoring/incidents?status=open").json
    assert opened["monitor_id"] == monitor_id


@pytest.mark.parametrize("of", ["monitor", "state"])
def test_a_run_moves_with_the_clock_although_another_push_monitor_is_damaged(damaged, of):
    first = Lookout(damaged.first)
    broken, sound = (first.add(type="push", url="", name=name) for name in ("broken", "sound"))
    first.service.anonymous.post(f"{first.monitor(sound)['push_url']}/start")
    started = first.monitor(sound)["run_started"]
    service = damaged(lambda root: monitors_of(root)[broken] if of == "monitor" else monitors_of(root)[broken].state)
    service.node.leases.want(pushes.LEASE)
    service.node.leases.step()
    service.node.transact(pushes.PIECES.move, 3600)
    while service.node.transact(pushes.PIECES.move_on):
        pass
    assert service.node.transact(lambda root: monitors_of(root)[sound].state.run_started) == started + 3600


@pytest.mark.parametrize("how", ["skip", "queue", "replace"])
def test_another_run_begins_although_the_one_under_way_is_damaged(damaged, how):
    otto = damaged.first.otto
    made = otto.post_json("/api/automations", {**TICKS, "concurrency": how}).json["id"]
    first = otto.post(f"/api/automations/{made}/run").json["run_id"]
    service = damaged(lambda root: runs_of(root)[first])
    second = service.otto.post(f"/api/automations/{made}/run").json["run_id"]
    assert service.vera.get(f"/api/automations/runs/{second}").json["status"] == "running"
    assert service.read(lambda root: automations_of(root)[made].state.current) == second


@pytest.mark.parametrize("find", ["entry", "log"])
def test_the_record_is_written_on_and_says_that_it_is_not_whole(damaged, find, monkeypatch):
    monkeypatch.setattr(logs, "FOLD", 8)

    def write(service, count):
        for n in range(count):
            service.transact(lambda root, n=n: note(root, Actor("eve", None), "a", f"t{n}"))

    def written(root):
        return max(root.system["audit"].values(), key=lambda log: log.number)

    def newest(root):
        log = written(root)
        return log.tail[log.tail.maxKey()] if find == "entry" else log

    write(damaged.first, 20)
    assert damaged.first.ada.get("/api/audit/verify").json["valid"] is True
    service = damaged(newest)
    write(service, 20)
    shown = service.ada.get("/api/audit?user=eve&limit=1000").json
    assert [row["target"] for row in shown[:20]] == [f"t{n}" for n in range(19, -1, -1)]
    assert len(shown) == (39 if find == "entry" else 20)
    assert service.ada.get("/api/audit/verify").json["valid"] is False
    assert any("audit" in reason for reason in service.vera.get("/api/healing/health").json["reasons"])


def test_a_command_that_cannot_be_read_may_have_changed_its_host(damaged):
    service = damaged.first
    agent_id = service.ada.post_json("/api/agents", {"label": "box-1"}).json["agent_id"]
    began = service.clock.now()
    look = {"type": "service", "params": {"service": "nginx", "action": "status"}}
    service.ada.post_json(f"/api/agents/{agent_id}/commands", look)
    assert service.transact(changed_since, agent_id, began, "healing") is None
    service = damaged(lambda root: next(iter(agents_of(root)[agent_id].commands.values())))
    assert service.transact(changed_since, agent_id, began, "healing") == began
    assert service.ada.get(f"/api/agents/{agent_id}/commands").json == []
