"""`?as_of=`: rules, trust and dependencies as they were."""

from tests.api.test_as_of import second_passed, service  # noqa: F401

RULE = {"id": "nginx-down", "condition": 'service.nginx.state == "failed"', "action": {"type": "restart_service"}}


def test_rules_trust_and_dependencies_as_they_were(service):  # noqa: F811
    ada = service.ada
    ada.post_json("/api/healing/rules", RULE)
    ada.put_json("/api/healing/dependencies", {"dependencies": [{"target": "db"}]})
    then = second_passed()
    ada.put_json("/api/healing/rules/nginx-down", {"severity": "critical"})
    ada.post_json("/api/healing/trust/nginx-down/promote", {"level": "notify"})
    ada.put_json("/api/healing/dependencies", {"dependencies": []})
    past = f"?as_of={then}"
    assert ada.get(f"/api/healing/rules/nginx-down{past}").json["severity"] == "warning"
    assert ada.get("/api/healing/rules/nginx-down").json["severity"] == "critical"
    listed = {one["id"]: one["severity"] for one in ada.get(f"/api/healing/rules{past}").json}
    assert listed["nginx-down"] == "warning"
    levels = {one["rule_id"]: one["current_level"] for one in ada.get(f"/api/healing/trust{past}&limit=1000").json}
    assert levels["nginx-down"] == "observation"
    assert [node["target"] for node in ada.get(f"/api/healing/dependencies{past}").json["nodes"]] == ["db"]
    assert ada.get("/api/healing/dependencies").json["nodes"] == []
    for path in ("rules", "rules/nginx-down", "trust", "dependencies"):
        assert ada.get(f"/api/healing/{path}?as_of=1", status=410).json["code"] == "before_horizon"
        ada.get(f"/api/healing/{path}?as_of={then + 10**6}", status=422)
        ada.get(f"/api/healing/{path}?as_of=soon", status=422)
    made = ada.post_json("/api/healing/rules", {**RULE, "id": "later"}).json["id"]
    ada.get(f"/api/healing/rules/{made}{past}", status=404)
