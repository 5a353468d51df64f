"""/api/automations over the real application: what is taken, what is refused, who sees what. No engine runs here."""

import os

import pytest

from opsapp.agents.engine import executor
from opsapp.automations.engine import carrier
from opsapp.automations.engine.carrier import take_up
from opsapp.automations.engine.programs import AttemptEnd

SCRIPT = {"name": "One", "type": "script", "params": {"script": "true"}}
OWNER = "box:test"


def create(client, **changes):
    return client.post_json("/api/automations", {**SCRIPT, **changes}).json["id"]


HARMLESS = {"script": {"script": "true"}, "webhook": {"url": "http://127.0.0.1/"},
            "notification": {"title": "so", "message": "so"}}  # fmt: skip


def with_secrets(service, params, **changes):
    """An automation that uses secrets, each of which an admin has allowed it."""
    made = create(service.ada, **{**changes, "params": HARMLESS[changes.get("type", "script")]})
    for secret in service.ada.get("/api/secrets").json:
        service.ada.post_json(f"/api/secrets/{secret['name']}/allow", {"automation_id": made})
    service.ada.put_json(f"/api/automations/{made}", {"params": params})
    return made


def later(service, *values, **changes):
    service.clock.advance(1)
    return create(service.otto, *values, **changes)


def refused(client, method, path, body, status=422):
    answer = getattr(client, method)(path, body, status=status)
    return answer.json.get("fields", answer.json["code"])


def take(service):
    """What an engine would begin now."""
    return service.transact(take_up, OWNER, frozenset(), 100)[0]


def finish(service, job, status="done", text=""):
    service.transact(carrier.finish, job.run_id, OWNER, job.attempt, text, AttemptEnd(status, 0, None))


def run_of(client, run_id):
    return client.get(f"/api/automations/runs/{run_id}").json


