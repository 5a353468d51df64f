"""Agents over the API: records, keys, reports by polling, commands. The agent here is a client with a key."""

import pytest
from webtest import TestApp

from opsapp.agents.engine.commands import send_command
from opsapp.automations.engine.flow import moment_come
from opsapp.runtime import serieswork

REPORT = {
    "hostname": "box-1",
    "os": "Debian 12",
    "cpu_percent": 12.5,
    "mem_percent": 40,
    "disk_percent": 71.5,
    "uptime_s": 3600,
}
ID = "0123456789abcdef"


class Polling:
    """An agent that polls."""

    def __init__(self, service, label="web", **more):
        made = service.ada.post_json("/api/agents", {"label": label, **more}, status=201).json
        self.service, self.id, self.key = service, made["agent_id"], made["key"]
        self.app = TestApp(service.app)

    def report(self, status=200, **more):
        headers = {"X-Agent-Key": self.key}
        return self.app.post_json(
            f"/api/agents/{self.id}/report", {**REPORT, **more}, headers=headers, status=status
        ).json

    @property
    def path(self):
        return f"/api/agents/{self.id}"

    def seen(self):
        return self.service.vera.get(self.path).json

    def ask(self, command="true", **params):
        body = {"type": "shell", "params": {"command": command, **params}}
        return self.service.otto.post_json(f"{self.path}/commands", body).json["command_id"]

    def command(self, command_id):
        return self.service.otto.get(f"{self.path}/commands/{command_id}").json


@pytest.fixture
def box(service):
    return Polling(service, tags=["web", "prod"])


def test_a_new_agent_is_pending_and_its_key_is_kept_as_a_hash(service, box):
    assert len(box.key) == 64
    row = service.vera.get("/api/agents").json[0]
    assert (row["id"], row["label"], row["status"], row["tags"]) == (box.id, "web", "pending", ["web", "prod"])
    assert row["last_seen"] is None
    stored = service.read(lambda root: repr(vars(root["api"]["agents"][box.id])))
    assert box.key not in stored


@pytest.mark.shared
def test_a_report_makes_it_online_and_shows_its_metrics(service, box):
    answer = box.report(disks={"/": 71.5, "/var": 12}, services={"nginx": "active"}, metrics={"queue": 7}, later=[1])
    assert answer == {"status": "ok", "interval": 15, "commands": [], "cancel": [], "policy_version": 0}
    assert isinstance(answer["interval"], int)
    seen = box.seen()
    assert (seen["hostname"], seen["os"], seen["status"]) == ("box-1", "Debian 12", "online")
    assert seen["last_seen"] == int(service.clock.now())
    assert seen["metrics"]["cpu_percent"] == 12.5
    assert seen["metrics"]["disks"] == {"/": 71.5, "/var": 12}
    assert seen["metrics"]["metrics"] == {"queue": 7}
    assert "swap_percent" not in seen["metrics"]
    assert (seen["connected"], seen["agent_node"]) == (False, None)


def test_its_history_can_end_at_a_moment(service, box):
    began = int(service.clock.now())
    for minute in range(5):
        box.report(cpu_percent=minute)
        service.clock.advance(60)
    serieswork.flush(service.node)

    def measured(query):
        rows = service.vera.get(f"{box.path}/metrics?range_h=1&resolution=60{query}").json
        return [row["cpu_percent"] for row in rows]

    assert measured("") == [0, 1, 2, 3, 4]
    assert measured(f"&until={began + 125}") == [0, 1, 2]
    assert measured(f"&until={began + 90_000}") == [0, 1, 2, 3, 4], "the future has nothing"
    assert measured("&until=5") == []


