"""One object of the store is overwritten: it is shown as what cannot be read, told once, named by doctor and refused by
backup; and it costs nothing but itself."""

import pytest

from opsapp.agents.resources import find_agent
from opsapp.auth.resources import users_of
from opsapp.automations.resources import automations_of, runs_of
from opsapp.healing.resources import healing_of
from opsapp.lib.problems import Conflict
from opsapp.maintenance.resources import windows_of
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.notify.engine import damage as telling
from opsapp.notify.resources import inbox
from opsapp.runtime.store import backup, inspection
from tests.support.app import Service
from tests.support.damage import oid_of, overwrite
from tests.support.projections import MONITOR, TICKS, WINDOW

RULE = {"condition": "cpu > 90", "action": {"type": "clear_cache"}, "initial_level": "notify"}
COUNT = 10
KINDS = {
    "monitor": ("/api/monitoring/endpoints", MONITOR, lambda root, each: monitors_of(root)[each]),
    "agent": ("/api/agents", {"label": "first"}, find_agent),
    "automation": ("/api/automations", TICKS, lambda root, each: automations_of(root)[each]),
    "rule": ("/api/healing/rules", RULE, lambda root, each: healing_of(root)["rules"][each]),
    "window": ("/api/maintenance", WINDOW, lambda root, each: windows_of(root)[each]),
}
every = pytest.mark.parametrize("kind", KINDS)


class House:
    """A service that goes down, has an object overwritten, and comes up again."""

    def __init__(self, directory):
        self.directory = directory
        self.service = Service(directory)

    def fill(self, kind):
        """Ids of ten; and one of each other kind."""
        for other, (path, body, _) in KINDS.items():
            if other != kind:
                self.service.ada.post_json(path, self.body(other, body, 0))
        path, body, _ = KINDS[kind]
        answers = [self.service.ada.post_json(path, self.body(kind, body, n)).json for n in range(COUNT)]
        return [answer.get("id") or answer["agent_id"] for answer in answers]

    def body(self, kind, body, n):
        name = {"agent": "label", "rule": "id"}.get(kind, "name")
        return body | {name: f"{kind}-{n}"}

    def damage(self, find, *values, share=0.5):
        oid = oid_of(self.service, find, *values)
        self.service.close()
        overwrite(self.directory / "main.fs", oid, share)
        self.service = Service(self.directory)
        return oid


