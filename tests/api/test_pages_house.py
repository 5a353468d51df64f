"""The pages of the house: maintenance, notifications."""

import re

import pytest
from webtest import TestApp
from webtest.forms import Submit

from opsapp.ui import formvalues
from opsapp.web import configfile
from opsapp.web.config import WebSettings

CHANNELS, WINDOWS = "/api/notifications/channels", "/api/maintenance"


@pytest.fixture
def browser(service):
    return service.browser


def form(page, act):
    """The form of the page that has this act, or a button of it."""
    for each in page.forms.values():
        if act in [value_of(field) for field in each.fields.get("act", ())]:
            return each
    raise AssertionError(f"there is no {act} on {page.request.path}")


def value_of(field):
    return field.value_if_submitted() if isinstance(field, Submit) else field.value


def press(page, act, status=303, **values):
    chosen = form(page, act)
    for name, value in values.items():
        chosen[name] = value
    by_button = any(isinstance(field, Submit) for field in chosen.fields["act"])
    return chosen.submit("act", value=act, status=status) if by_button else chosen.submit(status=status)


# -- maintenance

NIGHT = {"name": "patch night", "start": "2055-01-15T22:00", "end": "2055-01-16T02:00"}
NOON = {"name": "disk swap", "start": "2055-01-15T07:00", "end": "2055-01-15T09:00"}  # it is 08:00


def monitor(service, name="Shop"):
    body = {"name": name, "type": "http", "url": "http://shop.example/"}
    return service.otto.post_json("/api/monitoring/endpoints", body).json["id"]


def test_windows_are_listed_by_what_they_do_now(service, browser):
    empty = browser("otto").get("/maintenance")
    assert "No maintenance is on" in empty.text
    assert empty.html.select_one('#planned a[href="/maintenance/new"]')
    shop = monitor(service)
    service.otto.post_json(WINDOWS, NOON | {"scope": [shop]})
    service.otto.post_json(WINDOWS, NIGHT | {"recurring": "0 22 * * *"})
    service.otto.post_json(WINDOWS, NIGHT | {"name": "was", "start": "2026-01-01T00:00", "end": "2026-01-01T01:00"})
    service.otto.post_json(
        "/api/healing/maintenance", {"target": "all", "duration": "2h", "reason": "", "action": "queue"}
    )
    page = browser("otto").get("/maintenance")
    assert "No alert of Shop is sent, the time does not count in the uptime" in page.text
    assert "disk swap" in page.html.select_one("#now").text
    assert "Everything: events wait" in page.html.select_one("#now").text
    assert "patch night" in page.html.select_one("#planned").text
    assert "was" in page.html.select_one("#past").text
    calendar = page.html.select_one("#calendar")
    assert "January 2055" in calendar.text
    assert len(calendar.select("td a")) >= 17  # every night from the fifteenth on, and the one that is on
    assert "December 2054" in browser("vera").get("/maintenance?month=2054-12").text
    assert "January 2055" in browser("vera").get("/maintenance?month=none").text
    assert not browser("vera").get("/maintenance").html.select("main form")
    ended = press(page, "windows.deactivate").follow()
    assert "disk swap" in ended.html.select_one("#past").text
    assert "It has ended." in ended.html.select_one("[role=status]").text


def test_a_window_is_tried_planned_changed_and_deleted(service, browser):
    shop, otto = monitor(service), browser("otto")
    page = otto.get(f"/maintenance/new?scope={shop}")
    editor = form(page, "create")
    assert (editor["start"].value, editor["end"].value) == ("2055-01-15T09:00", "2055-01-15T11:00")
    assert editor[f"scope:{shop}"].checked
    refused = press(page, "create", 422, name="night", end="2055-01-15T08:00")
    assert "must be after start" in refused.html.select_one("#create-end ~ .err").text
    assert form(refused, "create")["name"].value == "night"
    tried = press(refused, "preview", 200, end="2055-01-15T11:00", recurring="0 9 * * *")
    assert len(tried.html.select("#next li")) == 5
    assert service.vera.get(WINDOWS).json == []
    made = press(tried, "create").follow()
    [window] = service.vera.get(WINDOWS).json
    assert (window["name"], window["scope"], window["recurring"]) == ("night", [shop], "0 9 * * *")
    assert made.html.h1.text.strip() == "night"
    assert len(made.html.select("#next li")) == 5
    saved = press(made, "window.save", recurring="", **{f"scope:{shop}": False, "scope-whole": True}).follow()
    [window] = service.vera.get(WINDOWS).json
    assert (window["scope"], window["recurring"]) == ([], None)
    assert "Everything is silent" in saved.text
    assert "It does not begin." in saved.html.select_one("#delete").text
    assert press(saved, "window.delete").headers["Location"].startswith("/maintenance?undo=")
    assert service.vera.get(WINDOWS).json == []