def test_the_life_of_an_automation(service):
    made = service.otto.post_json("/api/automations", {**SCRIPT, "schedule": "@daily"}, status=201).json
    assert made["status"] == "created"
    row = service.vera.get("/api/automations").json[0]
    assert (row["id"], row["name"], row["type"], row["icon"], row["schedule"], row["last_run"], row["last_status"]) == (
        made["id"], "One", "script", "terminal", "@daily", None, None,
    )  # fmt: skip
    path = f"/api/automations/{made['id']}"
    whole = service.otto.get(path).json
    assert service.otto.put_json(path, {**whole, "name": "Two"}).json == {"status": "updated"}
    assert service.otto.get(path).json == {**whole, "name": "Two", "updated_at": whole["updated_at"]}
    assert service.otto.put_json(path, {"enabled": False}).json == {"status": "updated"}
    assert service.vera.get("/api/automations").json[0]["next_run"] is None
    assert service.otto.delete(path).json == {"status": "deleted"}
    service.otto.get(path, status=404)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"type": "magic"}, "type"),
        ({"name": ""}, "name"),
        ({"name": "   "}, "name"),
        ({"schedule": "61 * * * *"}, "schedule"),
        ({"schedule": "* * * * * *"}, "schedule"),
        ({"timezone": "Mars/Base"}, "timezone"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": 86_401}, "timeout"),
        ({"timeout": "7"}, "timeout"),
        ({"concurrency": "all"}, "concurrency"),
        ({"enabled": "yes"}, "enabled"),
        ({"quorum": 0}, "quorum"),
        ({"requires_approval": True, "approvers": ["otto"], "quorum": 2}, "quorum"),
        ({"unknown": 1}, "unknown"),
        ({"params": {}}, "params.script"),
        ({"params": {"script": "x", "shell": 1}}, "params.shell"),
        ({"params": {"script": "x", "agent_id": "a", "tag": "b"}}, "params.tag"),
        ({"params": {"script": "x", "interpreter": "/bin/sh -x"}}, "params.interpreter"),
        ({"params": {"script": "{{input:nope}}"}}, "inputs"),
        ({"params": {"script": "echo '{{secret:x}}'"}}, "params.script"),
        ({"params": {"script": "# {{secret:x}}"}}, "params.script"),
        ({"params": {"script": "cat <<E\n{{secret:x}}\nE"}}, "params.script"),
        ({"params": {"script": "print('{{secret:x}}')", "interpreter": "python3"}}, "params.script"),
        ({"params": {"script": "#!/usr/bin/perl\nprint '{{secret:x}}';"}}, "params.script"),
        ({"params": {"script": "echo {{event:x}}"}}, "params"),
        ({"type": "agent_command", "params": {"command": "echo '{{secret:x}}'", "hostname": "box"}}, "params.command"),
        ({"type": "service_control", "params": {"service": "-x", "action": "start"}}, "params.service"),
        ({"type": "service_control", "params": {"service": "x", "action": "kill"}}, "params.action"),
        ({"type": "agent_command", "params": {"command": "x"}}, "params.agent_id"),
        ({"type": "webhook", "params": {"url": "ftp://x"}}, "params.url"),
        ({"type": "webhook", "params": {"url": "http://[::1"}}, "params.url"),
        ({"type": "webhook", "params": {"url": "http://x:70000/"}}, "params.url"),
        ({"type": "webhook", "params": {"url": "http:///x"}}, "params.url"),
        ({"type": "webhook", "params": {"url": "http://x/a\u2028b"}}, "params.url"),
        ({"type": "webhook", "params": {"url": "{{secret:hook}} x"}}, "params.url"),
        ({"type": "webhook", "params": {"url": "{{input:hook}}"}}, "params.url"),
        ({"type": "webhook", "params": {"url": "http://x", "method": "BREW"}}, "params.method"),
        ({"type": "notification", "params": {"title": "x", "severity": "meh"}}, "params.severity"),
        ({"type": "composite", "params": {"automations": []}}, "params.automations"),
        ({"type": "composite", "params": {"automations": ["gone"]}}, "params.automations"),
        ({"type": "workflow", "params": {"steps": [{"id": "a", "automation_id": "gone"}]}}, "params.steps"),
        ({"inputs": [{"name": "a b"}]}, "inputs.0.name"),
        ({"inputs": [{"name": "a", "type": "choice"}]}, "inputs"),
        ({"inputs": [{"name": "a", "type": "integer", "default": "7"}]}, "inputs"),
        ({"inputs": [{"name": "a"}, {"name": "a"}]}, "inputs"),
        ({"schedule": "@daily", "inputs": [{"name": "a", "required": True}]}, "schedule"),
    ],
)
@pytest.mark.shared
def test_what_is_wrong_is_named(service, changes, field):
    before = service.vera.get("/api/automations").json
    assert field in refused(service.otto, "post_json", "/api/automations", {**SCRIPT, **changes})
    assert service.vera.get("/api/automations").json == before


@pytest.mark.parametrize(
    "url",
    [
        "{{secret:hook}}",
        "{{ secret:base }}/a?b=c",
        "https://münchen.example/ä",
        "https://{{input:a}}:{{input:a}}/{{input:a}}",
    ],
)
def test_an_address_with_places_is_judged_as_it_will_be(service, url):
    for name in ("hook", "base"):
        service.ada.post_json("/api/secrets", {"name": name, "value": "https://hook.example/"})
    with_secrets(service, {"url": url}, type="webhook", inputs=[{"name": "a"}] if "input:" in url else [])


@pytest.mark.shared
def test_null_in_a_put_keeps_what_it_cannot_mean(service):
    given = {"timeout": 7, "retries": 3, "description": "why", "enabled": False, "approvers": ["otto"]}
    made = create(service.otto, **given)
    path = f"/api/automations/{made}"
    service.otto.put_json(path, dict.fromkeys([*given, "name", "type", "params", "concurrency", "inputs"]))
    found = service.otto.get(path).json
    assert {name: found[name] for name in given} == given
    assert (found["name"], found["params"]) == (SCRIPT["name"], SCRIPT["params"])