def test_the_figures_of_all_come_in_one_answer(service, box):
    box.report(version="0.0.1", failed_units=["backup.service"], metrics={"rx_bytes_s": 4000, "tx_bytes_s": 1000})
    service.clock.advance(15)
    box.report(version="0.0.1", failed_units=["backup.service"], metrics={"rx_bytes_s": 4000, "tx_bytes_s": 1000})
    silent = Polling(service, "silent")
    serieswork.flush(service.node)
    answer = service.vera.get("/api/agents/figures?sort=-status&limit=1&offset=1")
    assert answer.headers["X-Total-Count"] == "2"
    row = answer.json[0]
    assert (row["id"], row["cpu_percent"], row["mem_percent"], row["disk_percent"]) == (box.id, 12.5, 40, 71.5)
    assert (row["outdated"], row["failed_units"], row["step_s"]) == (True, 1, 900)
    assert len(row["cpu"]) == len(row["mem"]) == 24
    assert row["cpu"][-2:] in ([None, 12.5], [12.5, 12.5], [12.5, None])
    row = service.vera.get("/api/agents/figures?q=silent").json[0]
    assert (row["id"], row["cpu_percent"], row["outdated"], set(row["cpu"])) == (silent.id, None, False, {None})
    point = service.vera.get(f"{box.path}/metrics").json[0]
    assert (point["rx_bytes_s"], point["tx_bytes_s"]) == (4000, 1000)


@pytest.mark.shared
def test_every_report_is_live_for_conditions_at_once(service, box):
    box.report(services={"nginx": "failed"}, containers={"web": "running"}, disks={"/var": 91}, metrics={"queue": 7})
    live = service.node.series.live
    names = {"cpu_percent": 12.5, "service.nginx.state": "failed", "container.web.state": "running", "queue": 7}
    for name, value in (names | {"disk./var.percent": 91}).items():
        assert live.value(f"agent:{box.id}", name) == value


def test_silence_makes_it_offline_then_dead(service, box):
    box.report()
    for seconds, status in ((30, "online"), (1, "offline"), (269, "offline"), (1, "dead")):
        service.clock.advance(seconds)
        assert box.seen()["status"] == status
    box.report()
    assert box.seen()["status"] == "online"


@pytest.mark.parametrize("wrong", [{"hostname": ""}, {"os": None}, {"cpu_percent": "7"}, {"disks": {"/": True}}])
@pytest.mark.shared
def test_a_wrong_report_is_422_and_names_the_field(box, wrong):
    assert set(box.report(status=422, **wrong)["fields"]) == set(wrong)


@pytest.mark.shared
def test_identity_comes_from_the_key_alone(service, box):
    other = Polling(service, label="db")
    path = f"/api/agents/{other.id}/report"
    anonymous = TestApp(service.app)
    assert anonymous.post_json(path, REPORT, headers={"X-Agent-Key": box.key}, status=403).json["error"]
    anonymous.post_json(path, REPORT, headers={"X-Agent-Key": "0" * 64}, status=401)
    anonymous.post_json(path, REPORT, status=401)
    anonymous.post_json(f"/api/agents/{ID}/report", REPORT, headers={"X-Agent-Key": box.key}, status=404)
    for who in (service.vera, service.ada):
        who.post_json(path, REPORT, status=403)
    anonymous.get("/api/agents", headers={"X-Agent-Key": box.key}, status=403)
    assert other.seen()["status"] == "pending"


@pytest.mark.shared
def test_a_rotated_key_and_a_deleted_agent_are_worth_nothing(service, box):
    box.report()
    old, box.key = box.key, service.ada.post(f"{box.path}/key").json["key"]
    TestApp(service.app).post_json(f"{box.path}/report", REPORT, headers={"X-Agent-Key": old}, status=401)
    box.report()
    assert service.ada.delete(box.path).json == {"status": "deleted"}
    TestApp(service.app).post_json(f"{box.path}/report", REPORT, headers={"X-Agent-Key": box.key}, status=401)
    service.vera.get(box.path, status=404)
    service.vera.get(f"{box.path}/commands", status=404)
    assert service.node.series.live.get(f"agent:{box.id}") == {}


@pytest.mark.shared
def test_label_and_tags_can_be_changed(service, box):
    body = {**box.seen(), "label": "renamed", "tags": ["x"]}
    assert service.otto.put_json(box.path, body).json == {"status": "updated"}
    assert (box.seen()["label"], box.seen()["tags"]) == ("renamed", ["x"])
    service.otto.put_json(box.path, {"label": "again"})
    assert box.seen()["tags"] == ["x"]
    assert set(service.otto.put_json(box.path, {"label": 7, "more": 1}, status=422).json["fields"]) == {"label", "more"}


