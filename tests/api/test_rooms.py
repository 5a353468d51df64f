"""The pages of the table: what they show is what the API says, what they change the API changes."""

import dataclasses
from dataclasses import replace
from html.parser import HTMLParser
from typing import get_args
from urllib.parse import unquote
from xml.etree import ElementTree

import pyotp
import pytest
from webtest import TestApp

from opsapp.monitoring.engine import changes
from opsapp.monitoring.resources import monitors_of
from opsapp.ui import builder
from opsapp.ui.menu import DOORS
from opsapp.ui.plan import PAGES
from opsapp.ui.reader import AnswerOf, ReadAs
from opsapp.ui.views import find, rooms
from opsapp.web.declared import adapted, answer_of
from opsapp.web.openapi import endpoints
from tests.support.app import ROLES, Service

MENU_OF_ADMINS = {
    "/users",
    "/teams",
    "/provisioning",
    "/audit",
    "/notifications",
    "/secrets",
    "/statuspage",
    "/healing/inlets",
}
OF_CHANNELS = {
    "/notifications/new",
    "/notifications/channels/{id}",
    "/notifications/channels/{id}/clone",
    "/notifications/deliveries/{id}",
}
ADMINS = (
    MENU_OF_ADMINS
    | OF_CHANNELS
    | {"/settings/service", "/settings/as-code", "/healing/rules/{source}/clone", "/healing/inlets/{inlet_id}"}
    | {"/statuspage/own", "/statuspage/own/{slug}"}
)
MENU_OF_OPERATORS = {"/healing/replay"}
NOT_VIEWERS = (
    ADMINS
    | MENU_OF_OPERATORS
    | {
        "/healing/rules/new",
        "/maintenance/new",
        "/maintenance/{id}/clone",
        "/monitors/new",
        "/monitors/{id}/clone",
        "/monitors/{id}/edit",
        "/automations/{id}/clone",
        "/automations/{id}/edit",
    }
)
UNLISTED = {"/agents/add", "/oncall/new", "/oncall/policies/new"}  # for admins; another page leads there


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        service = Service(tmp_path_factory.mktemp("rooms"))
    shop = {"name": "<Shop>", "type": "http", "url": "http://shop.example/"}
    service.monitor = service.otto.post_json("/api/monitoring/endpoints", shop).json["id"]
    service.agent = service.ada.post_json("/api/agents", {"label": "box-1"}).json["agent_id"]
    service.automation = service.otto.post("/api/automations/templates/memory/apply").json["id"]
    night = {"name": "night", "start": "2055-01-15T22:00", "end": "2055-01-16T02:00", "scope": [service.monitor]}
    service.window = service.otto.post_json("/api/maintenance", night).json["id"]
    channel = {"name": "on-call", "url": "json://127.0.0.1:9/hidden-token"}
    service.channel = service.ada.post_json("/api/notifications/channels", channel).json["id"]
    service.ada.post(f"/api/notifications/channels/{service.channel}/test", status=502)
    service.delivery = service.ada.get("/api/notifications/deliveries").json[0]["id"]
    turns = {"name": "Turns", "zone": "UTC", "layers": [{"users": ["ada"], "start": "2026-01-05"}]}
    service.schedule = service.ada.post_json("/api/oncall/schedules", turns).json["id"]
    policy = {"name": "Wake", "steps": [{"schedules": [service.schedule], "wait_s": 300}]}
    service.policy = service.ada.post_json("/api/oncall/policies", policy).json["id"]
    service.ada.post_json("/api/status/pages", {"slug": "acme", "name": "Acme"})
    yield service
    service.close()