@pytest.mark.shared
def test_a_change_leaves_no_fewer_approvers_than_have_to_agree(service):
    made = create(service.otto, approvers=["otto", "olga"], quorum=2)
    path = f"/api/automations/{made}"
    assert refused(service.otto, "put_json", path, {"approvers": ["otto"]}) == {"quorum": "is more than the approvers"}
    assert refused(service.otto, "put_json", path, {"quorum": 3}).keys() == {"quorum"}
    service.otto.put_json(path, {"approvers": [], "quorum": 3})  # any operator


@pytest.mark.shared
def test_everything_wrong_is_named_at_once(service):
    wrong = {**SCRIPT, "name": "", "params": {"shell": 1}, "timeout": 0}
    fields = refused(service.otto, "post_json", "/api/automations", wrong)
    assert fields.keys() == {"name", "params.script", "params.shell", "timeout"}
    listed = refused(service.otto, "post_json", "/api/automations/import", [SCRIPT, wrong])
    assert listed == {f"1.{name}": said for name, said in fields.items()}


def test_a_run_by_hand_is_claimed_once_and_ends(service):
    automation = create(service.otto)
    started = service.otto.post_json(f"/api/automations/{automation}/run", {}).json
    assert started["status"] == "running"
    assert [job.run_id for job in take(service)] == [started["run_id"]]
    assert [job.run_id for job in take(service)] == [started["run_id"]]  # unknown to its owner: it never began
    assert service.transact(take_up, "other:boot", frozenset(), 100)[0] == []
    job = take(service)[0]
    finish(service, job, text="hello\n")
    finish(service, job, "failed")
    record = run_of(service.vera, started["run_id"])
    assert (record["status"], record["output"]) == ("done", "hello\n")
    assert service.vera.get(f"/api/automations/{automation}").json["last_status"] == "done"


def test_one_at_a_time_and_in_order(service):
    automation = create(service.otto)
    runs = [service.otto.post_json(f"/api/automations/{automation}/run", {}).json for _ in range(4)]
    assert [run["status"] for run in runs] == ["running", "queued", "queued", "queued"]
    order = []
    for _ in range(4):
        (job,) = take(service)
        order.append(job.run_id)
        finish(service, job)
    assert order == [run["run_id"] for run in runs]
    assert take(service) == []


@pytest.mark.shared
def test_skip_refuses_and_replace_takes_the_place(service):
    skip = create(service.otto, concurrency="skip")
    service.otto.post_json(f"/api/automations/{skip}/run", {})
    assert refused(service.otto, "post_json", f"/api/automations/{skip}/run", {}, 409) == "already_running"
    replace = create(service.otto, concurrency="replace")
    first = service.otto.post_json(f"/api/automations/{replace}/run", {}).json
    second = service.otto.post_json(f"/api/automations/{replace}/run", {}).json
    assert (second["status"], run_of(service.vera, first["run_id"])["status"]) == ("running", "cancelled")


@pytest.mark.shared
def test_inputs(service):
    inputs = [
        {"name": "s", "required": True},
        {"name": "n", "type": "integer", "default": 3},
        {"name": "c", "type": "choice", "choices": ["a", "b"], "default": "a"},
        {"name": "f", "type": "boolean"},
    ]
    automation = create(service.otto, inputs=inputs)
    path = f"/api/automations/{automation}/run"
    assert refused(service.otto, "post_json", path, {}) == {"s": "is required"}
    wrong = refused(service.otto, "post_json", path, {"inputs": {"s": 1, "n": 1.5, "c": "z", "f": "yes", "x": 1}})
    assert set(wrong) == {"s", "n", "c", "f", "x"}
    run = service.otto.post_json(path, {"s": "x", "c": "b"}).json
    assert run_of(service.vera, run["run_id"])["inputs"] == {"s": "x", "n": 3, "c": "b", "f": ""}
    assert service.otto.post(path, b"[1]", content_type="application/json", status=400)


