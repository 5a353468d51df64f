"""Every answer of the API has a type in the OpenAPI document. (`DocumentedApp` holds real answers against it.)"""

import json
import re

import pytest

from opsapp.web import openapi, shapes
from opsapp.web.bodies import RAW, judge
from opsapp.web.examples import answer_example
from opsapp.web.fields import Body, field, flag, list_of, node_of, text
from opsapp.web.uploads import FileForm
from tests.support.documented import misfits, validator

pytestmark = pytest.mark.shared

# Answers that are any JSON value, since something else decides what they are.
FREE = {
    *(
        f"GET /api/{kind}/archive .{part}"
        for kind in ("healing/cases", "healing/ledger", "monitoring/incidents")
        for part in ("about{}", "rows[]{}")
    ),  # as the store has it
    "GET /api/healing/cases/{case_id} .act.params{}",  # by the action's type
    "GET /api/approvals [].assistant.whatif{}",  # by what is proposed
    "GET /api/approvals/{request_id} .assistant.whatif{}",
    "GET /api/agents/{agent_id} .capabilities{}",  # tools, as the agent tells
    "GET /api/agents/{agent_id}/commands [].data{}",  # by the command's type
    "GET /api/agents/{agent_id}/commands [].params{}",
    "GET /api/agents/{agent_id}/commands/{command_id} .data{}",
    "GET /api/agents/{agent_id}/commands/{command_id} .params{}",
    "POST /api/agents/{agent_id}/report .commands[].params{}",
    "POST /api/agents/{agent_id}/report .policies.bundle{}",  # signed as a whole
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
    "GET /api/healing/rules [].action.params{}",
    "GET /api/healing/rules [].escalation_chain[].params{}",
    "GET /api/healing/rules/{rule_id} .action.params{}",
    "GET /api/healing/rules/{rule_id} .escalation_chain[].params{}",
    "POST /api/healing/rules .action.params{}",
    "POST /api/healing/rules .escalation_chain[].params{}",
    "PUT /api/healing/rules/{rule_id} .action.params{}",
    "PUT /api/healing/rules/{rule_id} .escalation_chain[].params{}",
    "GET /api/monitoring/endpoints [].expected_value",  # what a JSON document is compared with
    "GET /api/monitoring/endpoints/{monitor_id} .expected_value",
    "GET /api/monitoring/incidents/{incident_id}/war-room .heals[]{}",  # rows of the ledger, of a room above
    "GET /api/monitoring/incidents/{incident_id}/war-room .monitor.expected_value",
}
# POST and PUT without a body: all that they need is in the path, or the body does not matter.
BODILESS = {
    "POST /api/deleted/{deletion_id}/undo",
    "POST /api/monitoring/endpoints/{monitor_id}/check",
    "POST /api/agents/{agent_id}/key",
    "POST /api/automations/runs/{run_id}/cancel",
    "POST /api/automations/{automation_id}/webhook-token",
    "POST /api/healing/capabilities/{hostname}/refresh",
    "POST /api/healing/cases/{case_id}/act-now",
    "POST /api/oncall/schedules/{schedule_id}/calendar",
    "POST /api/healing/resume",
    "POST /api/healing/rollback/{ledger_id}",
    "POST /api/healing/suggestions/{suggestion_id}/confirm",
    "POST /api/healing/suggestions/{suggestion_id}/dismiss",
    "POST /api/logout",
    "POST /api/maintenance/{window_id}/activate",
    "POST /api/maintenance/{window_id}/deactivate",
    "POST /api/me/totp",
    "POST /api/monitoring/notices/{notice_id}/end",
    "POST /api/monitoring/push/{token}",
    "POST /api/monitoring/push/{token}/{signal}",
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
    upload = resolved(service, bodies(service)["POST /api/agents/{agent_id}/files"]["multipart/form-data"]["schema"])
    assert upload["required"] == ["dest", "file"]
    assert upload["properties"]["file"] == {"type": "string", "format": "binary"}


def values(shape, place=""):
    """(where it stands, the schema) of all that a schema holds."""
    if isinstance(shape, dict):
        yield place, shape
    for name, part in shape.items() if isinstance(shape, dict) else enumerate(shape) if isinstance(shape, list) else ():
        yield from values(part, f"{place}/{name}")


def test_programs_that_make_classes_of_the_document_can(service):
    """Known generators leave out a whole record, and each call that has it, for an enum without one type, a name of a
    record that an enum of another would get, or a body without a schema."""
    described = openapi.document(service.app.registry)
    mixed = [
        place
        for place, shape in values(described)
        if isinstance(shape.get("enum"), list)
        and len({type(value) for value in shape["enum"]} | {shape.get("type")}) != 2
    ]
    assert not mixed
    records = described["components"]["schemas"]
    assert not {
        record + "".join(word.capitalize() for word in name.split("_"))
        for record, shape in records.items()
        for name, field in shape.get("properties", {}).items()
        if any("enum" in part for part in (field, *field.get("anyOf", ())))
    } & set(records)
    for name, operation in operations(service):
        contents = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in contents:
            assert all("schema" in told for told in content.get("content", {}).values()), name


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
    assert "maxItems" in json.dumps(known["NewRuleTargets"])
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


@pytest.fixture
def told(service):
    """Each operation's parameters, and the names of the shared answers by status."""
    document = openapi.document(service.app.registry)

    def of(name):
        operation = dict(operations(service))[name]
        parameters = [
            document["components"]["parameters"][shared["$ref"].rpartition("/")[2]] if "$ref" in shared else shared
            for shared in operation["parameters"]
        ]
        return {(row["in"], row["name"]) for row in parameters}, operation["responses"]

    return of


def test_headers_are_told_where_they_are_taken_and_given(told):
    parameters, responses = told("GET /api/agents")
    assert ("header", "If-None-Match") in parameters
    assert set(responses["200"]["headers"]) == {"ETag", "X-Total-Count"}
    parameters, _ = told("POST /api/agents/{agent_id}/commands")
    assert ("header", "Idempotency-Key") in parameters
    parameters, responses = told("POST /api/agents")
    assert ("header", "Idempotency-Key") not in parameters
    assert set(told("GET /api/auth/oidc/authorize")[1]["302"]["headers"]) == {"Location"}


def test_every_operation_tells_its_errors_by_reference(service):
    shared = openapi.document(service.app.registry)["components"]["responses"]
    for name, operation in operations(service):
        errors = {status: told for status, told in operation["responses"].items() if status[0] in "45d"}
        assert {"400", "500", "503", "default"} <= set(errors), name
        assert all(told["$ref"].rpartition("/")[2] in shared for told in errors.values()), name
        assert "401" in errors or operation["x-role"] == "public", name
        assert "404" in errors or "{" not in name, name
        assert {"409", "412", "413", "415", "422"} <= set(errors) or name.startswith("GET "), name
    assert "Retry-After" in shared["TooMany"]["headers"]
    assert "Retry-After" in shared["Unavailable"]["headers"]
    assert "no_snapshot" in shared["Conflict"]["content"]["application/json"]["examples"]


def shown_contents(operation):
    """What is sent (a form with a file, too), and what is answered when it went well, as JSON."""
    told = [response for status, response in operation["responses"].items() if status.startswith("2")]
    for part in (operation.get("requestBody", {}), *told):
        shown = ("application/json", "multipart/form-data")
        yield from (content for kind, content in part.get("content", {}).items() if kind in shown)


def test_every_body_and_every_answer_has_an_example_that_fits(service):
    document, count = openapi.document(service.app.registry), 0
    for name, operation in operations(service):
        for content in shown_contents(operation):
            wrong = validator(document, content["schema"]).iter_errors(content["example"])
            assert [f"{error.json_path}: {error.message}" for error in wrong] == [], name
            count += 1
    assert count > 150


def test_the_server_takes_the_example_of_a_body(service):
    described = dict(operations(service))
    for endpoint in openapi.endpoints(service.app.registry):
        body = endpoint.options.get("takes") or endpoint.options.get("body")
        name = f"{endpoint.method} {endpoint.path}"
        if name in described and body not in (None, RAW) and not isinstance(body, FileForm):
            example = described[name]["requestBody"]["content"]["application/json"]["example"]
            schema, values = (body[0], example[0]) if isinstance(body, list) else (body, example)
            partial = bool(endpoint.options.get("partial"))
            assert judge(node_of(schema), values, partial=partial)[1] == {}, f"{name}: give its class a `sample`"


def test_a_text_for_which_nothing_can_be_made_is_told_of():
    plate = type("Plate", (Body,), {"number": text(1, 20, pattern="[A-Z]{3}-[0-9]{4}")})
    with pytest.raises(LookupError, match="number"):
        answer_example(plate)
    assert answer_example(type("Plate", (plate,), {"sample": {"number": "ABC-1234"}})) == {"number": "ABC-1234"}


ABOUT_WHAT_IS_THERE = ("there is no", "no such", "is not the present")


def test_the_example_of_a_body_is_refused_only_for_what_is_not_there(service):
    """Also by what no schema can tell: fields that belong together, a password that everybody has."""
    refused = {}
    for name, content in bodies(service).items():
        method, path = name.split(" ")
        if method != "POST" or "{" in path or "application/json" not in (content or {}) or path.endswith("/deploy"):
            continue
        answer = service.ada.post_json(path, content["application/json"]["example"], expect_errors=True)
        wrong = answer.json.get("fields", {}) if answer.status_int == 422 else {}
        for wrong_field, why in wrong.items():
            if not any(part in why for part in ABOUT_WHAT_IS_THERE):
                refused[f"{path} {wrong_field}"] = why
    assert refused == {}
