"""The pages of automations and runs: what they say, what they start, and where a run's output is followed."""

import json

import pytest

from opsapp.agents.engine import executor

from .test_rooms import form, press

SCRIPT = {"name": "tidy", "type": "script", "params": {"script": "echo <b>"}, "schedule": "0 3 * * *",
          "timezone": "Europe/Berlin"}  # fmt: skip


@pytest.fixture
def tidy(service):
    return service.otto.post_json("/api/automations", SCRIPT, status=201).json["id"]


@pytest.mark.shared
def test_an_approved_request_leads_to_its_run(service):
    body = {"name": "asked", "type": "script", "params": {"script": "true"}, "requires_approval": True}
    made = service.ada.post_json("/api/automations", body).json["id"]
    asked = service.ada.post(f"/api/automations/{made}/run").json
    listed = service.browser("vera").get("/automations").html.select_one("#list tbody tr")
    assert listed.select_one(".went + .meta").get_text() == "waits for approval", "not that it never ran"
    place = f"/approvals/{asked['request_id']}"
    assert service.browser("otto").get(place).html.select_one("#decision .line a") is None
    service.otto.post(f"/api{place}/approve")
    link = service.browser("otto").get(place).html.select_one("#decision .line a")
    assert (link.text, link["href"]) == ("Open the run", f"/automations/runs/{asked['run_id']}")


NIGHTLY = {
    "hour": ("03:20", "20 * * * *"),
    "day": ("03:20", "20 03 * * *"),
    "week": ("03:20", "20 03 * * 2"),
    "month": ("03:20", "20 03 15 * *"),
    "": ("03:20", None),
}


@pytest.mark.parametrize("often", NIGHTLY)
def test_how_often_is_chosen_without_an_expression(service, often):
    at, expression = NIGHTLY[often]
    page = service.browser("ada").get("/automations/new?type=script")
    chosen = {"schedule:often": often, "schedule:at": at, "schedule:weekday": "2", "schedule:day": "15"}
    press(page, "create-script", 200, name="chosen", **{"params.script": "true"}, **chosen)
    (row,) = [row for row in service.ada.get("/api/automations").json if row["name"] == "chosen"]
    assert row["schedule"] == expression


@pytest.mark.shared
def test_a_choice_takes_the_place_of_what_was_there_and_not_of_what_was_written(service):
    body = {"name": "kept", "type": "script", "params": {"script": "true"}, "schedule": "0 4 * * 0", "timezone": "UTC"}
    made = service.ada.post_json("/api/automations", body).json["id"]
    place, browser = f"/automations/{made}", service.browser("ada")
    shown = browser.get(place)
    assert "Every Sunday at 04:00" in shown.text
    assert len(shown.html.select("#when .plainlist li")) == 5
    assert "Every Sunday at 04:00" in browser.get("/automations").text
    edit = browser.get(place + "/edit")
    refused = press(edit, "automation.save-script", 422, schedule="0 5 * * *", **{"schedule:often": "day"})
    assert "not both" in refused.text
    assert form(refused, "automation.save-script")["schedule"].value == "0 5 * * *", "nothing is lost"
    edit = browser.get(place + "/edit")
    press(edit, "automation.save-script", **{"schedule:often": "week", "schedule:weekday": "6"})
    assert service.ada.get(f"/api{place}").json["schedule"] == "00 03 * * 6"
    press(browser.get(place + "/edit"), "automation.save-script")
    assert service.ada.get(f"/api{place}").json["schedule"] == "00 03 * * 6", "untouched, it stays"


@pytest.mark.shared
def test_a_schedule_that_no_sentence_says_is_shown_as_it_is_with_its_next_times(service):
    body = {"name": "odd", "type": "script", "params": {"script": "true"}, "schedule": "*/7 9-17 * * 1-5"}
    made = service.ada.post_json("/api/automations", body).json["id"]
    when = service.browser("ada").get(f"/automations/{made}").html.select_one("#when")
    assert when.select_one("code").text == "*/7 9-17 * * 1-5"
    assert len(when.select(".plainlist li")) == 5


def test_the_list_says_how_the_last_runs_went_and_when_the_next_comes(service, tidy):
    run = service.otto.post_json(f"/api/automations/{tidy}/run", {}).json["run_id"]
    service.otto.post_json(f"/api/automations/runs/{run}/cancel", {})
    page = service.browser("vera").get("/automations")
    row = page.html.select_one("#list tbody tr")
    assert row.select_one("a").text == "tidy"
    assert "0 of 1 done" in row.text
    assert row.select_one(".went a")["href"] == f"/automations/runs/{run}"
    assert row.select("td time")
    assert "New automation" not in page.text


