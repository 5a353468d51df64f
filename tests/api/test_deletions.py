"""What was deleted can be put back for a minute: every kind that pages delete, by whoever may delete it."""

import re

import pytest

from opsapp.healing.resources.rules import definition_of
from opsapp.runtime import deletions
from opsapp.series import erasure
from opsapp.ui.plan import PAGES
from opsapp.web.openapi import endpoints
from tests.support.app import Service

MONITOR = {"name": "web", "type": "http", "url": "https://web.example.org/"}
WINDOW = {"name": "works", "start": "2058-01-01T10:00", "end": "2058-01-01T11:00", "scope": []}
SCRIPT = {"name": "clean", "type": "script", "params": {"script": "true"}}
RULE = {"id": "mine", "condition": "cpu > 99", "action": {"type": "temp_cleanup"}}
CHANNEL = {"name": "team", "url": "json://127.0.0.1:9/x"}
SCHEDULE = {"name": "turns", "zone": "UTC", "layers": [{"users": ["ada"], "start": "2026-01-05"}]}
PAGE = {"slug": "customers", "name": "Customers"}
NOTICE = {"title": "The phones move", "text": "Sunday", "severity": "warning"}

# What a page ends for good: permissions, holds and commands that are over, and what is made again in a moment.
ENDS_AT_ONCE = {
    "DELETE /api/agents/{id}/commands/{command_id}",
    "DELETE /api/agents/{id}/hands-off",
    "DELETE /api/agents/{id}/key",
    "DELETE /api/healing/here",
    "DELETE /api/healing/maintenance/{id}",
    "DELETE /api/invitations/{id}",
    "DELETE /api/keys/{id}",
    "DELETE /api/me/sessions/{id}",
    "DELETE /api/me/totp",
    "DELETE /api/oncall/schedules/{id}/calendar",
    "DELETE /api/oncall/schedules/{schedule_id}/overrides/{id}",
    "DELETE /api/scim-tokens/{id}",
    "DELETE /api/secrets/{id}",
    "DELETE /api/teams/{id}",
    "DELETE /api/secrets/{id}/allow",
    "DELETE /api/status/logo",
    "DELETE /api/status/subscriptions/{id}",
    "DELETE /api/users/{username}",
    "DELETE /api/users/{username}/totp",
}


def made(service, path, body, field="id"):
    return f"{path}/{service.ada.post_json(path, body).json[field]}"


KINDS = {
    "monitor": lambda service: made(service, "/api/monitoring/endpoints", MONITOR),
    "host": lambda service: made(service, "/api/agents", {"label": "web1", "tags": ["shop"]}, "agent_id"),
    "automation": lambda service: made(service, "/api/automations", SCRIPT),
    "window": lambda service: made(service, "/api/maintenance", WINDOW),
    "channel": lambda service: made(service, "/api/notifications/channels", CHANNEL),
    "rule": lambda service: made(service, "/api/healing/rules", RULE),
    "notice": lambda service: made(service, "/api/monitoring/notices", NOTICE),
    "deployment": lambda service: made(service, "/api/deployments", {"title": "shop 4.2.1"}),
    "inlet": lambda service: made(service, "/api/healing/inlets", {"name": "grafana"}),
    "schedule": lambda service: made(service, "/api/oncall/schedules", SCHEDULE),
    "status page": lambda service: made(service, "/api/status/pages", PAGE, "slug"),
    "policy": lambda service: made(service, "/api/oncall/policies", {"name": "wake", "steps": [{"users": ["ada"]}]}),
}


def delete(service, path, who="ada"):
    """The id by which it can be put back."""
    answer = service.client(who).delete(path)
    assert answer.json == {"status": "deleted"}
    return answer.headers["X-Undo"]


def undo(service, deletion_id, status=200, who="ada"):
    return service.client(who).post(f"/api/deleted/{deletion_id}/undo", status=status).json


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_was_deleted_comes_back_as_it_was(service, kind):
    path = KINDS[kind](service)
    listing = path.rpartition("/")[0]
    before = service.ada.get(listing).json
    deletion_id = delete(service, path)
    if kind != "inlet":
        service.ada.get(path, status=404)
    assert service.ada.get(listing).json != before
    listed = service.ada.get("/api/deleted").json
    assert [(row["id"], row["kind"]) for row in listed] == [(deletion_id, kind)]
    assert undo(service, deletion_id)["status"] == "restored"
    assert service.ada.get(listing).json == before
    assert service.ada.get("/api/deleted").json == []
    undo(service, deletion_id, status=404)  # once
    [entry] = service.ada.get("/api/audit?action=deletion.undo").json
    assert entry["target"] == path.rpartition("/")[2]


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_after_a_minute_it_is_gone_for_good(service, kind):
    deletion_id = delete(service, KINDS[kind](service))
    service.clock.advance(deletions.KEPT_S)
    undo(service, deletion_id, status=404)
    assert service.ada.get("/api/deleted").json == []
    assert deletions.step(service.node) is True
    assert deletions.step(service.node) is False
    assert service.read(lambda root: list(root["api"]["deleted"])) == []


