"""What of addresses viewers see, and what an export and the audit record hold of them: contract 9.1."""

import json

import pytest

from opsapp.approvals import resources as approvals
from opsapp.approvals.records import NewRequest
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import case_of
from opsapp.ui.plan import PAGES
from opsapp.web.openapi import endpoints
from opsapp.wire.probes import Outcome
from tests.support.monitoring import Lookout

SECRET = "zq7hidden"
URL = f"https://{SECRET}u:{SECRET}p@example.test:8443/path?k={SECRET}q#{SECRET}f"
SEEN = "https://***@example.test:8443/path?***"
HEADERS = {"X-Plain": f"{SECRET}h"}
BODY = {"text": f"{SECRET}b"}
DSN = f"postgres://app:{SECRET}@db.test/main?sslpassword={SECRET}"
KEYWORDS = f"host=db.test user=app password={SECRET}"
MONITOR = {"name": "shop", "type": "http", "url": URL, "headers": HEADERS}
HOOK = {"name": "hook", "type": "webhook", "requires_approval": True,
        "params": {"url": URL, "headers": HEADERS, "body": BODY, "method": "POST"}}  # fmt: skip
ENV = {"DSN": DSN, "LINE": KEYWORDS, "API_TOKEN": SECRET, "PGPASS": SECRET, "GREETING": f"{SECRET} or not"}
JOB = {"name": "job", "type": "script", "params": {"script": f"pg_dump '{DSN}'", "env": ENV}}
ACTION = {"type": "webhook", "params": {"url": URL, "body": BODY, "method": "POST"}}
STEP = {"action": "webhook", "params": ACTION["params"]}
RULE = {"id": "call", "condition": "disk.*.percent > 95", "action": ACTION, "escalation_chain": [STEP]}


@pytest.fixture
def full(service):
    """A service in which the secret is wherever an address, its headers or its body can be."""
    lookout = Lookout(service)
    service.ids = {
        "monitor_id": service.otto.post_json("/api/monitoring/endpoints", MONITOR, status=201).json["id"],
        "automation_id": service.otto.post_json("/api/automations", HOOK, status=201).json["id"],
        "rule_id": service.ada.post_json("/api/healing/rules", RULE, status=201).json["id"],
    }
    service.job = service.otto.post_json("/api/automations", JOB, status=201).json["id"]
    run = service.otto.post(f"/api/automations/{service.ids['automation_id']}/run").json
    service.ids |= {"run_id": run["run_id"], "request_id": run["request_id"]}
    lookout.sees[service.ids["monitor_id"]] = Outcome(False, None, f"{URL} does not answer")
    lookout.run(1)
    service.transact(_heal, service.ids, service.clock.now())
    return service


def _heal(root, ids, now):
    """What the pipeline writes down of a rule that calls a webhook, and a command for a host."""
    event = {"source": "alert", "rule_id": "call", "condition": RULE["condition"], "target": "shop", "at": now}
    case = case_of(event)
    params = json.dumps(ACTION["params"], sort_keys=True)
    record = healing_of(root)["ledger"].begin(
        root, case, rule_id="call", now=now, action_type="webhook", action_params=params
    )
    ids["ledger_id"] = str(record.id)
    plan = {"action_type": "webhook", "params": ACTION["params"], "target": "shop"}
    about = {"case_id": "c1", "ledger_id": record.id}
    approvals.request(
        root,
        NewRequest(
            kind="heal",
            subject="shop",
            plan=plan,
            reason="",
            risk="low",
            requested_by="healing",
            expiry_s=3600,
            about=about,
        ),
        now,
    )


def readable(service):
    """Every address that can be read with GET, as far as there is something behind it."""
    found = ["/api/monitoring/endpoints?q=" + SECRET, "/api/approvals?status=all"]
    for path in {each.path for each in endpoints(service.app.registry) if each.method == "GET"} | {
        page.path for page in PAGES
    }:
        if "{" not in path and not path.endswith(("/stream", "/openapi.json")):
            found.append(path)
        for name, value in service.ids.items():
            if path.count("{") == 1 and f"{{{name}}}" in path and not path.endswith("/stream"):
                found.append(path.replace(f"{{{name}}}", value))
    return sorted(found)


