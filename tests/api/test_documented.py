"""Every answer of the API has a type in the OpenAPI document. (`DocumentedApp` holds real answers against it.)"""

import json
import re

import pytest

from opsapp.web import openapi, shapes
from opsapp.web.fields import Body, field, flag, list_of, text
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


def resolved(service, shape):
    """A schema with what it refers to in its place."""
    known = openapi.document(service.app.registry)["components"]["schemas"]

    def resolve(part):
        if isinstance(part, list):
            return [resolve(inner) for inner in part]
        if not isinstance(part, dict):
            return part
        named = resolve(known[part["$ref"].rpartition("/")[2]]) if isinstance(part.get("$ref"), str) else {}
        return named | {name: resolve(inner) for name, inner in part.items() if name != "$ref"}

    return resolve(shape)


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
        for path in untyped(resolved(service, response["content"]["application/json"]["schema"]), name + " ")
    }
    assert found == FREE


def bodies(service):
    return {name: operation.get("requestBody", {}).get("content") for name, operation in operations(service)}


def test_every_body_is_described(service):
    assert {name for name, body in bodies(service).items() if body is None and name[:4] in ("POST", "PUT ")} == BODILESS


def test_a_raw_body_has_a_schema_too(service):
    imported = resolved(service, bodies(service)["POST /api/automations/import"]["application/json"]["schema"])
    assert imported["type"] == "array"
    assert "name" in imported["items"]["properties"]
    report = resolved(service, bodies(service)["POST /api/agents/{agent_id}/report"]["application/json"]["schema"])
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
    answers = [
        content["schema"]
        for operation in described.values()
        for status, response in operation["responses"].items()
        if status.startswith("2") and (content := response.get("content", {}).get("application/json"))
    ]
    assert len(answers) > 100
    assert '"maxLength"' in json.dumps(resolved(service, described["POST /api/automations"]["requestBody"]))
    assert '"maxLength"' not in json.dumps(resolved(service, answers))


def test_every_record_and_every_body_has_a_name(service):
    document = openapi.document(service.app.registry)
    known = document["components"]["schemas"]
    assert {"Monitor", "Incident", "LedgerEntry", "Rule", "NewMonitor", "MonitorChange", "RuleTargets"} <= set(known)
    assert {name for name in known if not re.fullmatch(r"[A-Z][A-Za-z]+", name)} == set()
    objects = {
        name
        for name, operation in operations(service)
        for content in shown_schemas(operation)
        if "properties" in json.dumps(content)
    }
    assert objects == set(), "an object is a component, and referred to"
    refs = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document)))
    assert refs == set(known), "each is there, and each is used"


def shown_schemas(operation):
    for part in (operation.get("requestBody", {}), *operation["responses"].values()):
        yield from (content["schema"] for content in part.get("content", {}).values() if "schema" in content)


def test_a_change_is_not_the_whole_and_has_a_name_of_its_own(service):
    known = openapi.document(service.app.registry)["components"]["schemas"]
    put = dict(operations(service))["PUT /api/monitoring/endpoints/{monitor_id}"]["requestBody"]
    assert put["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/MonitorChange"}
    assert "required" not in known["MonitorChange"]
    assert known["MonitorChange"]["properties"]["status"] == {"readOnly": True}


def test_what_is_answered_and_sent_has_the_bounds_of_each(service):
    known = openapi.document(service.app.registry)["components"]["schemas"]
    assert "maxItems" in json.dumps(known["RuleTargetsBody"])
    assert "maxItems" not in json.dumps(known["RuleTargets"])


def test_every_operation_has_an_id_of_its_own(service):
    ids = [operation["operationId"] for _, operation in operations(service)]
    assert sorted(ids) == sorted(set(ids))


class ThingRecord(Body):
    name = text(1, 20)


class Box(Body):
    lid = field(ThingRecord, default=None)
    contents = list_of(ThingRecord, 3)
    open = flag()


def test_two_classes_of_one_name_are_an_error():
    other = type("Thing", (Body,), {"size": text()})
    known = shapes.Components()
    known.answer(Box)
    known.answer(Box)
    with pytest.raises(LookupError, match="Thing"):
        known.answer(other)


def test_a_class_inside_another_is_a_component_too():
    known = shapes.Components()
    assert known.answer([Box]) == {"type": "array", "items": {"$ref": "#/components/schemas/Box"}}
    assert known.schemas["Box"]["properties"]["lid"] == {"$ref": "#/components/schemas/Thing"}
    assert known.body(Box) == {"$ref": "#/components/schemas/BoxBody"}
    assert known.schemas["ThingBody"]["properties"]["name"] == {"type": "string", "minLength": 1, "maxLength": 20}
    assert known.change(Box, frozenset({"id"})) == {"$ref": "#/components/schemas/BoxChange"}
    assert known.schemas["BoxChange"]["properties"]["id"] == {"readOnly": True}


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
