"""/api/healing and /api/approvals: roles, bodies, refusals."""

import pytest

from opsapp.healing.engine import forecasts
from opsapp.healing.engine.foresight import Foresight
from opsapp.healing.engine.inventory import fleet_access
from opsapp.runtime import serieswork
from tests.support.dependencies import depend

PORT_ALONE = {"direction": "in", "action": "drop", "port": 5}
RULE = {"id": "nginx-down", "condition": 'service.nginx.state == "failed"', "action": {"type": "restart_service"}}


@pytest.mark.parametrize(
    "path",
    [
        "rules",
        "ledger",
        "ledger/verify",
        "effectiveness?action_type=run&condition=a",
        "suggestions",
        "trust",
        "dependencies",
        "maintenance",
        "health",
        "actions",
    ],
)
@pytest.mark.shared
def test_every_signed_in_role_reads(service, path):
    assert service.vera.get(f"/api/healing/{path}").status_int == 200
    service.anonymous.get(f"/api/healing/{path}", status=401)


@pytest.mark.parametrize("word", ["run", "promote"])
@pytest.mark.shared
def test_a_word_of_the_addresses_names_no_rule_and_no_user(service, word):
    """It is answered as a wrong value, as code too, and nothing is made."""
    rule = {**RULE, "id": word}
    assert list(service.ada.post_json("/api/healing/rules", rule, status=422).json["fields"]) == ["id"]
    service.ada.post_json("/api/apply", {"rules": [rule]}, status=422)
    assert word not in [rule["id"] for rule in service.vera.get("/api/healing/rules").json]
    user = {"username": word, "role": "viewer", "password": "correct horse battery"}
    assert list(service.ada.post_json("/api/users", user, status=422).json["fields"]) == ["username"]


@pytest.mark.shared
def test_null_in_a_put_takes_away_what_a_rule_may_do_without_and_keeps_the_rest(service):
    more = {"targets": {"agents": ["box"], "monitors": []}, "settle_s": 7, "cooldown_s": 60, "severity": "error"}
    service.ada.post_json("/api/healing/rules", RULE | more)
    path = "/api/healing/rules/nginx-down"
    service.ada.put_json(path, dict.fromkeys(["targets", "settle_s", "cooldown_s", "severity", "condition"]))
    rule = service.vera.get(path).json
    assert (rule["targets"], rule["settle_s"]) == (None, None)
    assert (rule["cooldown_s"], rule["severity"], rule["condition"]) == (60, "error", RULE["condition"])
    service.ada.put_json(path, {"escalation_chain": [{"action": "clear_cache"}], "action": None})
    assert service.vera.get(path).json["action"] is None


@pytest.mark.parametrize(
    ("method", "path", "who"),
    [
        ("POST", "rules", "otto"),
        ("PUT", "rules/default-cpu", "otto"),
        ("DELETE", "rules/default-cpu", "otto"),
        ("POST", "trust/default-cpu/promote", "otto"),
        ("POST", "trust/default-cpu/demote", "otto"),
        ("POST", "pause", "otto"),
        ("POST", "resume", "otto"),
        ("PUT", "dependencies", "otto"),
        ("POST", "maintenance", "vera"),
        ("POST", "dry-run", "vera"),
    ],
)
@pytest.mark.shared
def test_roles_below_are_refused_before_the_body_is_read(service, method, path, who):
    answer = service.client(who).request(f"/api/healing/{path}", method=method, body=b"no json", expect_errors=True)
    assert (answer.status_int, answer.json["code"]) == (403, "role_too_low")