def test_the_list_filters_and_pages(service, box):
    Polling(service, label="db", tags=["prod"]).report(hostname="box-2")
    box.report()
    found = lambda query: [row["label"] for row in service.vera.get(f"/api/agents?{query}").json]  # noqa: E731
    assert sorted(found("tag=prod")) == ["db", "web"]
    assert found("q=BOX-2") == ["db"]
    assert found("status=dead") == []
    assert found(f"ids={box.id}&ids=gone") == ["web"]
    answer = service.vera.get("/api/agents?limit=1&offset=1")
    assert (len(answer.json), answer.headers["X-Total-Count"]) == (1, "2")
    for query in ("limit=0", "limit=x", "status=odd"):
        service.vera.get(f"/api/agents?{query}", status=422)


def test_two_agents_of_one_hostname_are_both_flagged(service, box):
    twin = Polling(service)
    box.report()
    twin.report()
    assert box.seen()["hostname_conflict"]
    assert twin.seen()["hostname_conflict"]
    twin.report(hostname="box-2")
    assert not box.seen()["hostname_conflict"]
    assert not twin.seen()["hostname_conflict"]


@pytest.mark.attack
@pytest.mark.parametrize("taken", ["label", "id"])
def test_an_agent_that_takes_anothers_name_gets_nothing_by_it(service, taken):
    victim, thief = Polling(service, label="db-main"), Polling(service, label="other")
    victim.report(hostname="ip-10-0-0-7")
    name = {"label": "db-main", "id": victim.id}[taken]
    thief.report(hostname=name)
    assert (victim.seen()["hostname_conflict"], thief.seen()["hostname_conflict"]) == (False, True)
    body = {"name": "x", "type": "agent_command", "params": {"command": "id", "hostname": name}}
    automation = service.otto.post_json("/api/automations", body).json["id"]
    run_id = service.otto.post(f"/api/automations/{automation}/run").json["run_id"]
    service.transact(moment_come, service.clock.now())
    record = service.vera.get(f"/api/automations/runs/{run_id}").json
    assert (record["status"], service.otto.get(f"{thief.path}/commands").json) == ("failed", [])
    assert f"Several agents are called {name}" in record["reason"]
    told = service.vera.get(f"/api/healing/capabilities/{name}", expect_errors=True)
    assert told.json.get("code") == "ambiguous_host" if taken == "label" else told.json["hostname"] == "ip-10-0-0-7"


@pytest.mark.shared
def test_a_command_is_handed_out_once_to_a_plain_poller_and_ends_with_its_result(service, box):
    box.report()
    asked = box.ask("echo hi", timeout=5)
    assert box.command(asked)["status"] == "queued"
    [handed] = box.report()["commands"]
    assert handed["command_id"] == asked
    without_null = {"command": "echo hi", "timeout": 5, "env": {}}  # an older agent refuses names that it does not know
    assert (handed["type"], handed["params"]) == ("shell", without_null)
    assert box.command(asked)["status"] == "delivered"
    assert box.report()["commands"] == []
    result = {"command_id": asked, "status": "done", "exit_code": 0, "output": "hi\n"}
    box.report(results=[result, {**result, "command_id": "unknown"}])
    box.report(results=[{**result, "output": "twice"}])
    record = box.command(asked)
    assert (record["status"], record["exit_code"], record["output"]) == ("done", 0, "hi\n")
    assert record["requested_by"] == "otto"
    assert record["finished_at"] >= record["delivered_at"] >= record["created_at"]
    assert service.otto.get(f"{box.path}/commands").json == [record]


@pytest.mark.shared
def test_our_own_poller_is_offered_a_command_until_it_says_that_it_has_it(box):
    box.report(held=[])
    asked = box.ask()
    assert [one["command_id"] for one in box.report(held=[])["commands"]] == [asked]
    assert [one["command_id"] for one in box.report(held=[])["commands"]] == [asked]
    assert box.command(asked)["status"] == "queued"
    assert box.report(held=[{"command_id": asked, "state": "running"}])["commands"] == []
    assert box.command(asked)["status"] == "running"