def test_the_webhook(service):
    made = service.otto.post_json("/api/automations", {**SCRIPT, "inputs": [{"name": "ref", "default": "main"}]}).json
    automation, token = made["id"], made["webhook_token"]
    assert made["webhook_url"] == f"/api/automations/webhook/{token}"
    for who in (service.vera, service.otto, service.ada):
        assert token not in who.get(f"/api/automations/{automation}").text
    path = f"/api/automations/webhook/{token}"
    run = service.anonymous.post_json(path, {"ref": "dev"}).json
    record = run_of(service.vera, run["run_id"])
    assert (record["inputs"], record["origin"], run["status"]) == ({"ref": "dev"}, "webhook", "running")
    assert refused(service.anonymous, "post_json", path, {"ref": 1}) == {"ref": "must be a string"}
    service.anonymous.post("/api/automations/webhook/" + "0" * 64, status=404)
    service.anonymous.get(path, status=405)
    for _ in range(59):
        service.anonymous.post(path)
    limited = service.anonymous.post(path, status=429)
    assert 1 <= int(limited.headers["Retry-After"]) <= 61
    fresh = service.otto.post(f"/api/automations/{automation}/webhook-token").json["webhook_token"]
    service.anonymous.post(path, status=404)
    service.anonymous.post(f"/api/automations/webhook/{fresh}")  # the calls of the old token do not count for it
    for _ in range(59):
        service.anonymous.post(f"/api/automations/webhook/{fresh}")
    service.anonymous.post(f"/api/automations/webhook/{fresh}", status=429)
    service.clock.advance(61)
    service.otto.put_json(f"/api/automations/{automation}", {"enabled": False})
    service.anonymous.post(f"/api/automations/webhook/{fresh}", status=409)


@pytest.mark.shared
def test_the_same_key_runs_once(service):
    automation = create(service.otto, inputs=[{"name": "a"}])
    path, headers = f"/api/automations/{automation}/run", {"Idempotency-Key": "k1"}
    first = service.otto.post_json(path, {"a": "1"}, headers=headers).json
    assert service.otto.post_json(path, {"a": "1"}, headers=headers).json == first
    service.otto.post_json(path, {"a": "2"}, headers=headers, status=409)
    assert len(service.vera.get(f"/api/automations/{automation}/runs").json) == 1


def test_a_variable_is_a_value_or_the_number_of_a_descriptor(service):
    service.ada.post_json("/api/secrets", {"name": "deploy", "value": "open barley"}, status=201)
    params = {"script": "cat /dev/fd/$KEY_FD", "descriptors": {"KEY_FD": "key {{secret:deploy}} of {{input:who}}"}}
    made = with_secrets(service, params, inputs=[{"name": "who", "default": "otto"}])
    service.otto.post(f"/api/automations/{made}/run")
    (job,) = take(service)
    assert job.work.descriptors == {"KEY_FD": "key open barley of otto"}
    assert job.work.env == {"OPSAPP_INPUT_WHO": "otto"}
    assert "barley" not in service.vera.get(f"/api/automations/{made}").text
    both = {"script": "true", "env": {"A": "1", "B": "2"}, "descriptors": {"B": "3"}}
    body = {"name": "both", "type": "script", "params": both}
    assert refused(service.otto, "post_json", "/api/automations", body)["params.descriptors"] == "already in env: B"
    unspeakable = {"script": "true", "descriptors": {"not a name": "x"}}
    assert refused(service.otto, "post_json", "/api/automations", body | {"params": unspeakable})