def place_of(service, page):
    ids = {
        "/monitors/{id}": service.monitor,
        "/monitors/{id}/edit": f"{service.monitor}/edit",
        "/monitors/{id}/clone": f"{service.monitor}/clone",
        "/agents/{id}": service.agent,
        "/healing/rules/{rule_id}": "default-cpu",
        "/automations/{id}": service.automation,
        "/healing/rules/{source}/clone": "default-cpu/clone",
        "/automations/{id}/clone": f"{service.automation}/clone",
        "/automations/{id}/edit": f"{service.automation}/edit",
        "/maintenance/{id}": service.window,
        "/maintenance/{id}/clone": f"{service.window}/clone",
        "/notifications/channels/{id}": service.channel,
        "/notifications/channels/{id}/clone": f"{service.channel}/clone",
        "/notifications/deliveries/{id}": service.delivery,
        "/oncall/schedules/{id}": service.schedule,
        "/oncall/policies/{id}": service.policy,
        "/statuspage/own/{slug}": "acme",
    }
    return page.path.partition("{")[0] + ids.get(page.path, "") if "{" in page.path else page.path


class Outline(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.labels, self.inputs, self.marks, self.inline, self.lang = [], set(), set(), [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.lang = attrs.get("lang", self.lang)
        if "id" in attrs:
            self.marks.append(attrs["id"])
        if tag == "label":
            self.labels.add(attrs["for"])
        if tag in ("input", "select", "textarea") and attrs.get("type") != "hidden":
            self.inputs.add(attrs.get("id"))
        self.inline += [name for name in attrs if name.startswith("on") or name == "style"]


ELSEWHERE = (
    "/incidents/{id}",
    "/automations/runs/{run_id}",
    "/agents/{id}/commands/{command_id}",
    "/healing/cases/{case_id}",
    "/moment/{kind}/{id}",
)
PLAIN = [page for page in PAGES if page.path not in ELSEWHERE]


@pytest.mark.parametrize("who", ROLES)
@pytest.mark.parametrize("page", PLAIN, ids=lambda page: page.path)
def test_every_page(service, page, who):
    if page not in builder.known_of(service.app.registry).pages:
        service.browser(who).get(page.path, status=404)
        return
    refused = (
        page.path
        in {"vera": NOT_VIEWERS | UNLISTED | {"/automations/new", "/deleted"}, "otto": ADMINS | UNLISTED, "ada": ()}[
            who
        ]
    )
    answer = service.browser(who).get(place_of(service, page), status=403 if refused else 200)
    outline = Outline(answer.text)
    assert outline.lang == "en"
    for tag in ("h1", "title", "main"):
        assert outline.tags.count(tag) == 1, tag
    assert outline.inputs <= outline.labels
    assert len(set(outline.marks)) == len(outline.marks)
    assert outline.inline == []
    assert "<Shop>" not in answer.text
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_every_row_of_the_table_names_views_that_there_are(service):
    """Misspelt, a page or an act would silently be left out."""
    known = builder.known_of(service.app.registry)
    lacking = {api for page in known.pages for api in builder.needed(page, all=True) if api not in known.roles}
    assert not lacking
    later = {page.path for page in PAGES if page not in known.pages}
    assert later <= {"/maintenance"}


def declared_at(declared, source):
    return declared[builder._shape(f"GET {source}").partition("?")[0]]


def is_record(declared):
    return dataclasses.is_dataclass(declared[0] if isinstance(declared, list) else declared)


def test_every_part_is_of_the_class_that_the_view_declares(service):
    """Also of a list that no test has a row of."""
    declared = {builder._shape(f"{view.method} {view.path}"): view.returns for view in endpoints(service.app.registry)}
    every = [part for page in PAGES for part in page.parts if isinstance(part.name, AnswerOf)]
    parts = [part for part in every if not isinstance(part.name, ReadAs)]
    said = {part.source: adapted([*get_args(part.name.of)] or part.name.of, answer_of) for part in parts}
    wrong = [source for source in said if declared_at(declared, source) != said[source]]
    as_records = [
        part.source for part in every if isinstance(part.name, ReadAs) and is_record(declared_at(declared, part.source))
    ]
    assert len(parts) > 50
    assert wrong == []
    assert as_records == [], "the view has a record already"


def test_the_menu_has_what_its_reader_may_see(service):
    paths = {}
    for who in ("vera", "ada"):
        pages = [service.browser(who).get(place).html for place in ("/healing", "/settings")]
        paths[who] = {link["href"] for page in pages for link in page.select(".side nav a, .rooms a")}
    assert paths["ada"] - paths["vera"] == MENU_OF_ADMINS | MENU_OF_OPERATORS
    assert "/healing/trust" in paths["vera"]


@pytest.mark.parametrize(
    ("place", "door", "room"),
    [
        ("/healing", ("/healing", "page"), ("/healing", "page")),
        ("/healing/trust", ("/healing", "true"), ("/healing/trust", "page")),
        ("/healing/rules/new", ("/healing", "true"), ("/healing/rules", "true")),
        ("/users", ("/settings", "true"), ("/users", "page")),
        ("/monitors", ("/monitors", "page"), None),
        ("/monitors/{}", ("/monitors", "true"), None),
    ],
)
def test_a_page_shows_the_door_and_the_room_that_it_is_in(service, place, door, room):
    page = service.browser("ada").get(place.format(service.monitor)).html
    marked = {
        bar: [(link["href"], link["aria-current"]) for link in page.select(f"{bar} a[aria-current]")]
        for bar in (".side", ".rooms")
    }
    assert marked == {".side": [door], ".rooms": [room] if room else []}


def test_the_menu_has_twelve_doors_at_most_and_each_page_that_has_a_name_for_it_is_behind_one():
    assert len(DOORS) <= 12
    behind = [page for door in DOORS for page in door.pages]
    assert sorted(behind) == sorted(page.path for page in PAGES if page.menu)


def form(page, act):
    """The first form on it that does this."""
    found = [each for each in page.forms.values() if "act" in each.fields and each["act"].value.endswith(act)]
    assert found, f"there is no {act} on {page.request.path}"
    return found[0]


def press(page, act, status=303, **values):
    chosen = form(page, act)
    for name, value in values.items():
        if len(chosen.fields[name]) == 2:
            chosen.fields[name][1].checked = (
                value == "true"
            )  # a tick; what is not ticked is sent by the field before it
        else:
            chosen[name] = value
    return chosen.submit(status=status)


def test_a_monitor_is_paused_and_resumed(service):
    otto, path = service.browser("otto"), f"/monitors/{service.monitor}"
    page = press(otto.get(path), "pause").follow()
    assert "It is paused: nobody checks it." in page.text
    assert service.vera.get(f"/api/monitoring/endpoints/{service.monitor}").json["enabled"] is False
    press(page, "resume")
    assert service.vera.get(f"/api/monitoring/endpoints/{service.monitor}").json["enabled"] is True
    entry = service.ada.get("/api/audit?user=otto&action=monitor&limit=1").json[0]
    assert entry["target"] == service.monitor


def test_trust_is_given_and_taken_and_what_cannot_be_says_why(service):
    ada = service.browser("ada")
    page = press(ada.get("/healing/trust"), "promote", level="approve").follow()
    rule = form(page, "demote")["row-rule_id"].value
    levels = {each["rule_id"]: each["current_level"] for each in service.vera.get("/api/healing/trust").json}
    assert levels[rule] == "approve"
    assert options(page, "promote") == ["execute"]
    assert options(page, "demote") == ["observation", "dry-run", "notify"]
    stale = form(page, "promote")
    service.ada.post_json(f"/api/healing/trust/{rule}/promote", {"level": "execute"})
    refused = stale.submit(status=409)
    assert refused.html.select_one("[role=alert]").text
    assert refused.html.select_one('main a[href="/healing/trust"]')
    page = ada.get("/healing/trust")
    assert form(page, "promote")["row-rule_id"].value != rule, "nothing is above execute"
    press(page, "demote", level="notify")


def options(page, act):
    return [option for option, _, _ in form(page, act)["level"].options]


def test_a_rule_is_promoted_to_the_next_level_by_one_click_and_never_above_its_ceiling(service):
    rule = {"id": "capped", "condition": "cpu_percent > 99", "action": {"type": "clear_cache"},
            "trust_ceiling": "approve", "initial_level": "notify"}  # fmt: skip
    service.ada.post_json("/api/healing/rules", rule)
    page = service.browser("ada").get("/healing/trust")
    chosen = next(each for each in page.forms.values() if "row-rule_id" in each.fields
                  and each["row-rule_id"].value == "capped" and each["act"].value.endswith("promote"))  # fmt: skip
    assert [option for option, _, _ in chosen["level"].options] == ["approve"]
    after = chosen.submit(status=303).follow()
    rows = [each for each in after.forms.values() if "row-rule_id" in each.fields]
    offered = {(each["row-rule_id"].value, each["act"].value) for each in rows}
    assert ("capped", "trust.promote") not in offered
    assert ("capped", "trust.demote") in offered
    service.ada.delete("/api/healing/rules/capped")


def test_the_trust_of_many_rules_is_on_several_pages(service):
    rule = {"condition": "cpu_percent > 99", "action": {"type": "clear_cache"}}
    for number in range(40):
        service.ada.post_json("/api/healing/rules", rule | {"id": f"many-{number:02}"})
    first = service.browser("ada").get("/healing/trust")
    second = first.click("Next page")
    third = second.click("Next page")
    names = [link.get_text() for page in (first, second, third) for link in page.html.select("#trust h2 a")]
    every = [row["rule_id"] for row in service.ada.get("/api/healing/trust?limit=1000").json]
    assert sorted(names) == sorted(every)
    for number in range(40):
        service.ada.delete(f"/api/healing/rules/many-{number:02}")


def test_healing_is_paused_and_resumed(service):
    ada = service.browser("ada")
    page = press(ada.get("/healing"), "pause").follow()
    assert "Healing is paused." in page.html.select_one("#standing").text
    assert "Healing is active." in press(page, "resume").follow().html.select_one("#standing").text


def test_an_automation_is_run(service):
    otto = service.browser("otto")
    page = press(otto.get(f"/automations/{service.automation}"), "run").follow()
    runs = service.vera.get(f"/api/automations/{service.automation}/runs").json
    assert len(runs) == 1
    assert f"/automations/runs/{runs[0]['run_id']}" in page.text
    assert otto.get(f"/automations/runs/{runs[0]['run_id']}").html.h1.text.startswith("Run")


def test_an_automation_is_run_with_its_inputs(service):
    inputs = [
        {"name": "host", "type": "string", "required": True},
        {"name": "count", "type": "integer", "default": 3},
        {"name": "hard", "type": "boolean", "default": False},
        {"name": "mode", "type": "choice", "choices": ["slow", "fast"], "required": True},
    ]
    body = {"name": "asks", "type": "script", "params": {"script": "true"}, "inputs": inputs}
    made = service.ada.post_json("/api/automations", body).json["id"]
    otto = service.browser("otto")
    rows = [each for each in otto.get("/automations").forms.values() if each.fields.get("row-id", [None])[0]]
    assert made not in {each["row-id"].value for each in rows if each["act"].value == "0.run"}
    page = otto.get(f"/automations/{made}")
    asked = form(page, "run")
    untold, tick = asked.fields["inputs.hard"]
    assert (asked["inputs.count"].value, untold.value, tick.checked) == ("3", "false", False)
    refused = press(page, "run", 422, **{"inputs.host": "box-1", "inputs.count": "many"})
    assert refused.html.select_one("#again-inputs\\.count ~ .err").text
    assert form(refused, "run")["inputs.host"].value == "box-1"
    press(refused, "run", **{"inputs.count": "5", "inputs.hard": "true", "inputs.mode": "fast"})
    newest = service.vera.get(f"/api/automations/{made}/runs").json[0]["run_id"]
    run = service.vera.get(f"/api/automations/runs/{newest}").json
    assert run["inputs"] == {"host": "box-1", "count": 5, "hard": True, "mode": "fast"}


def test_the_result_of_a_form_is_loaded_again_and_nothing_is_done_twice(service):
    ada = service.browser("ada")
    asked = form(ada.get("/agents/add"), "create")
    asked["label"] = "loaded-twice"
    sent = asked.submit_fields()
    assert asked.submit(status=200).html.select_one("code.key")
    again = ada.post("/agents/add", sent, status=303).follow()
    assert "already sent" in again.html.select_one("[role=status]").text
    assert len(service.ada.get("/api/agents?q=loaded-twice").json) == 1
    wrong = form(ada.get("/agents/add"), "create")
    wrong["label"] = " "
    sent = wrong.submit_fields()
    for _ in range(2):  # nothing was done: the form is shown with its problem as often as it is loaded
        assert ada.post("/agents/add", sent, status=422).html.select_one("[role=alert]")


def test_a_user_is_made_and_wrong_values_are_named(service):
    ada = service.browser("ada")
    page = ada.get("/users")
    refused = press(page, "create", 422, username="grace", role="operator", password="tooshort1")
    again = form(refused, "create")
    assert (again["username"].value, again["role"].value, again["password"].value) == ("grace", "operator", "")
    assert "10 to 256" in refused.html.select_one("#again-password ~ .err").text
    assert "tooshort1" not in refused.text
    press(refused, "create", password="a sound password")
    assert service.ada.get("/api/users/grace").json["role"] == "operator"


def test_a_user_with_an_at_sign_is_changed_like_any_other(service):
    body = {"username": "grace@example.org", "role": "operator", "password": "a sound password"}
    service.ada.post_json("/api/users", body)
    page = service.browser("ada").get("/users")
    row = next(form for form in page.forms.values() if form.fields.get("act", [None])[0] is not None
               and form["act"].value == "users.role" and form["row-username"].value == "grace@example.org")  # fmt: skip
    assert row["role"].value == "operator"  # what she has, not what comes first
    row["role"] = "viewer"
    row.submit(status=303)
    assert service.ada.get("/api/users/grace@example.org").json["role"] == "viewer"


@pytest.mark.parametrize("name", ["ada/totp", "../me", "..", "a\u20ac", "%61da"])
def test_a_row_leads_nowhere_else(service, name):
    ada = service.browser("ada")
    token = ada.get("/users").forms[1]["csrf_token"].value
    forged = {"csrf_token": token, "act": "users.role", "row-username": name, "role": "viewer"}
    ada.post("/users", forged, status=404)
    assert service.ada.get("/api/users/ada").json["role"] == "admin"


def test_a_form_whose_row_says_too_little_does_nothing(service):
    ada = service.browser("ada")
    token = ada.get("/healing/chaos").forms[1]["csrf_token"].value
    for row in ({}, {"row-name": ""}, {"row-id": "x"}):
        ada.post("/healing/chaos", {"csrf_token": token, "act": "scenarios.rehearse", **row}, status=404)


def test_who_was_signed_out_meanwhile_is_led_back_to_the_form(service):
    ada = service.browser("ada")
    token = ada.get("/users").forms[1]["csrf_token"].value
    ada.reset()
    page = ada.post("/users?said=role", {"csrf_token": token, "act": "create"}, status=401)
    assert page.html.select_one('main a[href="/login?next=/users"]')


@pytest.mark.parametrize(
    ("path", "values", "api", "made"),
    [
        ("/users", {"username": "hal", "role": "viewer", "password": "a sound password"}, "/api/users",
         {"username": "hal", "role": "viewer"}),
    ],
)  # fmt: skip
def test_forms_make_what_they_say(service, path, values, api, made):
    assert press(service.browser("ada").get(path), "create", **values).follow().html.select_one(".notice")
    assert any(all(row.get(name) == value for name, value in made.items()) for row in service.ada.get(api).json)


def test_a_script_has_the_lines_that_were_written(service):
    written = {"name": "two", "params.script": "true\r\nfalse"}
    press(service.browser("otto").get("/automations/new"), "create-script", 200, **written)
    made = next(each for each in service.vera.get("/api/automations").json if each["name"] == "two")
    assert service.ada.get(f"/api/automations/{made['id']}").json["params"]["script"] == "true\nfalse"


def test_an_agents_key_is_shown_once(service):
    shown = press(service.browser("ada").get("/agents/add"), "create", 200, label="box-2", tags="web")
    key = shown.html.select_one("code.key").text.strip()
    assert len(key) == 64
    command = shown.html.select_one("pre").text
    assert command == (f"printf 'X-Agent-Key: {key}' | curl -fsS -H @- http://localhost/api/agents/install-script | sh")
    script = service.anonymous.get("/api/agents/install-script", headers={"X-Agent-Key": key}).text
    assert script.startswith("#!/bin/sh")
    assert service.anonymous.get(f"/api/agents/install-script?key={key}").text == script


def test_a_key_is_shown_once(service):
    made = press(service.browser("otto").get("/settings"), "key", 200, name="probe", role="viewer")
    key = made.html.select_one("code.key").text
    assert service.anonymous.get("/api/me", headers={"Authorization": f"Bearer {key}"}).json["username"] == "otto"


def test_a_second_factor_is_set_up_by_a_picture_and_ended_by_an_admin(service):
    body = {"username": "scout", "password": "horse battery staple", "role": "viewer"}
    service.ada.post_json("/api/users", body)
    scout = service.browser("scout")
    begun = press(scout.get("/settings"), "totp", 200)
    secret = begun.html.select_one("code.key").text
    kind, _, picture = begun.html.select_one("img")["src"].partition(",")
    drawn = ElementTree.fromstring(unquote(picture))
    assert (kind, drawn.tag) == ("data:image/svg+xml", "{http://www.w3.org/2000/svg}svg")
    assert "img-src 'self' data:" in begun.headers["Content-Security-Policy"]
    wrong = press(begun, "totp-on", 422, code="nothing")
    kept = press(wrong, "totp-on", 200, code=pyotp.TOTP(secret).at(int(service.clock.now())))
    assert len(kept.html.select_one("code.key").text.split()) == 10
    assert kept.html.select_one(".copied button[data-copy]")
    assert service.ada.get("/api/users/scout").json["totp_enabled"] is True
    press(service.browser("ada").get("/users"), "users.totp-off")
    assert service.ada.get("/api/users/scout").json["totp_enabled"] is False


def test_a_rehearsal_shows_what_came_of_it(service):
    shown = press(service.browser("ada").get("/healing/chaos"), "rehearse", 200)
    assert "expectations held" in shown.html.select_one("main [role=status]").text
    assert len(shown.html.select("#expectations tbody tr")) > 1


def test_a_list_is_searched_and_what_is_wrong_is_a_page(service):
    vera = service.browser("vera")
    assert "No monitor is like that." in vera.get("/monitors?q=nothing-like-it").text
    assert "&lt;Shop&gt;" in vera.get("/monitors?q=shop").text
    assert vera.get("/monitors?status=bad", status=422).content_type == "text/html"


def test_who_may_not_sees_no_form_and_is_refused_all_the_same(service):
    vera = service.browser("vera")
    path = f"/monitors/{service.monitor}"
    page = vera.get(path)
    assert [each for each in page.forms.values() if "act" in each.fields] == []
    forged = {"act": "monitor.pause", "row-id": service.monitor, "csrf_token": page.forms[1]["csrf_token"].value}
    assert "role" in vera.post(path, forged, status=403).html.select_one("[role=alert]").text
    assert service.vera.get(f"/api/monitoring/endpoints/{service.monitor}").json["enabled"] is True


@pytest.mark.parametrize("token", [None, "0" * 64])
def test_without_the_forms_token_nothing_changes(service, token):
    otto, path = service.browser("otto"), f"/monitors/{service.monitor}"
    body = {"act": "monitor.pause", "row-id": service.monitor} | ({"csrf_token": token} if token else {})
    otto.post(path, body, status=403)
    assert service.vera.get(f"/api/monitoring/endpoints/{service.monitor}").json["enabled"] is True


@pytest.mark.parametrize("act", ["", "nothing", "0.nothing", "9.pause", "9" * 5000 + ".pause", "x.pause", "0.pause.x"])
def test_an_act_that_is_none(service, act):
    otto, path = service.browser("otto"), f"/monitors/{service.monitor}"
    token = otto.get(path).forms[1]["csrf_token"].value
    otto.post(path, {"act": act, "csrf_token": token}, status=404)
    otto.post_json(path, {"act": act}, headers={"X-CSRF-Token": token}, status=415)


def test_for_the_figures_at_the_top_nothing_else_of_a_page_is_asked(service, monkeypatch):
    """Every open page asks for them whenever something has changed."""
    otto = service.browser("otto")
    whole = {path: otto.get(path).html.select_one("#counts") for path in ("/", "/monitors", "/find?q=shop", "/help")}
    monkeypatch.setattr(rooms, "ask", None)
    monkeypatch.setattr(find, "ask", None)
    for path, counts in whole.items():
        part = otto.get(path, headers={"X-Part": "counts"}).html
        assert part.text.split() == counts.text.split()
        assert part.select_one("#tally")["data-incidents"] == counts.select_one("#tally")["data-incidents"]
    service.anonymous.get("/monitors", headers={"X-Part": "counts"}, status=303)


UNKNOWN = ("/monitors/0000", "/monitors/x/y", "/agents/0000", "/healing/nothing", "/users/ada")


@pytest.mark.parametrize("path", [*UNKNOWN, pytest.param("/monitors" + "/x" * 3000, id="deep")])
def test_unknown_pages(service, path):
    page = service.browser("ada").get(path, status=404)
    assert page.html.h1.text == "Not found"


@pytest.mark.parametrize("path", ["/monitors", "/incidents/0000", "/healing/trust", "/settings"])
def test_nobody_known_is_led_to_the_form(service, path):
    led = TestApp(service.app).get(path, status=303)
    assert led.headers["Location"] == f"/login?next={path}"


def add_monitors(root, like, count, now):
    settings = monitors_of(root)[like].record
    for n in range(count):
        changes.create(root, replace(settings, name=f"m{n:04}", url=f"http://m{n}.example/"), 1000 + n, now)


def test_thousands_of_monitors_are_shown_a_page_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    service = Service(tmp_path)
    try:
        first = {"name": "a-first", "type": "http", "url": "http://shop.example/"}
        like = service.otto.post_json("/api/monitoring/endpoints", first).json["id"]
        service.transact(add_monitors, like, 2000, service.clock.now())
        otto = service.browser("otto")
        page = otto.get("/monitors")
        tables = page.html.select("table")
        assert [len(table.select("tbody tr")) for table in tables] == [50]
        assert len(page.html.find_all()) <= 3000
        last = otto.get("/monitors?offset=2000")
        assert [table.select_one("tbody a").text for table in last.html.select("table")] == ["m1999"]
        counts = service.vera.get("/api/monitoring/sla?limit=1&offset=3")
        assert ([row["name"] for row in counts.json], counts.headers["X-Total-Count"]) == (["m0002"], "2001")
    finally:
        service.close()


def test_one_block_of_a_page_is_served_by_itself(service):
    ada = service.browser("ada")
    whole = ada.get("/monitors")
    assert whole.vary == ("X-Part", "Accept-Encoding")
    block = ada.get("/monitors", headers={"X-Part": "main"})
    assert "<html" not in block.text
    assert block.html.h1.text == "Monitors"
    assert "&lt;Shop&gt;" in block.text
    assert block.headers["Cache-Control"] == "no-store"
    ada.get("/monitors", headers={"X-Part": "no-such-thing"}, status=404)
    service.anonymous.get("/monitors", headers={"X-Part": "main"}, status=303)