def test_a_window_is_cloned_with_all_that_it_has(service, browser):
    shop = monitor(service)
    first = service.otto.post_json(WINDOWS, NIGHT | {"scope": [shop], "autonomy_override": "notify"}).json
    page = browser("otto").get(f"/maintenance/{first['id']}").click("^Clone$")
    assert form(page, "create")["name"].value == f"{first['name']} (copy)"
    made = press(page, "create", name="another night").follow()
    assert made.html.h1.text.strip() == "another night"
    copy = next(row for row in service.vera.get(WINDOWS).json if row["id"] != first["id"])
    kept = ("start", "end", "recurring", "scope", "autonomy_override")
    assert [copy[name] for name in kept] == [first[name] for name in kept]
    assert "Clone" not in browser("vera").get(f"/maintenance/{first['id']}").html.main.text


def test_who_may_not_plan_sees_the_window_in_words(service, browser):
    made = service.otto.post_json(WINDOWS, NIGHT).json["id"]
    page = browser("vera").get(f"/maintenance/{made}")
    assert not page.html.select("main form")
    assert "2055-01-15 22:00" in page.text


# -- notifications


def test_without_a_channel_the_page_says_what_to_do(browser):
    page = browser("ada").get("/notifications")
    assert "nobody is told anything" in page.text
    assert page.html.select_one('#add a[href="/notifications/new?type=mail"]')


def test_a_channel_is_made_of_its_fields_and_tested(service, browser, receiver):
    ada = browser("ada")
    page = ada.get("/notifications/new")
    assert "Telegram" in page.text
    page = ada.get("/notifications/new?type=webhook")
    refused = press(page, "create-webhook", 422, name="team", **{"address.address": "hooks"})
    assert "https://" in refused.html.select_one("#create-webhook-address\\.address ~ .err").text
    made = press(refused, "create-webhook", **{"address.address": receiver.url().replace("json", "http")}).follow()
    assert made.html.h1.text.strip() == "team"
    assert "s3cr3t-token" not in made.text
    sent = press(made, "channel.test").follow()
    assert "The test message was accepted" in sent.html.select_one("[role=status]").text
    assert receiver.messages[0]["title"] == "Test message from opsapp"
    assert "Test message from opsapp" in sent.html.select_one("#sent").text
    receiver.status = 500
    failed = press(sent, "channel.test").follow()
    assert "was not accepted" in failed.html.select_one("[role=alert]").text
    assert "It has an error of its own (HTTP 500)." in failed.html.select_one("[role=alert]").text
    assert "error=500" in failed.html.select_one("main > details").text
    listed = ada.get("/notifications")
    assert "error=500" not in listed.text
    assert "Failed" in listed.html.select_one("#channels").text
    assert "Test message" in listed.html.select_one("#failed").text


def test_messages_that_cannot_lead_to_their_page_are_said_to(service, browser):
    service.ada.post_json(CHANNELS, {"name": "night", "url": "json://127.0.0.1:9/x"})
    ada = browser("ada")
    assert "web.base_url" in ada.get("/notifications").html.select_one("#without-address").text
    service.configure(WebSettings, base_url="https://ops.example.org")
    assert ada.get("/notifications").html.select_one("#without-address") is None