@pytest.mark.shared
def test_no_value_of_an_environment_is_in_the_audit_record(service):
    params = {"script": "true", "env": {"API_TOKEN": "open barley"}}
    made = create(service.otto, name="part", params=params)
    changed = {**params, "env": {"API_TOKEN": "closed oats"}}
    service.otto.put_json(f"/api/automations/{made}", {"params": changed})
    service.otto.delete(f"/api/automations/{made}")
    told = service.ada.get("/api/audit?limit=100").text
    assert told.count('"automation.') >= 3
    assert "barley" not in told
    assert "oats" not in told


def test_an_export_comes_in_again(service):
    one = create(
        service.otto,
        name="part",
        params={"script": "true", "env": {"API_TOKEN": "clear"}, "descriptors": {"X": "clear"}},
    )
    whole = later(service, name="whole", type="composite", params={"automations": [one, one]})
    steps = [{"id": "a", "automation_id": whole, "on_success": "b"}, {"id": "b", "automation_id": one}]
    later(service, name="flow", type="workflow", params={"steps": steps})
    exported = service.vera.get("/api/automations/export")
    assert not {one, whole} & set(exported.text.split('"'))
    assert "clear" not in exported.text
    assert "webhook_token" not in exported.text
    answer = service.otto.post_json("/api/automations/import", exported.json).json
    assert answer["imported"] == 3
    assert not {one, whole} & set(answer["ids"])
    flow = service.otto.get(f"/api/automations/{answer['ids'][2]}").json
    assert [step["automation_id"] for step in flow["params"]["steps"]] == [answer["ids"][1], answer["ids"][0]]
    bad = [exported.json[0], {**exported.json[0], "type": "magic"}, {**exported.json[0], "params": {"script": 1}}]
    assert "1.type" in refused(service.otto, "post_json", "/api/automations/import", bad)
    circle = [{**exported.json[1], "params": {"automations": ["#0"]}}]
    assert "0.params" in refused(service.otto, "post_json", "/api/automations/import", circle)
    service.otto.post_json("/api/automations/import", {"not": "a list"}, status=400)
    assert len(service.vera.get("/api/automations").json) == 6


@pytest.mark.shared
def test_nothing_contains_itself(service):
    one = create(service.otto)
    two = create(service.otto, type="composite", params={"automations": [one]})
    path = f"/api/automations/{one}"
    wrong = refused(service.otto, "put_json", path, {"type": "composite", "params": {"automations": [two]}})
    assert wrong == {"params.automations": "an automation cannot contain itself"}
    assert service.otto.delete(path, status=409).json["code"] == "in_use"


@pytest.mark.shared
def test_templates(service):
    listed = service.vera.get("/api/automations/templates").json
    assert len(listed) >= 8
    assert all(set(each) >= {"id", "name", "description", "type", "icon", "schedule", "params"} for each in listed)
    made = service.otto.post_json(
        "/api/automations/templates/memory/apply", {"name": "Mine", "timeout": 9}, status=201
    ).json
    record = service.otto.get(f"/api/automations/{made['id']}").json
    assert (record["name"], record["timeout"], record["type"]) == ("Mine", 9, "script")
    assert "name" in refused(service.otto, "post_json", "/api/automations/templates/memory/apply", {"name": 7})
    service.otto.post_json("/api/automations/templates/nothing/apply", {}, status=404)
    service.vera.post_json("/api/automations/templates/memory/apply", {}, status=403)


