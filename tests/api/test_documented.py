"""Every answer of the API has a type in the OpenAPI document. (`DocumentedApp` holds real answers against it.)"""

import json

from opsapp.web import openapi
from tests.support.documented import misfits

# Answers that are any JSON value, since something else decides what they are.
FREE = {
    "GET /api/healing/cases/{case_id} .act.params{}",  # by the action's type
    "GET /api/agents/{agent_id} .capabilities{}",  # tools, as the agent tells
    "GET /api/agents/{agent_id}/commands [].data{}",  # by the command's type
    "GET /api/agents/{agent_id}/commands [].params{}",
    "GET /api/agents/{agent_id}/commands/{command_id} .data{}",
    "GET /api/agents/{agent_id}/commands/{command_id} .params{}",
    "POST /api/agents/{agent_id}/report .commands[].params{}",
    "POST /api/agents/{agent_id}/report .policies{}",  # signed as a whole
    "POST /api/apply .changes[].after{}",  # by the kind of thing
    "POST /api/apply .changes[].before{}",
    "GET /api/approvals [].plan{}",  # by what is approved
    "GET /api/approvals/{request_id} .plan{}",
    "GET /api/audit [].after",  # by what was done
    "GET /api/audit [].before",
    "GET /api/automations/export [].params{}",  # by the automation's type
    "GET /api/automations/templates [].params{}",
    "GET /api/automations/templates/{template_id} .params{}",
    "GET /api/automations/{automation_id} .params{}",
    "GET /api/healing/actions [].params{}{}",  # bounds and default of a parameter
    "GET /api/healing/capabilities/{hostname} .manifest{}",
    "POST /api/healing/chaos/run .expectations[].actual",
    "POST /api/healing/chaos/run .expectations[].expected",
    "POST /api/healing/dry-run .action_selection.action_params{}",  # by the action
    "POST /api/healing/replay .differences[].event{}",
    "GET /api/healing/rules [].action.params{}",
    "GET /api/healing/rules [].escalation_chain[].params{}",
    "GET /api/healing/rules/{rule_id} .action.params{}",
    "GET /api/healing/rules/{rule_id} .escalation_chain[].params{}",
    "GET /api/monitoring/endpoints [].expected_value",  # what a JSON document is compared with
    "GET /api/monitoring/endpoints/{monitor_id} .expected_value",
    "GET /api/monitoring/incidents/{incident_id}/war-room .heals[]{}",  # rows of the ledger, of a room above
    "GET /api/monitoring/incidents/{incident_id}/war-room .monitor.expected_value",
}
# POST and PUT without a body: all that they need is in the path, or the body does not matter.
BODILESS = {
    "POST /api/monitoring/endpoints/{monitor_id}/check",
    "POST /api/agents/{agent_id}/key",
    "POST /api/automations/runs/{run_id}/cancel",
    "POST /api/automations/{automation_id}/webhook-token",
    "POST /api/healing/capabilities/{hostname}/refresh",
    "POST /api/healing/pause",
    "POST /api/healing/resume",
    "POST /api/healing/rollback/{ledger_id}",
    "POST /api/healing/suggestions/{suggestion_id}/confirm",
    "POST /api/healing/suggestions/{suggestion_id}/dismiss",
    "POST /api/logout",
    "POST /api/maintenance/{window_id}/activate",
    "POST /api/maintenance/{window_id}/deactivate",
    "POST /api/me/totp",
    "POST /api/monitoring/push/{token}",
    "POST /api/notifications/channels/{channel_id}/test",
    "POST /api/stream-ticket",
    "POST /api/users/{username}/unlock",
}


def untyped(shape, path):
    if not shape.keys() - {"description"}:
        yield path
    for name, inner in shape.get("properties", {}).items():
        yield from untyped(inner, f"{path}.{name}")
    if "items" in shape:
        yield from untyped(shape["items"], f"{path}[]")
    if isinstance(shape.get("additionalProperties"), dict):
        yield from untyped(shape["additionalProperties"], f"{path}{{}}")
    for inner in (*shape.get("anyOf", ()), *shape.get("oneOf", ())):
        yield from untyped(inner, path)


def operations(service):
    for path, methods in openapi.document(service.app.registry)["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_no_field_of_an_answer_is_without_a_type(service):
    found = {
        path
        for name, operation in operations(service)
        for status, response in operation["responses"].items()
        if status.startswith("2") and "application/json" in response.get("content", {})
        for path in untyped(response["content"]["application/json"]["schema"], name + " ")
    }
    assert found == FREE


def bodies(service):
    return {name: operation.get("requestBody", {}).get("content") for name, operation in operations(service)}


def test_every_body_is_described(service):
    assert {name for name, body in bodies(service).items() if body is None and name[:4] in ("POST", "PUT ")} == BODILESS


def test_a_raw_body_has_a_schema_too(service):
    imported = bodies(service)["POST /api/automations/import"]["application/json"]["schema"]
    assert imported["type"] == "array"
    assert "name" in imported["items"]["properties"]
    report = bodies(service)["POST /api/agents/{agent_id}/report"]["application/json"]["schema"]
    assert report["properties"].keys() >= {"hostname", "cpu_percent", "disks"}
    assert report["required"] == ["hostname", "os"]
    assert "multipart/form-data" in bodies(service)["POST /api/agents/{agent_id}/files"]


def test_the_check_of_real_answers_sees_what_does_not_fit(service):
    registry = service.app.registry
    assert misfits(registry, "GET", "/api/me", {"username": "vera", "role": "viewer"}) == []
    assert misfits(registry, "GET", "/api/me", {"username": "vera", "role": "queen", "more": 1})
    assert misfits(registry, "GET", "/api/me", {"username": "vera"})


def test_bounds_are_said_of_what_is_sent_and_not_of_what_is_answered(service):
    described = dict(operations(service))
    assert '"maxLength"' in json.dumps(described["POST /api/automations"]["requestBody"])
    assert '"maxLength"' not in json.dumps([operation["responses"] for operation in described.values()])


def patterns(shape):
    if isinstance(shape, dict):
        if isinstance(shape.get("pattern"), str):
            yield shape["pattern"]
        for inner in shape.values():
            yield from patterns(inner)
    elif isinstance(shape, list):
        for inner in shape:
            yield from patterns(inner)


def test_a_pattern_is_of_the_whole_text_as_the_server_matches_it(service):
    known = set(patterns(openapi.document(service.app.registry)))
    assert len(known) > 10
    assert {pattern for pattern in known if not (pattern.startswith("^(?:") and pattern.endswith(")$"))} == set()