def test_a_rule_lives(service):
    ada = service.ada
    made = ada.post_json("/api/healing/rules", RULE, status=201).json
    assert (made["id"], made["status"]) == ("nginx-down", "created")
    assert ada.post_json("/api/healing/rules", RULE, status=409).json["code"] == "id_taken"
    rule = service.vera.get("/api/healing/rules/nginx-down").json
    assert rule["initial_level"] == "observation"
    assert rule["source"] == "api"
    rule["severity"] = "critical"
    ada.put_json("/api/healing/rules/nginx-down", rule)
    assert service.vera.get("/api/healing/rules/nginx-down").json["severity"] == "critical"
    assert "nginx-down" in [row["rule_id"] for row in service.vera.get("/api/healing/trust").json]
    ada.delete("/api/healing/rules/nginx-down")
    service.vera.get("/api/healing/rules/nginx-down", status=404)
    assert "nginx-down" not in [row["rule_id"] for row in service.vera.get("/api/healing/trust").json]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"condition": "cpu_percent >"}, "condition"),
        ({"condition": None}, "condition"),
        ({"action": None}, "action"),
        ({"action": {"type": "dance"}}, "action.type"),
        ({"severity": "purple"}, "severity"),
        ({"for": "soon"}, "for"),
        ({"for": True}, "for"),
        ({"initial_level": "approve"}, "initial_level"),
        ({"cooldown_s": "7"}, "cooldown_s"),
        ({"action": {"type": "restart_service", "params": {"unit": "x"}}}, "action.params.unit"),
        ({"action": {"type": "restart_service", "params": {"service": 7}}}, "action.params.service"),
        ({"escalation_chain": [{"action": "nice_adjust", "params": {"x": 1}}]}, "escalation_chain.0.params.x"),
        ({"action": {"type": "process_kill", "params": {"pid": 7, "top": "cpu"}}}, "action.params.pid"),
        (
            {"escalation_chain": [{"action": "firewall_rule_add", "params": {"rule": PORT_ALONE}}]},
            "escalation_chain.0.params.rule",
        ),
        ({"action": {"type": "run"}}, "action.params.command"),
        ({"surprise": 1}, "surprise"),
        ({"id": "Not Free"}, "id"),
        ({"targets": {"agents": "all"}}, "targets.agents"),
    ],
)
@pytest.mark.shared
def test_a_wrong_rule_is_422_and_names_the_field(service, change, field):
    answer = service.ada.post_json("/api/healing/rules", {**RULE, **change}, status=422)
    assert field in answer.json["fields"]


def test_default_rules_are_there_at_notify(service):
    found = {row["rule_id"]: row["current_level"] for row in service.vera.get("/api/healing/trust").json}
    assert set(found) >= {
        "default-cpu",
        "default-disk",
        "default-service",
        "default-crash-loop",
        "default-service-manager",
        "default-masked",
        "default-inodes",
        "default-read-only",
        "default-clock",
        "default-container",
        "default-memory",
        "default-dns",
        "default-vpn",
        "default-backup",
    }
    assert set(found.values()) == {"notify"}


def test_trust_moves_by_hand_and_says_so(service):
    ada, path = service.ada, "/api/healing/trust/default-service"
    assert ada.post_json(path + "/promote", {"level": "approve"}).json == {
        "success": True,
        "rule_id": "default-service",
        "new_level": "approve",
    }
    assert ada.post_json(path + "/promote", {"level": "approve"}, status=409).json["code"] == "level_refused"
    ada.post_json(path + "/promote", {"level": "observation"}, status=422)
    ada.post_json(path + "/promote", {"level": "notify"}, status=409)
    ada.post_json(path + "/promote", {}, status=422)
    assert ada.post_json(path + "/promote", {"level": "execute"}).json["new_level"] == "execute"
    assert ada.post(path + "/demote").json["new_level"] == "notify"
    ada.post_json(path + "/demote", {"level": "approve"}, status=409)
    ada.post_json(path + "/demote", {"level": "execute"}, status=409)  # a level, but not downward
    ada.post_json("/api/healing/trust/nobody/promote", {"level": "approve"}, status=404)
    [row] = [row for row in service.vera.get("/api/healing/trust").json if row["rule_id"] == "default-service"]
    assert (row["promotion_count"], row["demotion_count"]) == (2, 1)
    assert row["needs"] == ["10 more outages within 7 days"]


def test_nothing_is_promoted_above_its_ceiling(service):
    service.ada.put_json("/api/healing/rules/default-service", {"trust_ceiling": "approve"})
    service.ada.post_json("/api/healing/trust/default-service/promote", {"level": "execute"}, status=409)