def test_secrets_are_written_and_never_read(service):
    made = service.ada.post_json("/api/secrets", {"name": "deploy", "value": "open sesame"}, status=201).json
    service.ada.post_json("/api/secrets", {"name": "deploy", "value": "again"}, status=409)
    service.ada.put_json("/api/secrets/deploy", {"value": "open barley"})
    assert [each["name"] for each in service.ada.get("/api/secrets").json] == ["deploy"]
    service.otto.get("/api/secrets", status=403)
    automation = with_secrets(service, {"script": "echo {{secret:deploy}}"})
    run_id = service.otto.post(f"/api/automations/{automation}/run").json["run_id"]
    (job,) = take(service)
    assert job.work.script == 'echo "${OPSAPP_SECRET_deploy}"'
    assert job.work.env == {"OPSAPP_SECRET_deploy": "open barley"}
    everything = "".join(
        client.get(path).text
        for client, path in [(service.ada, "/api/secrets"), (service.ada, f"/api/secrets/{made['id']}"),
                             (service.ada, "/api/audit"), (service.otto, "/api/automations/export"),
                             (service.ada, f"/api/automations/runs/{run_id}")]
    )  # fmt: skip
    assert "open" not in everything
    service.ada.delete(f"/api/secrets/{made['id']}")
    service.ada.get("/api/secrets/deploy", status=404)


def test_lists_have_pages(service):
    automation = create(service.otto)
    runs = [service.otto.post(f"/api/automations/{automation}/run").json["run_id"] for _ in range(5)]
    page = service.vera.get(f"/api/automations/{automation}/runs?limit=2&offset=1")
    assert page.headers["X-Total-Count"] == "5"
    assert len(page.json) == 2
    assert {each["run_id"] for each in service.vera.get("/api/automations/runs?status=queued").json} == set(runs[1:])
    service.vera.get("/api/automations?limit=0", status=422)
    service.vera.get("/api/automations/runs/nothing", status=404)


def test_cancel_and_delete(service):
    automation = create(service.otto)
    runs = [service.otto.post(f"/api/automations/{automation}/run").json["run_id"] for _ in range(3)]
    assert service.otto.post(f"/api/automations/runs/{runs[1]}/cancel").json["status"] == "cancelled"
    service.otto.post(f"/api/automations/runs/{runs[1]}/cancel", status=409)
    service.otto.delete(f"/api/automations/{automation}")
    assert take(service) == []
    assert [run_of(service.vera, each)["status"] for each in runs] == ["cancelled"] * 3


@pytest.mark.shared
def test_what_happens_is_audited(service):
    automation = create(service.otto)
    service.otto.post(f"/api/automations/{automation}/run")
    service.vera.post(f"/api/automations/{automation}/run", status=403)
    entries = service.ada.get("/api/audit").json
    assert {("automation.create", "ok"), ("automation.run", "ok")} <= {(e["action"], e["result"]) for e in entries}
    assert any(e["action"] == "automation.run" and e["username"] == "vera" and e["result"] != "ok" for e in entries)


@pytest.mark.shared
def test_everything_that_is_wrong_is_named_at_once(service):
    body = {"name": "", "type": "webhook", "params": {"url": "ftp://x", "method": "FOO"}, "timeout": 0}
    answer = service.otto.post_json("/api/automations", body, status=422)
    assert set(answer.json["fields"]) == {"name", "timeout", "params.url", "params.method"}
    answer = service.otto.post_json("/api/automations/import", [body], status=422)
    assert set(answer.json["fields"]) == {"0.name", "0.timeout", "0.params.url", "0.params.method"}
    made = create(service.otto)
    answer = service.otto.put_json(f"/api/automations/{made}", {"timeout": 0, "params": {"script": 5}}, status=422)
    assert set(answer.json["fields"]) == {"timeout", "params.script"}


@pytest.mark.parametrize(("kind", "params"), [("script", {"script": "true"}), ("agent_command", {"command": "id"})])
@pytest.mark.shared
def test_an_agent_that_there_is_not_is_refused(service, kind, params):
    body = {"name": "x", "type": kind, "params": {**params, "agent_id": "nobody"}}
    wrong = {"params.agent_id": "there is no such agent"}
    assert service.otto.post_json("/api/automations", body, status=422).json["fields"] == wrong
    service.otto.post_json("/api/automations/import", [body], status=422)
    made = create(service.otto, type=kind, params={**params, "hostname": "later"})
    answer = service.otto.put_json(f"/api/automations/{made}", {"params": body["params"]}, status=422)
    assert answer.json["fields"] == wrong