@pytest.fixture
def house(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    house = House(tmp_path)
    yield house
    house.service.close()


@every
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_it_costs_nothing_but_itself(house, kind, share):
    path, _, find = KINDS[kind]
    ids = house.fill(kind)
    before = {each["id"] for each in house.service.ada.get(path).json}
    house.damage(find, ids[3], share=share)
    service = house.service
    shown = {each["id"]: each for each in service.ada.get(path).json}
    assert shown.keys() == before
    assert {each for each, row in shown.items() if "unreadable" in row} == {ids[3]}
    assert int(service.ada.get(path).headers["X-Total-Count"]) == len(before)
    answer = service.ada.get(f"{path}/{ids[3]}", status=500)
    assert answer.json["code"] == "unreadable"
    for each in ids[:3] + ids[4:]:
        assert service.ada.get(f"{path}/{each}").json["id"] == each
    health = service.ada.get("/api/healing/health").json
    assert health["status"] == "Degraded"
    (reason,) = [each for each in health["reasons"] if "cannot be read" in each]
    assert ids[3] in reason
    for other in KINDS:
        assert service.ada.get(KINDS[other][0]).json, "other kinds are all there"


@every
def test_people_are_told_once(house, kind):
    path, _, find = KINDS[kind]
    ids = house.fill(kind)
    house.damage(find, ids[3])
    service = house.service
    service.ada.get(path)
    for _ in range(3):
        telling.step(service.node)
    rows = [row for row in service.transact(inbox.take, 1000) if row.kind == "damage.found"]
    assert len(rows) == 1
    assert ids[3] in rows[0].title
    house.service.close()
    house.service = Service(house.directory)
    house.service.ada.get(path)
    telling.step(house.service.node)
    assert [row for row in house.service.transact(inbox.take, 1000) if row.kind == "damage.found"] == []


@every
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_doctor_names_it_and_backup_refuses_it(house, kind, share, tmp_path):
    _, _, find = KINDS[kind]
    ids = house.fill(kind)
    files = [tmp_path / "history.fs", tmp_path / "main.fs"]
    assert [inspection.damaged(path) for path in files] == [[], []]
    backup.save(files, tmp_path / "sound")
    house.damage(find, ids[3], share=share)
    (found,) = inspection.damaged(tmp_path / "main.fs")
    assert f"{kind.capitalize()} {ids[3]}" in found
    with pytest.raises(Conflict) as refused:
        backup.save(files, tmp_path / "damaged")
    assert ids[3] in str(refused.value)
    assert not (tmp_path / "damaged" / "main.fs").exists()
    assert not list((tmp_path / "damaged").glob("main.fs*"))


def _three_users(service):
    for name in ("one", "two", "three"):
        body = {"username": name, "password": "a sound password", "role": "viewer"}
        service.ada.post_json("/api/users", body, status=201)
    return "two", lambda root: users_of(root)["two"]


def _three_runs(service):
    made = service.ada.post_json("/api/automations", {**TICKS, "schedule": None, "concurrency": "queue"}).json["id"]
    ids = [service.ada.post(f"/api/automations/{made}/run").json["run_id"] for _ in range(3)]
    return ids[1], lambda root: runs_of(root)[ids[1]]


def _three_approvals(service):
    asking = {**TICKS, "schedule": None, "requires_approval": True}
    made = service.ada.post_json("/api/automations", asking).json["id"]
    ids = [service.ada.post(f"/api/automations/{made}/run").json["request_id"] for _ in range(3)]
    return ids[1], lambda root: root["api"]["approvals"][ids[1]]


def _three_incidents(service):
    def start(root):
        monitors = list(monitors_of(root).values())
        return [incidents_of(root).start(each, "HTTP 500", service.clock.now()).id for each in monitors]

    for n in range(3):
        service.ada.post_json("/api/monitoring/endpoints", MONITOR | {"name": f"m{n}"})
    ids = service.transact(start)
    return ids[1], lambda root: incidents_of(root)[ids[1]]


@pytest.mark.parametrize(
    ("make", "path", "name"),
    [
        (_three_users, "/api/users", "username"),
        (_three_runs, "/api/automations/runs", "run_id"),
        (_three_approvals, "/api/approvals", "request_id"),
        (_three_incidents, "/api/monitoring/incidents", "id"),
    ],
)
def test_a_list_that_is_read_a_page_at_a_time_shows_it_too(house, make, path, name):
    lost, find = make(house.service)
    before = [row[name] for row in house.service.ada.get(path).json]
    assert lost in before
    house.damage(find)
    rows = house.service.ada.get(path).json
    assert [row[name] for row in rows] == before
    assert [row[name] for row in rows if "unreadable" in row] == [lost]
    assert any(lost in each for each in house.service.ada.get("/api/healing/health").json["reasons"])


def test_a_damaged_store_is_copied_when_that_is_asked_for(house, tmp_path):
    ids = house.fill("monitor")
    house.damage(lambda root: monitors_of(root)[ids[3]])
    files = [tmp_path / "history.fs", tmp_path / "main.fs"]
    copies = {copy.name: copy.damaged for copy in backup.save(files, tmp_path / "copies", damaged=True)}
    assert copies["history.fs"] == []
    assert len(copies["main.fs"]) == 1
    (said,) = backup.lacking(tmp_path / "copies")
    assert said.startswith("main.fs: Monitor " + ids[3])
    with pytest.raises(Conflict, match="holds a backup already"):
        backup.save(files, tmp_path / "copies", damaged=True)
    house.service.close()
    backup.restore(tmp_path / "copies", files)
    house.service = Service(tmp_path)
    rows = {each["id"]: each for each in house.service.ada.get("/api/monitoring/endpoints").json}
    assert {each for each, row in rows.items() if "unreadable" in row} == {ids[3]}
    assert rows.keys() == set(ids)


def test_a_sound_backup_says_of_nothing_that_it_is_lacking(house, tmp_path):
    house.fill("monitor")
    files = [tmp_path / "history.fs", tmp_path / "main.fs"]
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / backup.LACKING).write_text("of another backup\n")
    backup.save(files, tmp_path / "copies")
    assert backup.lacking(tmp_path / "copies") == []