def test_the_ledger_is_empty_and_whole(service):
    answer = service.vera.get("/api/healing/ledger")
    assert (answer.json, answer.headers["X-Total-Count"]) == ([], "0")
    assert service.vera.get("/api/healing/ledger/verify").json == {"valid": True, "entries": 0, "first_bad": None}
    for query in ("limit=0", "limit=1001", "limit=x", "offset=-1"):
        service.vera.get(f"/api/healing/ledger?{query}", status=422)


@pytest.mark.shared
def test_effectiveness_needs_its_query(service):
    assert set(service.vera.get("/api/healing/effectiveness", status=422).json["fields"]) == {
        "action_type",
        "condition",
    }
    found = service.vera.get("/api/healing/effectiveness?action_type=run&condition=cpu_percent > 90").json
    assert (found["total"], found["success_rate"], found["lower_bound"]) == (0, None, None)


def test_windows(service):
    body = {"target": "box-1", "duration": "1h30m", "reason": "disk swap", "action": "suppress"}
    window = service.otto.post_json("/api/healing/maintenance", body, status=201).json
    assert window["expires_at"] - window["created_at"] == 5400
    assert window["created_by"] == "otto"
    assert service.vera.get("/api/healing/maintenance").json == [window]
    service.otto.delete(f"/api/healing/maintenance/{window['id']}")
    assert service.vera.get("/api/healing/maintenance").json == []
    for wrong in ({"duration": "soon"}, {"duration": "0s"}, {"duration": ""}, {"action": "ignore"}, {"target": ""}):
        service.otto.post_json("/api/healing/maintenance", {**body, **wrong}, status=422)


def test_the_kill_switch(service):
    assert service.vera.get("/api/healing/health").json["status"] == "Active"
    assert service.ada.post("/api/healing/pause").json == {"status": "Paused"}
    health = service.vera.get("/api/healing/health").json
    assert (health["status"], health["reasons"]) == ("Paused", ["paused by ada"])
    assert service.ada.post("/api/healing/resume").json == {"status": "Active"}
    assert service.vera.get("/api/healing/health").json["status"] == "Active"


def test_a_window_on_all_is_a_pause_too(service):
    body = {"target": "all", "duration": "1h", "reason": "move", "action": "queue"}
    service.otto.post_json("/api/healing/maintenance", body, status=201)
    assert service.vera.get("/api/healing/health").json["status"] == "Paused"


def test_dependencies(service):
    entries = [
        {"target": "db"},
        {"target": "web", "depends_on": ["db"]},
        {"target": "isp", "type": "external", "site": "b"},
    ]
    service.ada.put_json("/api/healing/dependencies", {"dependencies": entries})
    graph = service.vera.get("/api/healing/dependencies").json
    assert graph["edges"] == [{"from": "web", "to": "db"}]
    assert graph["root_causes"] == []
    assert {node["status"] for node in graph["nodes"]} == {"unknown"}  # nobody looks at any of them: never green
    made = service.ada.post_json("/api/agents", {"label": "database"}).json
    service.anonymous.post_json(f"/api/agents/{made['agent_id']}/report", {"hostname": "db", "os": "linux"},
                                headers={"X-Agent-Key": made["key"]}, status=200)  # fmt: skip
    graph = service.vera.get("/api/healing/dependencies").json
    assert {node["target"]: node["status"] for node in graph["nodes"]} == {
        "db": "ok", "web": "unknown", "isp": "unknown"}  # fmt: skip
    answer = service.ada.put_json(
        "/api/healing/dependencies", {"dependencies": [{"target": "a", "depends_on": ["a"]}]}, status=422
    )
    assert "cycle" in answer.json["fields"]["a"]