def test_a_viewer_finds_no_secret_wherever_it_looks(full):
    past = int(full.clock.now())
    full.clock.advance(5)
    paths = readable(full)
    assert {f"/api/automations/{full.ids['automation_id']}", "/api/healing/rules/call", "/monitors"} <= set(paths)
    assert sum("/api/approvals/" in path for path in paths) == 1
    told = {}
    for path in [*paths, *(f"{path}?as_of={past}" for path in paths if "?" not in path)]:
        answer = full.vera.get(path, expect_errors=True)
        text = answer.text if answer.status_int == 200 and answer.charset else ""
        if SECRET in text.replace("q=" + SECRET, ""):
            told[path] = text[max(0, text.index(SECRET) - 60) :][:100]
    assert told == {}


def test_what_a_viewer_sees_of_each(full):
    get = full.vera.get
    monitor = get(f"/api/monitoring/endpoints/{full.ids['monitor_id']}").json
    assert (monitor["url"], monitor["headers"]) == (SEEN, {"X-Plain": "***"})
    params = get(f"/api/automations/{full.ids['automation_id']}").json["params"]
    hidden = {"url": SEEN, "headers": {"X-Plain": "***"}, "body": {"text": "***"}, "method": "POST"}
    assert params == hidden
    params = get(f"/api/automations/{full.job}").json["params"]
    assert params["script"] == "pg_dump 'postgres://***@db.test/main?***'"
    assert params["env"] == dict.fromkeys(ENV, "***")
    rule = get("/api/healing/rules/call").json
    assert [rule["action"]["params"]["url"], rule["escalation_chain"][0]["params"]["body"]] == [SEEN, {"text": "***"}]
    [entry] = get("/api/healing/ledger").json
    assert json.loads(entry["action_params"]) == {"url": SEEN, "body": {"text": "***"}, "method": "POST"}
    plans = {each["kind"]: each["plan"] for each in get("/api/approvals").json}
    assert (plans["run"]["params"], plans["heal"]["params"]["url"]) == (hidden, SEEN)


def test_an_operator_sees_what_it_may_edit(full):
    assert full.otto.get(f"/api/monitoring/endpoints/{full.ids['monitor_id']}").json["url"] == URL
    assert full.otto.get(f"/api/automations/{full.ids['automation_id']}").json["params"] == HOOK["params"]
    assert full.otto.get("/api/healing/rules/call").json["action"]["params"] == ACTION["params"]
    assert json.loads(full.otto.get("/api/healing/ledger").json[0]["action_params"]) == ACTION["params"]


def test_a_search_does_not_find_what_it_may_not_show(full):
    """Else whoever asks often enough knows it, letter by letter."""
    assert full.vera.get("/api/monitoring/endpoints?q=" + SECRET).json == []
    assert len(full.vera.get("/api/monitoring/endpoints?q=example.test:8443/path").json) == 1


def test_exports_and_the_audit_hold_none_of_it_for_anybody(full):
    for thing, path in (("automation_id", "/api/automations/{}"), ("monitor_id", "/api/monitoring/endpoints/{}")):
        full.ada.put_json(path.format(full.ids[thing]), {"enabled": False})
    full.ada.put_json("/api/healing/rules/call", {"enabled": False})
    full.ada.put_json(f"/api/automations/{full.job}", {"params": JOB["params"] | {"env": ENV | {"MORE": SECRET}}})
    full.ada.delete(f"/api/automations/{full.job}")
    full.job = full.ada.post_json("/api/automations", JOB, status=201).json["id"]
    for path in ("/api/export", "/api/automations/export"):
        text = full.ada.get(path).text
        assert SEEN in text
        assert SECRET not in text
    full.ada.delete("/api/healing/rules/call")
    full.ada.delete(f"/api/automations/{full.ids['automation_id']}")
    full.ada.delete(f"/api/monitoring/endpoints/{full.ids['monitor_id']}")
    entries = full.ada.get("/api/audit?limit=1000")
    assert SEEN in entries.text
    assert SECRET not in entries.text