def test_a_delivered_command_that_the_agent_came_back_without_is_lost(service, box):
    asked = box.ask()
    box.report(held=[])
    box.report(held=[{"command_id": asked, "state": "running"}])
    box.report(held=[])
    assert box.command(asked)["status"] == "running", "this poll may be older than the delivery"
    service.clock.advance(41)
    box.report(held=[])
    assert box.command(asked)["status"] == "lost"
    box.report(results=[{"command_id": asked, "status": "done", "exit_code": 0}])
    assert box.command(asked)["status"] == "lost"


@pytest.mark.shared
def test_cancelling(service, box):
    waiting, under_way = box.ask(), None
    assert service.otto.delete(f"{box.path}/commands/{waiting}").json == {"command_id": waiting, "status": "cancelled"}
    assert box.report()["commands"] == []
    under_way = box.ask()
    box.report()
    assert service.otto.delete(f"{box.path}/commands/{under_way}").json["status"] == "delivered"
    assert box.report()["cancel"] == [under_way]
    box.report(results=[{"command_id": under_way, "status": "cancelled"}])
    assert box.command(under_way)["status"] == "cancelled"
    service.otto.delete(f"{box.path}/commands/{under_way}", status=409)
    service.otto.delete(f"{box.path}/commands/{ID}", status=404)
    service.vera.delete(f"{box.path}/commands/{waiting}", status=403)


@pytest.mark.shared
def test_the_last_hundred_commands_newest_first(service, box):
    asked = [box.ask(str(n)) for n in range(103)]
    listed = service.vera.get(f"{box.path}/commands").json
    assert [record["command_id"] for record in listed] == asked[:2:-1]
    assert len(service.vera.get(f"{box.path}/commands?limit=3&offset=1").json) == 3
    assert len(service.vera.get(f"{box.path}/commands?limit=1000").json) == 100
    service.vera.get(f"{box.path}/commands?limit=1001", status=422)


@pytest.mark.shared
def test_looks_for_a_cause_do_nothing_and_are_not_among_the_commands(service, box):
    look = {"heal_id": "c.0.cause", "token": 1, "phase": "look", "params": {"service": "nginx"}}
    asked = service.transact(lambda root: send_command(root, box.id, "heal", look, requested_by="healing"))
    shell = box.ask("true")
    assert [command["command_id"] for command in service.vera.get(f"{box.path}/commands").json] == [shell]
    assert service.vera.get(f"{box.path}/commands/{asked}").json["type"] == "heal"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"type": "shell"}, {"params.command"}),
        ({"type": "shell", "params": {"command": "x", "timeout": 3601}}, {"params.timeout"}),
        ({"type": "shell", "params": {"command": "x", "timeout": "7", "more": 1}}, {"params.timeout", "params.more"}),
        ({"type": "shell", "params": {"timeout": 0}, "more": 1}, {"params.command", "params.timeout", "more"}),
        ({"type": "logs", "params": {"lines": 0}}, {"params.lines", "params.unit"}),
        ({"type": "logs", "params": {"source": "file", "role": "x"}}, {"params.path", "params.role"}),
        ({"type": "nope", "params": 7, "more": 1}, {"type", "params", "more"}),
        ({"type": "odd", "params": {}}, {"type"}),
        ({"type": "heal", "params": {}}, {"type"}),
        ({"params": []}, {"type", "params"}),
    ],
)
@pytest.mark.shared
def test_wrong_commands(service, box, body, fields):
    assert set(service.otto.post_json(f"{box.path}/commands", body, status=422).json["fields"]) == fields