def test_dependencies_can_be_put_back_as_they_were_shown(service):
    place = "/api/healing/dependencies"
    entries = [{"target": "db"}, {"target": "web", "depends_on": ["db"]}, {"target": "isp", "type": "external"}]
    service.ada.put_json(place, {"dependencies": entries})
    service.ada.post_json(f"{place}/edges", {"target": "isp", "depends_on": "db"})
    before = service.ada.get(place).json
    service.ada.put_json(place, before)
    service.ada.put_json(place, {})
    assert service.ada.get(place).json == before
    more = [*before["dependencies"], {"target": "disk"}]
    service.ada.put_json(place, before | {"dependencies": more})
    assert [node["target"] for node in service.ada.get(place).json["nodes"]] == ["db", "web", "isp", "disk"]


def test_one_dependency_is_added_and_taken_out(service):
    edges = "/api/healing/dependencies/edges"
    service.ada.put_json(
        "/api/healing/dependencies",
        {"dependencies": [{"target": "db"}, {"target": "web", "depends_on": ["db"]}, {"target": "disk"}]},
    )
    service.ada.post_json(edges, {"target": "db", "depends_on": "disk"})
    graph = service.vera.get("/api/healing/dependencies").json
    assert graph["edges"] == [{"from": "db", "to": "disk"}, {"from": "web", "to": "db"}]
    again = service.ada.post_json(edges, {"target": "db", "depends_on": "disk"}, status=409).json
    assert again["code"] == "known_edge"
    circle = service.ada.post_json(edges, {"target": "disk", "depends_on": "web"}, status=409).json
    assert "disk → web → db → disk" in circle["error"]
    assert "itself" in service.ada.post_json(edges, {"target": "db", "depends_on": "db"}, status=409).json["error"]
    unknown = service.ada.post_json(edges, {"target": "db", "depends_on": "nowhere"}, status=422).json
    assert "nowhere" in unknown["fields"]["depends_on"]
    service.ada.post_json(edges, {"target": "db/postgresql", "depends_on": "disk"})
    for edge in ({"target": "web", "depends_on": "db"}, {"target": "db", "depends_on": "disk"}):
        service.ada.delete_json(edges, edge)
        service.ada.delete_json(edges, edge, status=404)
    graph = service.vera.get("/api/healing/dependencies").json
    assert graph["edges"] == [{"from": "db/postgresql", "to": "disk"}]


def test_what_the_configuration_file_declares_is_taken_out_there(service):
    entries = [{"target": "db"}, {"target": "web", "depends_on": ["db"]}]
    service.node.transact(lambda root: depend(root, entries, "yaml"))
    said = service.ada.delete_json(
        "/api/healing/dependencies/edges", {"target": "web", "depends_on": "db"}, status=409
    ).json
    assert said["code"] == "declared_in_file"
    assert len(service.vera.get("/api/healing/dependencies").json["edges"]) == 1


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ([{"target": "a", "depends_on": ["b"]}, {"target": "b"}], []),
        ({"dependencies": [{"target": "a", "type": "external", "site": "x"}]}, []),
        ([{"target": "a", "depends_on": ["b"]}, {"target": "b", "depends_on": ["a"]}], [("a", "cycle: a → b → a")]),
        ([{"target": "a"}, {"target": "a"}], [("a", "duplicate: it is listed more than once")]),
        ([{"target": "a", "depends_on": ["x"]}], [("a", "unknown reference: x")]),
        ([7], [("[0]", "bad type: an entry must be an object")]),
        ([{"target": "a", "type": 7}], [("a", "bad type: must be one of service, external, host, container, monitor")]),
        ([{"target": "a", "depends_on": "b"}], [("a", "bad type: depends_on must be a list of strings")]),
        ([{"target": "a", "depends_on": False}], [("a", "bad type: depends_on must be a list of strings")]),
        ([{"target": "a", "depends_on": 0}], [("a", "bad type: depends_on must be a list of strings")]),
        ([{"target": "a", "depends_on": {}}], [("a", "bad type: depends_on must be a list of strings")]),
        ([{"target": "a", "site": 7}], [("a", "bad type: site must be a string")]),
        ([{"target": "a", "site": False}], [("a", "bad type: site must be a string")]),
        ([{"target": "a", "type": None, "site": None, "depends_on": None}], []),
        ([{"target": "a", "colour": 7}], [("a", "unknown key: colour")]),
        ([{}], [("[0]", "bad type: target must be a string")]),
    ],
)
@pytest.mark.shared
def test_validation_of_dependencies(service, body, errors):
    answer = service.vera.post_json("/api/healing/dependencies/validate", body).json
    assert answer["valid"] is (not errors)
    assert [(error["target"], error["error"]) for error in answer["errors"]] == errors