@pytest.mark.shared
def test_an_automation_shows_its_next_five_times_by_the_readers_clock(service, tidy):
    page = service.browser("vera").get(f"/automations/{tidy}")
    times = [each.text for each in page.html.select("#when li")]
    assert len(times) == 5
    assert all(each.endswith(("01:00", "02:00")) for each in times)  # 03:00 in Berlin, by UTC
    assert "echo <b>" in page.html.select_one("#what pre").text
    assert not page.html.select("#manage")


@pytest.mark.shared
def test_a_run_is_started_followed_and_cancelled(service, tidy):
    otto = service.browser("otto")
    shown = press(otto.get(f"/automations/{tidy}"), "automation.run").follow()
    assert shown.html.select_one("h1").text.strip() == "Run of tidy"
    run_id = shown.request.path.rpartition("/")[2]
    box = shown.html.select_one("pre.out")
    assert box["data-follow"] == f"/api/automations/runs/{run_id}/stream"
    press(shown, "run.cancel")
    over = otto.get(shown.request.path)
    assert "cancelled by otto" in over.text
    assert "data-follow" not in over.html.select_one("pre.out").attrs
    assert press(over, "automation.run").follow().html.select_one("h1")
    part = otto.get(shown.request.path, headers={"X-Part": "output"})
    assert part.text.lstrip().startswith("<header>")


@pytest.mark.shared
def test_a_run_is_there_when_its_automation_was_deleted(service, tidy):
    run = service.ada.post_json(f"/api/automations/{tidy}/run", {}).json
    service.ada.post_json(f"/api/automations/runs/{run['run_id']}/cancel", {})
    ada, path = service.browser("ada"), f"/automations/runs/{run['run_id']}"
    assert "Run again" in ada.get(path)
    service.ada.delete(f"/api/automations/{tidy}")
    page = ada.get(path)
    assert "Run of tidy" in page
    assert "Run again" not in page


def test_a_run_that_needs_an_approval_says_who_may_not_give_it(service):
    body = {**SCRIPT, "name": "grave", "requires_approval": True}
    made = service.ada.post_json("/api/automations", body).json["id"]
    shown = press(service.browser("otto").get(f"/automations/{made}"), "automation.run").follow()
    assert "Who asked for it may not." in shown.text
    assert shown.html.select_one('main a[href="/approvals"]')


@pytest.mark.parametrize(
    ("kind", "values", "params"),
    [
        ("script", {"params.script": "true"}, {"script": "true"}),
        ("webhook", {"params.url": "https://example.org/x", "params.method": "PUT"}, {"method": "PUT"}),
        ("notification", {"params.title": "Hello"}, {"title": "Hello"}),
        ("service-control", {"params.service": "nginx", "params.action": "restart"}, {"action": "restart"}),
    ],
)
def test_each_type_has_its_own_fields(service, kind, values, params):
    otto = service.browser("otto")
    page = otto.get(f"/automations/new?type={kind.replace('-', '_')}")
    refused = press(page, f"create-{kind}", 422, name="made", schedule="at noon", **values)
    assert "five fields" in refused.html.select_one("main .err").text
    made = press(refused, f"create-{kind}", 200, schedule="")
    assert len(made.html.select_one("code.key").text) > 20
    stored = next(each for each in service.vera.get("/api/automations").json if each["name"] == "made")
    record = service.ada.get(f"/api/automations/{stored['id']}").json
    assert params.items() <= record["params"].items()


@pytest.mark.shared
def test_it_is_edited_with_what_it_has(service, tidy):
    otto = service.browser("otto")
    page = otto.get(f"/automations/{tidy}/edit")
    assert '"script": "echo <b>"' in form(page, "automation.save")["params"].value, "also as JSON"
    asked = form(page, "automation.save-script")
    assert asked["params.script"].value == "echo <b>"
    assert asked["schedule"].value == "0 3 * * *"
    asked["schedule"] = ""
    asked["timeout"] = "60"
    assert asked.submit(status=303).location.endswith(f"/automations/{tidy}")
    record = service.ada.get(f"/api/automations/{tidy}").json
    assert (record["schedule"], record["timeout"], record["params"]["script"]) == (None, 60, "echo <b>")
    service.browser("vera").get(f"/automations/{tidy}/edit", status=403)


@pytest.mark.shared
def test_a_clone_has_what_the_first_does_and_no_schedule(service):
    first = service.otto.post_json(
        "/api/automations",
        {"name": "Nightly", "type": "script", "params": {"script": "date"}, "schedule": "@daily", "timeout": 77},
    ).json["id"]
    otto = service.browser("otto")
    page = otto.get(f"/automations/{first}").click("Clone")
    form = next(form for form in page.forms.values() if form.fields.get("act", [None])[0]
                and form["act"].value == "clone-script")  # fmt: skip
    assert form["name"].value == "Nightly (copy)"
    form.submit()
    copies = [row for row in service.otto.get("/api/automations").json if row["name"] == "Nightly (copy)"]
    [copy] = [service.otto.get(f"/api/automations/{row['id']}").json for row in copies]
    assert (copy["type"], copy["params"]["script"], copy["timeout"], copy["schedule"]) == ("script", "date", 77, None)
    assert service.otto.get(f"/api/automations/{first}").json["schedule"] == "@daily"
    service.browser("vera").get(f"/automations/{first}/clone", status=403)