def test_what_goes_there_and_when_it_is_quiet_is_said_and_changed(service, browser):
    made = service.ada.post_json(CHANNELS, {"name": "night", "url": "json://127.0.0.1:9/x"}).json["id"]
    ada = browser("ada")
    page = ada.get(f"/notifications/channels/{made}")
    page = press(page, "channel.save", tags="db, web", **{"severities:info": False}).follow()
    assert "Warning and critical about db and web." in page.text
    page = press(page, "channel.quiet", **{"quiet_hours.days:sun": False}).follow()
    assert "Info and warning wait from 22:00 to 07:00 on Monday" in page.text
    channel = service.ada.get(f"{CHANNELS}/{made}").json
    assert channel["severities"] == ["warning", "critical"]
    assert "sun" not in channel["quiet_hours"]["days"]
    routes = ada.get("/notifications").html.select_one("#routes")
    assert "nobody is told" in routes.text
    assert "night (only db and web)" in routes.text
    page = press(page, "channel.loud").follow()
    assert service.ada.get(f"{CHANNELS}/{made}").json["quiet_hours"] is None
    moved = press(page, "channel.move-webhook", **{"address.address": "https://example.org/x"}).follow()
    assert service.ada.get(f"{CHANNELS}/{made}").json["service"] == "jsons"
    assert press(moved, "channel.delete").headers["Location"].startswith("/notifications?undo=")


@pytest.mark.parametrize("hours", [None, {"start": "22:00", "end": "06:00", "days": ["sat"], "severities": ["info"]}])
def test_a_channel_is_cloned_with_all_but_its_address(service, browser, hours):
    body = {"name": "night", "url": "json://127.0.0.1:9/x", "severities": ["critical"], "tags": ["db"]}
    first = service.ada.post_json(CHANNELS, body | {"quiet_hours": hours}).json
    page = browser("ada").get(f"/notifications/channels/{first['id']}").click("^Clone$")
    act = "clone-webhook-quiet" if hours else "clone-webhook"
    refused = press(page, act, 422)
    assert form(refused, act)["name"].value == "night (copy)"
    made = press(refused, act, **{"address.address": "https://example.org/y"}).follow()
    assert made.html.h1.text.strip() == "night (copy)"
    copy = next(row for row in service.ada.get(CHANNELS).json if row["id"] != first["id"])
    kept = ("severities", "tags", "digest_s", "quiet_hours", "type")
    assert [copy[name] for name in kept] == [first[name] for name in kept]


# -- first steps


def test_the_first_steps_say_what_is_done_and_what_is_left(service, browser):
    ada = browser("ada")
    page = ada.get("/first-steps")
    steps = [each.h2.text for each in page.html.select("#steps li")]
    assert steps == [
        "A password of your own",
        "A channel for notifications",
        "A monitor",
        "A host that reports",
        "A status page for others",
    ]
    assert "4 steps are left" in page.text
    monitor(service)
    service.ada.post_json(CHANNELS, {"name": "on-call", "url": "json://127.0.0.1:9/x"})
    service.ada.post_json("/api/agents", {"label": "box-1"})
    page = ada.get("/first-steps")
    assert "3 steps are left" in page.text
    assert "Send a test" in page.text
    assert "Waiting for the first report of box-1" in page.text
    assert press(page, "later").headers["Location"] == "/"
    assert service.ada.get("/api/me/settings").json["first_steps"] == "later"
    press(ada.get("/first-steps"), "again")
    assert [each.h2.text for each in browser("vera").get("/first-steps").html.select("#steps li")] == steps[:1]


def test_whoever_has_the_first_password_is_led_to_the_first_steps(service):
    made = TestApp(service.app, extra_environ={"REMOTE_ADDR": "203.0.113.9"})
    asked = made.get("/login").forms[0]
    asked["username"], asked["password"] = "admin", "first admin password"
    page = asked.submit().follow()
    assert page.request.path == "/first-steps"
    changed = press(page, "password", current="first admin password", new="a password of my own")
    assert "Only you know it." in changed.follow().text
    asked = made.get("/login").forms[0]
    asked["username"], asked["password"] = "admin", "a password of my own"
    assert asked.submit().headers["Location"] == "/"


# -- accounts


def test_a_user_is_told_apart_by_words_and_changed_in_place(service, browser):
    browser("vera"), browser("otto")
    page = browser("ada").get("/users")
    assert "never signed in" in page.text
    row = next(each for each in page.forms.values() if each.fields.get("row-username", [None])[0]
               and each["row-username"].value == "otto" and each["act"].value == "users.disable")  # fmt: skip
    after = row.submit().follow()
    assert "cannot sign in any more" in after.html.select_one("[role=status]").text
    assert service.ada.get("/api/users/otto").json["disabled"] is True
    assert "Disabled" in after.text