@pytest.mark.shared
@pytest.mark.parametrize(
    ("many", "why"),
    [
        ([{"target": "a"}] * 5001, "must have at most 5000 entries"),
        (
            [{"target": f"t{n}", "depends_on": ["t0"] * 1000} for n in range(51)],
            "must name at most 50000 dependencies in all; there are 51000",
        ),
    ],
)
def test_a_list_of_dependencies_has_a_limit_that_is_told(service, many, why):
    answer = service.vera.post_json("/api/healing/dependencies/validate", many, status=422).json
    assert answer["fields"] == {"dependencies": why}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"dependencies": []}', 422),
        (b'{"x": 1}', 422),
        (b"7", 400),
        (b"x", 400),
        (b"null", 400),
    ],
)
@pytest.mark.shared
def test_validation_of_nothing(service, body, status):
    path = "/api/healing/dependencies/validate"
    service.vera.post(path, body, headers={"Content-Type": "application/json"}, status=status)


@pytest.mark.shared
def test_validation_takes_json_alone(service):
    path = "/api/healing/dependencies/validate"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16"):
        service.vera.post(path, b"[]", headers={"Content-Type": kind}, status=415)


@pytest.mark.shared
def test_validation_names_what_no_text_can_be(service):
    """Half a character is JSON; an answer that says it again is JSON too, and no 500."""
    body = [{"target": "a\ud800", "type": "service"}] * 2
    answer = service.vera.post_json("/api/healing/dependencies/validate", body)
    assert answer.json["valid"] is False
    assert "a\\ud800" in answer.text


@pytest.mark.shared
def test_actions_are_the_55(service):
    actions = service.vera.get("/api/healing/actions").json
    risks = [action["risk"] for action in actions]
    assert (len(actions), risks.count("low"), risks.count("medium"), risks.count("high")) == (55, 20, 22, 13)


@pytest.mark.shared
def test_a_dry_run_of_nothing_known(service):
    event = {
        "source": "test",
        "rule_id": "nobody",
        "condition": "cpu_percent > 90",
        "target": "box-1",
        "severity": "warning",
        "metrics": {"cpu_percent": 95},
    }
    answer = service.otto.post_json("/api/healing/dry-run", {"event": event}, status=422)
    assert list(answer.json["fields"]) == ["event.rule_id"]
    service.otto.post_json("/api/healing/dry-run", {}, status=422)
    found = service.otto.post_json("/api/healing/dry-run", {"event": {**event, "rule_id": "default-cpu"}}).json
    assert (found["would"], found["trust"]["effective_level"]) == ("notify", "notify")
    assert any("no_host" in line for line in found["why"])


@pytest.mark.parametrize("path", ["rollback/1", "rollback/x", "rollback", "cases/x", "cases", "suggestions/7/dismiss"])
@pytest.mark.shared
def test_what_is_not_there_is_404(service, path):
    service.ada.post(f"/api/healing/{path}", status=404)


def test_no_approvals_wait(service):
    assert service.vera.get("/api/approvals").json == []
    service.vera.get("/api/approvals?status=maybe", status=422)
    service.otto.post("/api/approvals/0123456789abcdef/approve", status=404)


@pytest.mark.parametrize(("given", "kept"), [(90, 90), ("2m", "2m"), ("1h30m", "1h30m"), (None, 0)])
@pytest.mark.shared
def test_how_long_a_condition_must_hold_is_kept(service, given, kept):
    body = {"condition": "cpu_percent > 90", "escalation_chain": [{"action": "clear_cache"}], "for": given}
    rule = service.ada.post_json("/api/healing/rules", body).json["id"]
    assert service.ada.get(f"/api/healing/rules/{rule}").json["for"] == kept
    service.ada.put_json(f"/api/healing/rules/{rule}", {"for": "30s"})
    assert service.ada.get(f"/api/healing/rules/{rule}").json["for"] == "30s"
    assert "for" in service.ada.put_json(f"/api/healing/rules/{rule}", {"for": "soon"}, status=422).json["fields"]