def drawn(page, act, do, **values):
    asked = form(page, act)
    for name, value in values.items():
        asked[name] = value
    return asked.submit("redraw", value=do)


def test_inputs_are_fields_that_come_go_and_move_without_a_script(service):
    otto = service.browser("otto")
    page = otto.get("/automations/new?type=script")
    page = drawn(page, "create-script", "inputs:add", name="tidy", **{"params.script": "echo {{input:path}}"})
    page = drawn(page, "create-script", "inputs:add", **{"inputs:0:name": "path", "inputs:0:default": "/tmp"})
    page = drawn(page, "create-script", "inputs:up:1", **{
        "inputs:1:name": "days", "inputs:1:type": "integer", "inputs:1:default": "7"})  # fmt: skip
    asked = form(page, "create-script")
    assert [asked[f"inputs:{at}:name"].value for at in (0, 1)] == ["days", "path"]
    assert asked["name"].value == "tidy", "nothing is lost"
    assert service.vera.get("/api/automations").json == [], "nothing is saved"
    asked["inputs:0:type"] = "choice"
    refused = asked.submit(status=422)
    assert "choices" in refused.html.select_one(".rows .err").text
    asked = form(refused, "create-script")
    asked["inputs:0:type"] = "integer"
    asked.submit(status=200)
    made = service.vera.get("/api/automations").json[0]["id"]
    inputs = service.vera.get(f"/api/automations/{made}").json["inputs"]
    assert [(each["name"], each["type"], each["default"]) for each in inputs] == [
        ("days", "integer", 7), ("path", "string", "/tmp")]  # fmt: skip
    page = drawn(otto.get(f"/automations/{made}/edit"), "automation.save-script", "inputs:remove:0")
    assert form(page, "automation.save-script").submit(status=303)
    assert [each["name"] for each in service.vera.get(f"/api/automations/{made}").json["inputs"]] == ["path"]


@pytest.mark.shared
def test_steps_name_automations_and_can_be_written_as_json(service, tidy):
    otto = service.browser("otto")
    page = drawn(otto.get("/automations/new?type=workflow"), "create-workflow", "params.steps:add", name="night")
    page = drawn(page, "create-workflow", "params.steps:json", **{
        "params.steps:0:id": "first", "params.steps:0:automation_id": tidy})  # fmt: skip
    written = form(page, "create-workflow")["params.steps"].value
    assert json.loads(written) == [
        {"id": "first", "automation_id": tidy, "on_success": None, "on_failure": None}]  # fmt: skip
    asked = form(page, "create-workflow")
    asked["params.steps"] = '[{"id": "first",}]'
    refused = asked.submit(status=422)
    assert "line 1 column" in refused.html.select_one("main .err").text
    same = drawn(refused, "create-workflow", "params.steps:fields")
    assert form(same, "create-workflow")["params.steps"].value == '[{"id": "first",}]', "it is not lost"
    back = drawn(same, "create-workflow", "params.steps:fields", **{"params.steps": written})
    assert form(back, "create-workflow")["params.steps:0:automation_id"].value == tidy
    form(back, "create-workflow").submit(status=200)
    night = next(row["id"] for row in service.vera.get("/api/automations").json if row["name"] == "night")
    assert service.vera.get(f"/api/automations/{night}").json["params"]["steps"][0]["automation_id"] == tidy


def test_of_many_a_name_is_typed_and_found(service):
    for number in range(42):
        body = {"name": f"job {number:02}", "type": "notification", "params": {"title": "x"}}
        service.otto.post_json("/api/automations", body)
    otto = service.browser("otto")
    page = drawn(otto.get("/automations/new?type=composite"), "create-composite", "params.automations:add", name="all")
    asked = form(page, "create-composite")
    assert asked["params.automations:0:automation_id"].tag == "input", "42 are too many for a list"
    asked["params.automations:0:automation_id"] = "job"
    refused = asked.submit(status=422)
    assert "There is no automation called job" in refused.html.select_one(".rows .err").text
    asked = form(refused, "create-composite")
    assert asked["params.automations:0:automation_id"].value == "job"
    asked["params.automations:0:automation_id"] = "JOB 07"
    asked.submit(status=200)
    whole = next(row["id"] for row in service.vera.get("/api/automations").json if row["name"] == "all")
    page = otto.get(f"/automations/{whole}/edit")
    assert form(page, "automation.save-composite")["params.automations:0:automation_id"].value == "job 07"
    assert form(page, "automation.save-composite").submit(status=303)