@pytest.mark.shared
def test_an_automation_of_an_agent_that_is_gone_can_still_be_changed(service):
    agent = service.ada.post_json("/api/agents", {"label": "web-1"}).json["agent_id"]
    body = {"name": "x", "type": "agent_command", "params": {"command": "id", "agent_id": agent}}
    made = service.otto.post_json("/api/automations", body).json["id"]
    service.ada.delete(f"/api/agents/{agent}")
    service.otto.put_json(f"/api/automations/{made}", {"name": "y"})


@pytest.mark.parametrize(
    ("kind", "params", "ends"),
    [("notification", {"title": "t"}, "done"), ("agent_command", {"command": "id", "tag": "nobody"}, "failed")],
)
def test_a_run_that_is_over_at_once_was_running_when_it_was_asked_for(service, kind, params, ends):
    made = service.otto.post_json("/api/automations", {"name": "x", "type": kind, "params": params}).json["id"]
    asked = service.otto.post_json(f"/api/automations/{made}/run").json
    assert asked["status"] == "running"
    take(service)
    assert run_of(service.otto, asked["run_id"])["status"] == ends


def test_a_secret_in_a_message_is_not_in_the_runs_output(service):
    service.ada.post_json("/api/secrets", {"name": "deploy", "value": "open sesame"})
    made = with_secrets(service, {"title": "it is {{secret:deploy}}", "message": "so"}, type="notification")
    run_id = service.otto.post_json(f"/api/automations/{made}/run").json["run_id"]
    take(service)
    assert run_of(service.otto, run_id)["output"] == "it is [secret]\nso\n"


def test_a_part_that_ends_after_its_parent_is_not_shown_as_running(service):
    part = create(service.otto)
    whole = create(service.otto, type="composite", params={"automations": [part]}, timeout=1)
    run_id = service.otto.post_json(f"/api/automations/{whole}/run").json["run_id"]
    (job,) = take(service)
    service.clock.advance(2)
    take(service)
    found = run_of(service.otto, run_id)
    assert (found["status"], found["parts"][0]["status"]) == ("timeout", "running")
    finish(service, job, "cancelled")
    assert run_of(service.otto, run_id)["parts"][0]["status"] == "cancelled"


def test_all_that_is_wrong_with_an_automation_is_told_at_once(service):
    """What single fields show, what they show together, and what only the store knows."""
    body = {
        "name": "",
        "type": "agent_command",
        "params": {"command": "echo {{input:word}}", "agent_id": "nobody", "tag": "x", "timeout": 0},
        "schedule": "@daily",
        "inputs": [{"name": "other", "required": True}],
    }
    expected = {"name", "params.agent_id", "params.tag", "params.timeout", "inputs", "schedule"}
    assert set(service.otto.post_json("/api/automations", body, status=422).json["fields"]) == expected
    made = create(service.otto)
    assert set(service.otto.put_json(f"/api/automations/{made}", body, status=422).json["fields"]) == expected
    template = "/api/automations/templates/call-address/apply"
    assert set(service.otto.post_json(template, body, status=422).json["fields"]) == expected
    fine = body | {"name": "x", "type": "script", "params": {"script": "true"}, "inputs": []}
    answer = service.otto.post_json(
        "/api/automations/import", [body, fine, body | {"name": "y", "params": {"tag": "x"}}], status=422
    )
    assert set(answer.json["fields"]) >= {"0.name", "2.params.command"}
    parts = {"type": "composite", "params": {"automations": ["#0", "nobody"]}, "schedule": None, "inputs": []}
    answer = service.otto.post_json("/api/automations/import", [fine | {"name": ""}, fine | parts], status=422)
    assert set(answer.json["fields"]) == {"0.name", "1.params.automations"}
    assert len(service.vera.get("/api/automations").json) == 1