@pytest.mark.shared
def test_a_repeated_request_with_a_key_asks_once(service, box):
    body = {"type": "shell", "params": {"command": "true"}}
    ask = lambda: service.otto.post_json(f"{box.path}/commands", body, headers={"Idempotency-Key": "k"}).json  # noqa: E731
    assert ask() == ask()
    assert len(service.vera.get(f"{box.path}/commands").json) == 1


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/agents", ("vera", "otto", "ada")),
        ("POST", "/api/agents", ("ada",)),
        ("GET", "/api/agents/{id}", ("vera", "otto", "ada")),
        ("PUT", "/api/agents/{id}", ("otto", "ada")),
        ("DELETE", "/api/agents/{id}", ("ada",)),
        ("POST", "/api/agents/{id}/key", ("ada",)),
        ("POST", "/api/agents/{id}/commands", ("otto", "ada")),
        ("GET", "/api/agents/{id}/commands", ("vera", "otto", "ada")),
        ("GET", "/api/agents/{id}/metrics", ("vera", "otto", "ada")),
    ],
)
@pytest.mark.shared
def test_roles(service, box, method, path, allowed):
    path = path.replace("{id}", box.id)
    bodies = {"POST /api/agents": {"label": "x"}, f"POST {box.path}/commands": {"type": "process_list"}}
    bodies[f"PUT {box.path}"] = {"label": "y"}
    kwargs = {"params": bodies[f"{method} {path}"]} if f"{method} {path}" in bodies else {}
    for who in ("anonymous", "vera", "otto", "ada"):
        call = getattr(getattr(service, who), method.lower() + ("_json" if kwargs else ""))
        expected = 401 if who == "anonymous" else 403
        if who in allowed:
            assert call(path, **kwargs).status_int in (200, 201)
        else:
            assert call(path, **kwargs, expect_errors=True).status_int == expected


@pytest.mark.shared
def test_wrong_methods_types_and_paths(service, box):
    assert service.ada.put(box.path + "/commands", expect_errors=True).headers["Allow"] == "GET, HEAD, POST"
    service.ada.delete("/api/agents", status=405)
    service.ada.get(box.path + "/nothing", status=404)
    service.ada.get(box.path + "/commands/more/and/more", status=404)
    service.ada.get(f"/api/agents/{ID}", status=404)
    service.ada.post(f"{box.path}/commands", b"x", content_type="text/plain", status=415)
    assert set(service.ada.post_json("/api/agents", {"tags": "x"}, status=422).json["fields"]) == {"label", "tags"}


def test_history_is_means_per_minute(service, box):
    service.clock.advance(60 - service.clock.now() % 60)
    for cpu in (10, 20, 60, 90):
        box.report(cpu_percent=cpu, disks={"/": cpu})
        service.clock.advance(30)
    serieswork.flush(service.node)
    points = service.vera.get(f"{box.path}/metrics?range_h=1").json
    assert [point["cpu_percent"] for point in points] == [15, 75]
    assert points[0]["disks"] == {"/": 15}
    assert points[1]["time"] - points[0]["time"] == 60
    service.vera.get(f"{box.path}/metrics?resolution=59", status=422)
    page = service.vera.get(f"{box.path}/metrics?range_h=1&limit=1&offset=1")
    assert (page.json, page.headers["X-Total-Count"]) == (points[1:], "2")


def test_names_that_come_and_go_for_ever_do_not_fill_the_node(service, box):
    """Containers of jobs, transient units: each a new name."""
    live = service.node.series.live
    for turn in range(12):
        names = {f"job-{turn}-{n}": "running" for n in range(100)}
        box.report(containers={**names, "web": "running"}, disks={f"/run/{turn}-{n}": 1 for n in range(32)})
        service.clock.advance(1200)
    assert live.names(f"agent:{box.id}") < 1000
    assert "container.job-11-5.state" in live.get(f"agent:{box.id}")
    assert live.value(f"agent:{box.id}", "container.web.state") == "running"
    assert service.read(lambda root: len(root["api"]["agents"][box.id].series)) <= 256


def test_one_report_after_the_other_full_of_new_names_is_bounded(service, box):
    for turn in range(4):
        box.report(services={f"u{turn}-{n}": "active" for n in range(4000)})
        service.clock.advance(1)
    assert service.node.series.live.names(f"agent:{box.id}") <= 10_000
    assert service.node.series.live.value(f"agent:{box.id}", "service.u3-3999.state") == "active"


@pytest.mark.shared
def test_what_is_no_form_is_refused_before_the_agent_is_looked_for(service, box):
    for kind in ("application/json", "text/plain"):
        answer = service.otto.post(f"{box.path}/files", b"{}", content_type=kind, status=415)
        assert answer.json["code"] == "unsupported_type"
    upload = [("file", "a.txt", b"a")]
    service.otto.post(f"{box.path}/files", {"dest": "/tmp/a.txt"}, upload_files=upload, status=503)