def test_the_state_of_a_monitor_is_named_by_the_monitor(house, tmp_path):
    ids = house.fill("monitor")
    house.damage(lambda root: monitors_of(root)[ids[3]].state)
    (found,) = inspection.damaged(tmp_path / "main.fs")
    assert f"State of Monitor {ids[3]}" in found
    rows = {each["id"]: each for each in house.service.vera.get("/api/monitoring/endpoints").json}
    assert [each for each in ids if "unreadable" in rows[each]] == [ids[3]]


def test_a_part_of_a_list_that_cannot_be_read_hides_no_other(house):
    """Monitors are in sixteen trees: what was in one of them is lost until the store is restored, and said so."""
    ids = house.fill("monitor")
    part = house.service.transact(lambda root: monitors_of(root).tree._part(ids[3])._p_oid)
    same = house.service.transact(lambda root: set(monitors_of(root).tree._part(ids[3]).keys()))
    house.damage(lambda root: monitors_of(root).tree._part(ids[3]))
    assert part
    shown = {each["id"] for each in house.service.vera.get("/api/monitoring/endpoints").json}
    assert shown == set(ids) - same
    reasons = house.service.vera.get("/api/healing/health").json["reasons"]
    assert any("part of the list of monitors" in each for each in reasons)


def test_what_was_read_before_is_still_known(house):
    """A node that has read it goes on with what it knows, and says that the store has it no more."""
    ids = house.fill("monitor")
    service, register = house.service, house.service.node.projections.all()["monitors"]
    service.vera.get("/api/monitoring/endpoints")
    oid = oid_of(service, lambda root: monitors_of(root)[ids[3]])
    overwrite(house.directory / "main.fs", oid, 0.5)
    service.node.store.db.cacheMinimize()
    register.reset()
    rows = {each["id"]: each for each in service.vera.get("/api/monitoring/endpoints").json}
    assert len(rows) == COUNT
    assert (rows[ids[3]]["name"], rows[ids[3]]["status"]) == ("monitor-3", "unknown")
    assert rows[ids[3]]["unreadable"]
    (damage,) = register.damaged.values()
    assert str(damage) == f"monitor monitor-3 ({ids[3]})"


def test_a_damaged_event_is_no_change_lost(house):
    """Copies of the store read everything, as they cannot know what the event was about."""
    service = house.service
    made = service.ada.post_json("/api/monitoring/endpoints", MONITOR).json["id"]
    service.vera.get("/api/monitoring/endpoints")
    service.node.events.step()
    service.ada.put_json(f"/api/monitoring/endpoints/{made}", {"name": "second"})

    def newest(root):
        batches = [tree[tree.maxKey()] for tree in root.system["outbox"].values() if tree]
        return max(batches, key=lambda batch: (batch._p_activate(), batch._p_serial)[1])

    oid = oid_of(service, newest)
    overwrite(house.directory / "main.fs", oid, 0.5)
    service.node.store.db.cacheMinimize()
    assert service.vera.get(f"/api/monitoring/endpoints/{made}").json["name"] == "second"
    service.node.events.step()
    heard = []
    service.node.events.listen(lambda event: heard.append(event.kind))
    service.ada.put_json(f"/api/monitoring/endpoints/{made}", {"name": "third"})
    service.node.events.step()
    assert "monitor" in heard, "the outbox goes on behind it"


@every
def test_its_room_has_a_page_all_the_same(house, kind):
    """The list shows it, its own page says what is wrong, and the others are there."""
    _, _, find = KINDS[kind]
    ids = house.fill(kind)
    house.damage(find, ids[3])
    room = {"rule": "/healing/rules", "window": "/maintenance"}.get(kind, f"/{kind}s")
    page = house.service.ada.get(room)
    assert f"{kind}-4" in page.text
    if room == f"/{kind}s":  # rules and windows have no pages of their own
        assert "cannot be read" in house.service.ada.get(f"{room}/{ids[3]}", status=500).text