def test_who_may_delete_may_undo(service):
    monitor, window = delete(service, KINDS["monitor"](service)), delete(service, KINDS["window"](service), "otto")
    assert [row["id"] for row in service.otto.get("/api/deleted").json] == [window]
    assert undo(service, monitor, status=403, who="otto")["code"] == "role_too_low"
    service.vera.post(f"/api/deleted/{window}/undo", status=403)
    undo(service, window, who="otto")
    undo(service, monitor)


@pytest.mark.parametrize("kind", ["channel", "rule", "schedule", "policy", "status page"])
def test_a_name_that_was_taken_meanwhile(service, kind):
    deletion_id = delete(service, KINDS[kind](service))
    other = KINDS[kind](service)  # its name is free at once
    refusal = undo(service, deletion_id, status=409)
    assert refusal["code"] in ("name_taken", "id_taken", "page_exists")
    delete(service, other)
    undo(service, deletion_id)


def test_a_host_comes_back_with_its_key(service):
    made_host = service.ada.post_json("/api/agents", {"label": "web1"}).json
    path, key = f"/api/agents/{made_host['agent_id']}", {"X-Agent-Key": made_host["key"]}
    report = {"hostname": "web1", "os": "linux", "cpu_percent": 5, "mem_percent": 5, "disk_percent": 5, "uptime_s": 9}
    service.anonymous.post_json(f"{path}/report", report, headers=key)
    deletion_id = delete(service, path)
    assert service.anonymous.post_json(f"{path}/report", report, headers=key, status="4*").status_int in (401, 404)
    undo(service, deletion_id)
    service.anonymous.post_json(f"{path}/report", report, headers=key)
    assert service.ada.get(path).json["hostname"] == "web1"
    assert service.read(erasure.gone) == frozenset()
    delete(service, path)
    service.clock.advance(deletions.KEPT_S)
    deletions.step(service.node)
    assert service.read(erasure.gone)


def test_a_push_address_and_a_webhook_work_again(service):
    push = {"name": "job", "type": "push"}
    path = made(service, "/api/monitoring/endpoints", push)
    address = service.ada.get(path).json["push_url"]
    deletion_id = delete(service, path)
    service.anonymous.post(address, status=404)
    undo(service, deletion_id)
    service.anonymous.post(address)
    hook = service.ada.post_json("/api/automations", SCRIPT).json
    place = f"/api/automations/webhook/{hook['webhook_token']}"
    deletion_id = delete(service, f"/api/automations/{hook['id']}")
    service.anonymous.post_json(place, {}, status=404)
    undo(service, deletion_id)
    assert service.anonymous.post_json(place, {}).status_int in (200, 201, 202)


def test_a_policy_comes_back_only_after_the_schedules_that_it_calls_by(service):
    schedule = KINDS["schedule"](service)
    steps = [{"schedules": [schedule.rpartition("/")[2]]}]
    policy = made(service, "/api/oncall/policies", {"name": "wake", "steps": steps})
    policy_again, schedule_again = delete(service, policy), delete(service, schedule)
    assert undo(service, policy_again, status=409)["code"] == "cannot_undo"
    undo(service, schedule_again)
    undo(service, policy_again)
    assert service.ada.get(policy).json["steps"][0]["schedules"] == steps[0]["schedules"]


def test_the_calendar_of_a_schedule_is_answered_again(service):
    schedule = KINDS["schedule"](service)
    place = service.ada.post(f"{schedule}/calendar").json["url"]
    deletion_id = delete(service, schedule)
    service.anonymous.get(place, status=404)
    undo(service, deletion_id)
    service.anonymous.get(place)


def test_an_automation_keeps_its_secrets_and_its_runs(service):
    path = KINDS["automation"](service)
    automation_id = path.rpartition("/")[2]
    secret = made(service, "/api/secrets", {"name": "token", "value": "s3cret"})
    other = made(service, "/api/secrets", {"name": "other", "value": "s3cret"})
    for place in (secret, other):
        service.ada.post_json(f"{place}/allow", {"automation_id": automation_id})
    service.ada.post_json(f"{path}/run", {})
    runs = [run["run_id"] for run in service.ada.get(f"{path}/runs").json]
    deletion_id = delete(service, path)
    service.ada.delete(other)
    made(service, "/api/secrets", {"name": "other", "value": "another one"})  # nobody allowed this one
    undo(service, deletion_id)
    allowed = {row["name"]: row["allowed_for"] for row in service.ada.get("/api/secrets").json}
    assert allowed == {"token": [automation_id], "other": []}
    assert [run["run_id"] for run in service.ada.get(f"{path}/runs").json] == runs