def test_a_secret_is_allowed_for_automations_by_their_names(service, browser):
    automation = service.ada.post_json(
        "/api/automations", {"name": "Nightly dump", "type": "script", "params": {"script": "true"}}
    ).json["id"]
    ada = browser("ada")
    page = press(ada.get("/secrets"), "create", name="db", value="hunter2-hunter2").follow()
    assert "No automation may use it." in page.text
    page = press(page, "secrets.allow", automation_id=automation).follow()
    assert "Nightly dump may use it" in page.text
    assert "hunter2" not in page.text
    service.otto.put_json(f"/api/automations/{automation}", {"params": {"script": "date"}})
    page = ada.get("/secrets")
    assert "Nightly dump was edited by somebody who is no admin" in page.text
    assert "Nightly dump may use it" in press(page, "secrets.confirm").follow().text
    page = press(ada.get("/secrets"), "secrets.take-back").follow()
    assert "No automation may use it." in page.text


def test_an_inlet_is_added_with_its_address_shown_once_and_deleted(service, browser):
    ada = browser("ada")
    page = press(ada.get("/healing/inlets"), "create", 200, name="Grafana", host="host")
    address = re.search(r"http://[^\s<]+(/api/healing/events/[0-9a-f]{64})", page.text)[1]
    service.anonymous.post_json(address, {"id": "1", "status": "firing", "target": "nowhere", "name": "Full"})
    page = ada.get("/healing/inlets")
    assert address not in page.text
    assert "1 event fires, it is about no host or monitor that is known" in page.text
    service.anonymous.post_json(address, {"id": "2"})
    refused = "Refused: 1 entry that could not be read as an event. Last reason: body status must be"
    assert refused in ada.get("/healing/inlets").text
    assert "The label host names the host, monitor names the monitor." in page.text
    page = press(page, "inlets.change", name="Grafana 2", host="box").follow()
    assert "The label box names the host, monitor names the monitor." in page.text
    sent = page.click("Grafana 2")
    assert sent.html.h1.text == "What an inlet sent", "and not the name of an event"
    assert "Full on nowhere" in sent.click(href="/incidents/").text
    page = press(page, "inlets.delete").follow()
    assert page.html.select_one(".deleted b").text == "Grafana 2"
    assert "There are no inlets" in page.text
    service.anonymous.post_json(address, {"id": "1", "status": "firing", "name": "Full"}, status=404)


def test_the_record_is_told_in_sentences_and_filtered(service, browser):
    monitor(service)
    ada = browser("ada")
    page = ada.get("/audit")
    assert "otto created the monitor Shop" in page.html.select_one("#entries").text
    assert "otto created" not in ada.get("/audit?user=ada").html.select_one("#entries").text
    assert "No entry matches" in ada.get("/audit?from=2058-01-01").text
    assert "otto created" in ada.get("/audit?from=tomorrow").html.select_one("#entries").text
    assert press(page, "verify", 200).html.find("dt", string="valid")


def test_the_record_names_what_it_is_about_whatever_else_there_is(service, browser):
    shop = monitor(service)
    for number in range(3):
        monitor(service, f"Other {number}")
    service.otto.put_json(f"/api/monitoring/endpoints/{shop}", {"interval": 300})
    page = browser("ada").get(f"/audit?target={shop}&action=monitor.update")
    assert "Shop" in page.html.select_one("#entries").text


def test_an_api_key_is_made_shown_once_and_ended(service, browser):
    otto = browser("otto")
    shown = press(otto.get("/settings"), "key", 200, name="deploys", role="viewer")
    key = shown.html.select_one("code.key").text
    headers = {"Authorization": f"Bearer {key}"}
    assert service.anonymous.get("/api/me", headers=headers).json["role"] == "viewer"
    page = otto.get("/settings")
    assert "deploys" in page.text
    assert key not in page.text
    press(page, "keys.drop")
    service.anonymous.get("/api/me", headers=headers, status=401)


def test_pages_follow_the_zone_and_the_colours_that_one_wants(service, browser):
    otto = browser("otto")
    refused = press(otto.get("/settings"), "pages", 422, timezone="Nowhere", theme="dark")
    assert refused.html.select_one("#pages-timezone ~ .err")
    page = press(refused, "pages", timezone="Asia/Tokyo").follow()
    assert page.html.html["data-theme"] == "dark"
    assert "Times are in Asia/Tokyo" in page.text
    press(page, "pages", timezone="", theme="system")
    assert service.otto.get("/api/me/settings").json["timezone"] is None