@pytest.mark.shared
def test_chaos(service):
    assert len(service.vera.get("/api/healing/chaos/scenarios").json) == 12
    run = "/api/healing/chaos/run"
    found = service.ada.post_json(run, {"scenario": "manual_fix_race", "dry_run": True}).json
    assert (found["name"], found["dry_run"], found["status"]) == ("manual_fix_race", True, "passed")
    known = {"name", "dry_run", "settings", "status", "started_at", "duration_s", "expectations", "notes"}
    assert found.keys() == known
    assert found["settings"] == "live"
    assert all(one.keys() == {"check", "expected", "actual", "passed"} for one in found["expectations"])
    documented = {"scenario": "manual_fix_race", "dry_run": True, "settings": "default"}
    assert service.ada.post_json(run, documented).json["settings"] == "default"
    service.ada.post_json(run, {**documented, "settings": "other"}, status=422)
    service.ada.post_json(run, {"scenario": "unheard_of", "dry_run": True}, status=404)
    refused = service.ada.post_json(run, {"scenario": "manual_fix_race", "dry_run": False}, status=409)
    assert refused.json["code"] == "no_chaos_agent"
    service.ada.post_json(run, {"scenario": "manual_fix_race"}, status=422)
    service.otto.post_json(run, {"scenario": "manual_fix_race", "dry_run": True}, status=403)


def test_forecasts_come_from_what_agents_reported(service):
    """Four days of reports with a disk that fills; the engine looks; anybody may read what it saw."""
    assert service.vera.get("/api/healing/forecasts").json == []
    agent = service.ada.post_json("/api/agents", {"label": "web", "tags": []}).json
    path, headers = f"/api/agents/{agent['agent_id']}/report", {"X-Agent-Key": agent["key"]}
    for at in range(32):
        report = {"hostname": "box-1", "os": "linux", "cpu_percent": 5.0, "mem_percent": 20.0, "disk_percent": 50.0,
                  "uptime_s": 100, "disks": {"/var": 60.0 + at * 0.6}}  # fmt: skip
        service.anonymous.post_json(path, report, headers=headers)
        service.clock.advance(3 * 3600)
        serieswork.flush(service.node)
    report["disks"] = {"/var": 60.0 + 32 * 0.6}
    service.anonymous.post_json(path, report, headers=headers)  # who is silent raises nothing
    serieswork.flush(service.node)
    service.tokens.clear()  # they live a day
    service.node.leases.want("healing")
    service.node.leases.step()
    forecasts.step(service.node, Foresight())
    rows = {(row["metric"], row["mount"]): row for row in service.vera.get("/api/healing/forecasts").json}
    full = rows["disk_percent", "/var"]
    known = {"agent_id", "metric", "mount", "now", "threshold", "hits_at", "low", "high", "coverage"}
    assert full.keys() == known | {"false_alarms", "sudden", "fan", "past", "likely_by"}
    assert full["now"] == 60.0 + 32 * 0.6
    assert full["low"] <= full["hits_at"] <= full["high"]
    assert abs(full["hits_at"] - service.clock.now() - 54 * 3600) < 8 * 3600
    assert rows["cpu_percent", None]["hits_at"] is None
    assert [one["category"] for one in service.vera.get("/api/healing/suggestions").json] == ["capacity_forecast"]