@pytest.mark.shared
def test_inputs_that_are_wrong_themselves_are_not_called_undeclared(service):
    body = {"name": "x", "type": "script", "params": {"script": "echo {{input:word}}"}, "inputs": [{"name": "a b"}]}
    assert set(service.otto.post_json("/api/automations", body, status=422).json["fields"]) == {"inputs.0.name"}


@pytest.fixture
def shared(service):
    """The executor runs as the service's own user."""
    service.app.registry[executor.WHOSE] = executor.ExecutorUser("opsapp", os.geteuid(), True)
    return service


def shares_user(answer):
    assert answer.json["code"] == "executor_shares_user"
    assert "executor.user" in answer.json["error"]


def test_who_reads_an_automation_learns_whether_it_takes_an_admin(shared):
    there = {"type": "script", "params": {"script": "true", "tag": "web"}}
    here, elsewhere = create(shared.ada), create(shared.ada, **there)

    def needs_admin(automation_id):
        return shared.vera.get(f"/api/automations/{automation_id}").json["needs_admin"]

    assert (needs_admin(here), needs_admin(elsewhere)) == (True, False)
    told = {row["id"]: row["needs_admin"] for row in shared.vera.get("/api/automations/templates").json}
    assert (told["memory"], told["call-address"]) == (True, False)
    shared.app.registry[executor.WHOSE] = executor.ExecutorUser("runner", 12345, False)
    assert not needs_admin(here)


def test_only_admins_write_what_runs_as_the_services_own_user(shared):
    """It could read the master key. What an admin wrote, operators may run and delete."""
    otto, own = shared.otto, create(shared.ada)
    there = {"type": "script", "params": {"script": "true", "tag": "web"}}
    elsewhere = create(otto, **there)
    shares_user(otto.post_json("/api/automations", SCRIPT, status=403))
    service = {"name": "x", "type": "service_control", "params": {"service": "cron", "action": "restart"}}
    shares_user(otto.post_json("/api/automations", service, status=403))
    shares_user(otto.put_json(f"/api/automations/{own}", {"schedule": "@daily"}, status=403))
    shares_user(otto.put_json(f"/api/automations/{elsewhere}", {"params": {"script": "id"}}, status=403))
    taken = {"type": "notification", "params": {"title": "x"}}
    shares_user(otto.put_json(f"/api/automations/{own}", taken, status=403))
    shares_user(otto.post_json("/api/automations/templates/memory/apply", {}, status=403))
    shares_user(otto.post_json("/api/automations/import", otto.get("/api/automations/export").json, status=403))
    assert len(otto.get("/api/automations").json) == 2
    shared.ada.put_json(f"/api/automations/{own}", {"schedule": "@daily"})
    assert otto.post(f"/api/automations/{own}/run").json["status"] == "running"
    otto.delete(f"/api/automations/{own}")


@pytest.mark.shared
def test_with_a_user_of_its_own_operators_write_them_too(service):
    create(service.otto)


@pytest.mark.shared
def test_a_notification_to_an_unknown_channel_is_refused(service):
    body = {"name": "x", "type": "notification", "params": {"title": "t", "channels": ["ops", "nobody"]}}
    refused = service.otto.post_json("/api/automations", body, status=422).json
    assert refused["fields"] == {"params.channels": "there is no channel nobody, ops"}
    channel = service.ada.post_json("/api/notifications/channels", {"name": "ops", "url": "json://127.0.0.1/x"}).json
    body["params"]["channels"] = ["ops"]
    made = service.otto.post_json("/api/automations", body, status=201).json["id"]
    service.ada.delete(f"/api/notifications/channels/{channel['id']}")
    service.otto.put_json(f"/api/automations/{made}", {"description": "still there"})  # none of its business
    changed = {"params": {"title": "t", "channels": ["ops", "other"]}}
    refused = service.otto.put_json(f"/api/automations/{made}", changed, status=422).json
    assert refused["fields"] == {"params.channels": "there is no channel other"}