# -- the service


def test_an_admin_sees_how_the_service_stands(service, browser):
    page = browser("ada").get("/settings/service")
    assert "Open files" in page.html.select_one("#findings").text
    assert "agents.report_interval_s" in page.html.select_one("#usual").text
    assert "Every key has its usual value" in page.html.select_one("#changed").text
    browser("otto").get("/settings/service", status=403)


def test_only_what_was_shown_is_applied(service, browser):
    """Whatever has changed since, on either side, is shown first: of two people none writes over the other."""
    monitor(service)
    ada, path = browser("ada"), "/api/monitoring/endpoints"
    page = ada.get("/settings/as-code")
    assert page.html.select_one("#document button[value=apply]") is None, "nothing was shown yet"
    document = form(page, "look")["document"].value
    looked = press(page, "look", 200, document=document.replace("interval: 60", "interval: 30"))
    (shop,) = service.vera.get(path).json
    service.otto.put_json(f"{path}/{shop['id']}", {"interval": 45, "retries": 5})
    refused = press(looked, "apply", 409)
    assert "This has changed since you looked: monitors Shop: interval is 45 now" in refused.text
    assert "retries is 5 now" in refused.text
    assert refused.html.select_one("#document button[value=apply]") is None
    assert [service.vera.get(path).json[0][name] for name in ("interval", "retries")] == [45, 5]
    looked = press(refused, "look", 200)
    assert "interval: 45 30" in looked.html.select_one("#diff").text
    more = document + "windows: [{name: w, start: '2055-02-01T00:00', end: '2055-02-01T01:00'}]\n"
    other = press(looked, "apply", 409, document=more)
    assert "windows w is not there" in other.text, "another change was never shown"
    press(looked, "apply", 200, document=document.replace("interval: 60", "interval: 30"))
    assert service.vera.get(path).json[0]["interval"] == 30


def test_a_document_is_looked_at_before_it_is_made_so(service, browser):
    monitor(service)
    ada = browser("ada")
    page = ada.get("/settings/as-code")
    document = form(page, "look")["document"].value
    assert "Shop" in document
    assert configfile.parse(document, "document")[0]["monitors"][0]["interval"] == 60
    folded = page.html.select("#things details details")
    assert "Shop" in [entry.select_one("summary").text for entry in folded]
    assert any("- url: http" in entry.select_one("pre").text for entry in folded)
    looked = press(page, "look", 200, document=document.replace("interval: 60", "interval: 30"))
    assert "update monitors: Shop" in looked.html.select_one("#diff").text
    assert "interval: 60 30" in looked.html.select_one("#diff").text
    assert service.vera.get("/api/monitoring/endpoints").json[0]["interval"] == 60
    applied = press(looked, "apply", 200)
    assert "monitors: Shop updated" in applied.html.select_one("#result").get_text(" ", strip=True)
    assert applied.html.select_one("#once") is None
    assert service.vera.get("/api/monitoring/endpoints").json[0]["interval"] == 30
    more = "users: [{username: grace}]\nkeys: [{user: vera, name: ci, role: viewer}]"
    looked = press(ada.get("/settings/as-code"), "look", 200, document=more)
    assert "keys: vera/ci" in looked.html.select_one("#diff").text
    assert "/invitation/" not in looked.text
    applied = press(looked, "apply", 200)
    assert "/invitation/" in applied.html.select_one("#once").text
    assert "vera/ci" in applied.html.select_one("#result").text
    same = press(ada.get("/settings/as-code"), "look", 200)
    assert "Nothing would change" in same.text
    for text, told in (
        ('{"monitors": [{}]}', "monitors"),
        ("monitors:\n- name: a\n name: b", "This is not valid YAML: line 3"),
        ("x: " + "y" * formvalues.MOST_YAML, "characters"),
    ):
        wrong = press(ada.get("/settings/as-code"), "look", 422, document=text)
        assert told in wrong.html.select_one("main").get_text(" ", strip=True)
        assert form(wrong, "look")["document"].value == text, "nothing that was typed is lost"