@pytest.fixture
def shared(service):
    """The executor shares the service's user: operators write nothing that runs on its machine."""
    service.app.registry[executor.WHOSE] = executor.ExecutorUser("opsapp", 12345, True)
    return service


NEEDS_A_HOST = "Choose a host or a tag below"


def test_that_a_script_on_the_server_takes_an_admin_is_said_before_anything_is_typed(shared):
    otto, ada = shared.browser("otto"), shared.browser("ada")
    for kind in ("script", "service_control"):
        assert NEEDS_A_HOST in otto.get(f"/automations/new?type={kind}").text
        assert NEEDS_A_HOST not in ada.get(f"/automations/new?type={kind}").text
    for kind in ("webhook", "agent_command", "notification"):
        assert NEEDS_A_HOST not in otto.get(f"/automations/new?type={kind}").text


def test_where_the_executor_has_its_own_user_nothing_is_said(service):
    service.app.registry[executor.WHOSE] = executor.ExecutorUser("runner", 12345, False)
    assert NEEDS_A_HOST not in service.browser("otto").get("/automations/new?type=script").text


def test_what_would_be_refused_because_it_runs_on_the_server_is_not_offered(shared):
    made = shared.ada.post_json("/api/automations", SCRIPT).json["id"]
    otto = shared.browser("otto")
    page = otto.get(f"/automations/{made}")
    assert not page.html.select(f"a[href='/automations/{made}/edit']")
    assert "only an admin may change or switch it" in page.text
    offered = {button.text.strip() for button in page.html.select("main button")}
    assert offered & {"Disable", "Enable"} == set()
    assert "Run now" in offered
    edit = otto.get(f"/automations/{made}/edit")
    assert "Only an admin can change this" in edit.text
    assert not edit.html.select("main textarea")
    assert NEEDS_A_HOST in otto.get(f"/automations/{made}/clone").text
    assert shared.browser("ada").get(f"/automations/{made}/edit").html.select("main textarea")


def test_templates_that_run_on_the_server_are_offered_to_who_may_make_them(shared):
    def offered(who):
        rows = shared.browser(who).get("/automations").html.select("#templates li")
        return {row.b.text for row in rows if row.button}

    everything = {template["name"] for template in shared.vera.get("/api/automations/templates").json}
    assert offered("ada") == everything
    assert offered("otto") == {"Call an address"}
    assert offered("vera") == set()


def test_what_an_operator_may_not_write_is_said_beside_what_was_typed(shared):
    page = shared.browser("otto").get("/automations/new?type=script")
    editor = form(page, "create-script")
    editor["name"], editor["params.script"] = "typed", "echo what I typed"
    answer = editor.submit(status=403)
    assert "only an admin may write it" in answer.html.find(role="alert").get_text()
    assert answer.html.select_one("main [name=name]")["value"] == "typed"
    assert "echo what I typed" in answer.html.select_one("main textarea").get_text()


@pytest.mark.shared
def test_a_state_that_forbids_it_is_said_beside_what_was_typed(service):
    service.ada.post_json("/api/secrets", {"name": "token", "value": "x"})
    editor = form(service.browser("ada").get("/secrets"), "create")
    editor["name"], editor["value"] = "token", "another"
    answer = editor.submit(status="4*")
    assert answer.html.select_one("main form [name=name]")["value"] == "token"


@pytest.mark.shared
def test_what_is_made_of_others_is_told_by_their_names(service):
    otto = service.otto
    drain, restart = (
        otto.post_json("/api/automations", {"name": name, "type": "notification", "params": {"title": "x"}}).json["id"]
        for name in ("Drain the node", "Restart the shop")
    )
    steps = [
        {"id": "first", "automation_id": drain, "on_success": "second", "on_failure": "last"},
        {"id": "second", "automation_id": restart},
        {"id": "last", "automation_id": drain},
    ]
    flow = {"name": "Patching", "type": "workflow", "params": {"steps": steps, "start": "first"}}
    both = {"name": "Both", "type": "composite", "params": {"automations": [drain, restart]}}
    flow, both = (otto.post_json("/api/automations", body).json["id"] for body in (flow, both))
    browser = service.browser("vera")
    what = browser.get(f"/automations/{flow}").html.select_one("#what")
    assert what.select("pre")[-1].text.splitlines() == [
        "first: Drain the node, then second, after a failure last",
        "second: Restart the shop",
        "last: Drain the node",
    ]
    assert browser.get(f"/automations/{both}").html.select_one("#what pre").text.split("\n") == [
        "Drain the node",
        "Restart the shop",
    ]
    page = browser.get(f"/automations/{flow}").html
    assert not [each for each in (drain, restart) if each in page.select_one("main").get_text()]
    assert "5 min" in page.select_one("main").text