def test_what_was_shown_and_comes_back_keeps_what_is_stored(full):
    whole = full.ada.get("/api/export").json
    assert full.ada.post_json("/api/apply", {"document": whole}).json["changes"] == []
    job = next(made for made in whole["automations"] if made["name"] == "job")
    assert job["params"]["env"] == dict.fromkeys(ENV, "***")
    elsewhere = {"automations": [job | {"name": "another job", "params": job["params"] | {"script": "true"}}]}
    refusal = full.ada.post_json("/api/apply", {"document": elsewhere, "dry_run": True}, status=422).json
    assert "params.env.DSN" in str(refusal["fields"])
    for thing, path in (("monitor_id", "/api/monitoring/endpoints/{}"), ("automation_id", "/api/automations/{}"),
                        ("rule_id", "/api/healing/rules/{}")):  # fmt: skip
        path = path.format(full.ids[thing])
        before = full.ada.get(path).json
        full.ada.put_json(path, full.vera.get(path).json | {"enabled": False})
        after = full.ada.get(path).json
        for name in ("url", "headers", "params", "action", "escalation_chain"):
            assert after.get(name) == before.get(name)
        assert after["enabled"] is False


def test_a_hidden_part_goes_nowhere_else(full):
    """Credentials are not sent to another host by whoever could not read them."""
    path = f"/api/automations/{full.ids['automation_id']}"
    moved = HOOK["params"] | {"url": SEEN.replace("example", "elsewhere")}
    assert list(full.otto.put_json(path, {"params": moved}, status=422).json["fields"]) == ["params.url"]


def test_an_import_takes_an_export_without_what_it_does_not_show(full):
    exported = full.otto.get("/api/automations/export").json
    ids = full.otto.post_json("/api/automations/import", exported).json["ids"]
    params = [full.otto.get(f"/api/automations/{each}").json["params"] for each in ids]
    hook = next(each for each in params if "url" in each)
    assert (hook["url"], hook["headers"], hook["body"]) == ("https://example.test:8443/path", {}, {})


def test_the_stream_tells_a_viewer_none_of_it(full):
    environ = full.vera.RequestClass.blank("/api/stream", headers={"Last-Event-ID": "0"}).environ
    environ["HTTP_AUTHORIZATION"] = "Bearer " + full.tokens["vera"]
    answer, text = full.app(environ, lambda *head: None), ""
    try:
        for piece in answer:
            text += piece.decode()
            if "event: heal" in text and text.count("event: approval") >= 2:
                break
    finally:
        answer.close()
    assert SEEN in text
    assert SECRET not in text


def test_a_viewer_sees_the_commands_of_a_host_without_it(full):
    agent_id = full.ada.post_json("/api/agents", {"label": "web-1"}, status=201).json["agent_id"]
    params = {"command": f"curl '{URL}'"}
    full.otto.post_json(f"/api/agents/{agent_id}/commands", {"type": "shell", "params": params}, status="2*")
    [told] = full.vera.get(f"/api/agents/{agent_id}/commands").json
    assert (told["status"], told["requested_by"], told["params"]["command"]) == ("queued", "otto", "***")


def test_the_overview_hides_an_address_in_the_cause_of_an_incident(service):
    lookout = Lookout(service)
    monitor_id = lookout.add(**{**MONITOR, "retries": 0})
    lookout.sees[monitor_id] = Outcome(False, None, f"{URL} does not answer")
    lookout.run(2)
    assert lookout.incidents()
    page = service.vera.get("/").text
    assert "does not answer" in page
    assert SECRET not in page