def test_replay(service):
    path = "/api/healing/replay"
    body = {"days": 7, "rules": [RULE]}
    assert service.otto.post_json(path, body).json == {
        "events": 0,
        "same": 0,
        "differences": [],
        "rules": [{"rule_id": "nginx-down", "recorded": 0, "would": 0}],
    }
    service.vera.post_json(path, body, status=403)
    assert service.otto.post_json(path, {"days": 7}, status=422).json["fields"].keys() == {"rules"}
    assert "days" in service.otto.post_json(path, {"dependencies": []}, status=422).json["fields"]
    service.otto.post_json(path, {"days": -1, "dependencies": []}, status=422)
    wrong = {**RULE, "id": "none", "condition": "a >", "action": None}
    answer = service.otto.post_json(path, {"days": 7, "rules": [wrong]}, status=422)
    assert answer.json["fields"].keys() == {"rules.0.condition", "rules.0.action"}


def test_places_are_made_anew_only_when_something_about_them_is_different(service):
    def places():
        service.ada.get("/api/monitoring/endpoints")  # the register takes what was committed
        return service.node.transact(lambda root: fleet_access(root).inventory(root))

    made = service.ada.post_json("/api/monitoring/endpoints", {"name": "a", "type": "tcp", "url": "tcp://127.0.0.1:9"})
    first = places()
    assert places() is first
    service.ada.put_json(f"/api/monitoring/endpoints/{made.json['id']}", {"name": "b"})
    second = places()
    assert [one.name for one in first] == ["a"]
    assert [one.name for one in second] == ["b"]
    service.ada.delete(f"/api/monitoring/endpoints/{made.json['id']}")
    assert (places(), places()) == ([], [])


@pytest.mark.parametrize("value", [None, True, [1], {"a": 1}, "x" * 1001, "97", "high"])
@pytest.mark.shared
def test_a_metric_of_an_event_is_a_number(service, value):
    event = {"rule_id": "default-cpu", "target": "box-1", "metrics": {"cpu_percent": value, "load1": 1}}
    answer = service.otto.post_json("/api/healing/dry-run", {"event": event}, status=422)
    assert list(answer.json["fields"]) == ["event.metrics.cpu_percent"]


@pytest.mark.parametrize("name", ["service.nginx.state", "container.web.state", "monitor.status", "event.labels.job"])
@pytest.mark.shared
def test_a_state_of_an_event_is_a_text(service, name):
    event = {"rule_id": "default-service", "target": "box-1", "metrics": {name: "failed", "cpu_percent": 1.5}}
    answer = service.otto.post_json("/api/healing/dry-run", {"event": event})
    assert answer.json["event"]["metrics"] == {name: "failed", "cpu_percent": 1.5}


def test_a_rule_sent_back_as_it_was_read_stays_what_it_is(service):
    path = "/api/healing/rules/default-cpu"
    before = service.ada.get(path).json
    service.clock.advance(60)
    service.ada.put_json(path, before)
    assert service.ada.get(path).json == before
    service.ada.put_json(path, before | {"cooldown_s": 7})
    assert service.ada.get(path).json["source"] == "api"


def test_a_draft_is_tried_on_the_past(service):
    path = "/api/healing/whatif"
    draft = {key: value for key, value in RULE.items() if key != "id"}
    answer = service.otto.post_json(path, {"rule": draft}).json
    assert (answer["total"], answer["would_act"], answer["expected_saved_minutes"]) == (None, None, None)
    assert (answer["firings"], answer["not_kept"]) == ([], ["service.nginx.state"])
    assert answer["to"] - answer["from"] == 7 * 86400
    now = int(service.clock.now())
    answer = service.otto.post_json(path, {"rule": RULE, "from": now - 3600, "to": now}).json
    assert (answer["from"], answer["to"]) == (now - 3600, now)
    service.vera.post_json(path, {"rule": draft}, status=403)
    assert service.otto.post_json(path, {"rule": RULE, "to": 1}).json["from"] == 0
    wrong = service.otto.post_json(path, {"rule": {**draft, "condition": "a >"}, "days": 31}, status=422)
    assert wrong.json["fields"].keys() == {"rule.condition", "days"}
    backwards = service.otto.post_json(path, {"rule": draft, "from": now, "to": now - 60}, status=422)
    assert backwards.json["fields"].keys() == {"from"}
    assert all(rule["source"] != "api" for rule in service.vera.get("/api/healing/rules").json)