def test_what_is_made_of_others_needs_them(service):
    part = KINDS["automation"](service)
    whole = {"name": "both", "type": "composite", "params": {"automations": [part.rpartition("/")[2]]}}
    of_both = delete(service, made(service, "/api/automations", whole))
    of_part = delete(service, part)
    assert undo(service, of_both, status=409)["code"] == "cannot_undo"
    undo(service, of_part)
    undo(service, of_both)


def test_a_rule_comes_back_with_its_trust(service):
    path = KINDS["rule"](service)
    service.ada.post_json("/api/healing/trust/mine/promote", {"level": "approve"})
    before = service.ada.get("/api/healing/trust").json
    deletion_id = delete(service, path)
    undo(service, deletion_id)
    assert service.ada.get("/api/healing/trust").json == before
    edges = service.read(lambda root: definition_of(root, root["api"]["healing"]["rules"]["mine"].record))
    assert edges == service.read(lambda root: root["api"]["healing"]["trust"]["mine"].trust.definition)


def test_a_dependency(service):
    service.ada.put_json("/api/healing/dependencies", {"dependencies": [{"target": "shop"}, {"target": "db"}]})
    edge = {"target": "shop", "depends_on": "db"}
    place = "/api/healing/dependencies/edges"
    service.ada.post_json(place, edge)
    answer = service.ada.delete_json(place, edge)
    assert answer.json == {"status": "updated"}
    undo(service, answer.headers["X-Undo"])
    [node] = [node for node in service.ada.get("/api/healing/dependencies").json["nodes"] if node["target"] == "shop"]
    assert node["depends_on"] == ["db"]


def test_it_is_in_the_store_and_every_node_has_it(tmp_path, monkeypatch):
    """What a node had deleted when it was killed, the next one puts back."""
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    first = Service(tmp_path)
    path = KINDS["monitor"](first)
    deletion_id = delete(first, path)
    first.close()
    second = Service(tmp_path, first.clock)
    undo(second, deletion_id)
    assert second.ada.get(path).json["name"] == "web"
    second.close()


def test_another_master_key_ends_it(service):
    """Nothing that is sealed with the old one stays."""
    deletion_id = delete(service, KINDS["channel"](service))
    for reseal in service.app.registry.opsapp_sealed:
        service.transact(reseal, lambda sealed, purpose: sealed)
    undo(service, deletion_id, status=404)


def the_form(page, act):
    """The form of the page that has this act."""
    return next(form for form in page.forms.values() if "act" in form.fields and form["act"].value == act)


def test_a_page_says_what_was_deleted_and_undoes_it(service):
    path = KINDS["monitor"](service)
    browser = service.browser("ada")
    listed = the_form(browser.get(f"/monitors/{path.rpartition('/')[2]}"), "monitor.delete").submit().follow()
    assert listed.request.path == "/monitors"
    told = listed.html.select_one(".deleted")
    assert "Monitor web deleted." in told.get_text(" ", strip=True)
    back = the_form(listed, "deleted.undo").submit().follow()
    assert back.request.path == f"/monitors/{path.rpartition('/')[2]}"
    assert service.ada.get(path).json["name"] == "web"
    assert back.html.select_one(".deleted") is None
    assert "restored" in browser.get("/audit").html.select_one("main").get_text(" ", strip=True)


def test_many_are_undone_one_by_one(service):
    paths = [made(service, "/api/monitoring/endpoints", MONITOR | {"name": name}) for name in ("a", "b")]
    form = {"act": "many", "do": "monitors.delete", "sure": "1"}
    browser = service.browser("ada")
    page = browser.get("/monitors")
    form["csrf_token"] = page.html.select_one("meta[name=csrf-token]")["content"]
    form |= {f"pick:{path.rpartition('/')[2]}": name for path, name in zip(paths, "ab", strict=True)}
    done = browser.post("/monitors", form)
    assert len(done.html.select("#outcomes form")) == 2
    the_form(done, "deleted.undo").submit()
    assert [row["name"] for row in service.ada.get("/api/monitoring/endpoints").json] in (["a"], ["b"])
    late = browser.get("/deleted")
    service.clock.advance(deletions.KEPT_S)
    answer = the_form(late, "deleted.undo").submit(expect_errors=True)
    assert answer.status_int == 404


def test_whatever_a_page_deletes_can_be_put_back_or_is_known_to_end_at_once(service):
    """A new DELETE of a page is undoable, or somebody has thought about why it is not."""
    undoable = {f"{view.method} {view.path}" for view in endpoints(service.app.registry) if view.options.get("undoes")}
    acts = [act for page in PAGES for act in (*page.forms, *(each for part in page.parts for each in part.acts))]
    shape = {re.sub(r"\{[^}]*\}", "{}", path) for path in undoable}
    final = {act.api for act in acts if act.method == "DELETE" and re.sub(r"\{[^}]*\}", "{}", act.api) not in shape}
    assert final == ENDS_AT_ONCE
