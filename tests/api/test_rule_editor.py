"""A rule is written on its page: nothing is lost while it is a draft, the API says what it would do, and saves it."""

import pytest

from opsapp.healing.engine import rehearsals
from opsapp.healing.records import RuleSettings
from opsapp.runtime import serieswork
from opsapp.ui import words
from opsapp.ui.shapes.ruledraft import of_form, of_rule, rule_of
from opsapp.wire.records import made

NEW = "/healing/rules/new"


@pytest.fixture
def editor(service):
    return lambda who="ada": service.browser(who)


def sent(browser, page, status=200, **values):
    """The form of the page as a button sends it: its fields, some of them changed, and the button's own."""
    fields = dict(page.forms["rule"].submit_fields())
    return browser.post(page.request.path, {**fields, **values}, status=status)


def steps_of(page):
    return [each["value"] for each in page.html.select("ol.chain > li > input")]


@pytest.mark.shared
def test_steps_are_added_moved_and_taken_away_and_nothing_is_lost(editor):
    ada = editor()
    page = sent(ada, ada.get(NEW), condition="cpu_percent > 90", id="hot", do="add", new_action="nice_adjust")
    page = sent(ada, page, do="add", new_action="clear_cache", **{"step-0.top": "cpu"})
    assert steps_of(page) == ["nice_adjust", "clear_cache"]
    page = sent(ada, page, do="up-1")
    assert steps_of(page) == ["clear_cache", "nice_adjust"]
    form = page.forms["rule"]
    assert (form["id"].value, form["condition"].value, form["step-1.top"].value) == ("hot", "cpu_percent > 90", "cpu")
    page = sent(ada, sent(ada, page, do="down-0"), do="remove-0")
    assert steps_of(page) == ["clear_cache"]
    assert steps_of(sent(ada, page, do="remove-9")) == ["clear_cache"]


@pytest.mark.shared
def test_what_is_wrong_stands_beside_its_field(editor):
    ada = editor()
    page = sent(ada, ada.get(NEW), condition="cpu_percent >", id="Hot!", do="add", new_action="nice_adjust")
    page = sent(ada, page, do="try", **{"step-0.top": "cpu", "step-0.priority": "99"})
    assert page.html.select_one("#condition-wrong").text
    refused = sent(ada, page, 422, do="save", condition="cpu_percent > 90")
    assert "between -20 and 19" in refused.html.select_one("ol.chain .err").text
    assert refused.html.select_one("#id-wrong")
    assert refused.forms["rule"]["step-0.priority"].value == "99"
    assert ada.get("/api/healing/rules/Hot!", status=404)


def test_a_rule_is_tried_saved_and_edited(service, editor):
    ada = editor()
    page = sent(ada, ada.get(NEW), condition="cpu_percent > 90", id="hot", do="add", new_action="webhook")
    page = sent(ada, page, do="try", agents="tag:web, box", **{"step-0.url": "http://127.0.0.1:9/x", "for": "5m"})
    assert "no host or monitor reports" in page.html.select_one("#try").text
    saved = sent(ada, page, 303, do="save")
    assert saved.headers["Location"] == "/healing/rules/hot"
    rule = service.vera.get("/api/healing/rules/hot").json
    assert rule["escalation_chain"] == [{"action": "webhook", "params": {"url": "http://127.0.0.1:9/x"}}]
    assert (rule["targets"], rule["for"]) == ({"agents": ["tag:web", "box"], "monitors": []}, "5m")
    page = sent(ada, ada.get("/healing/rules/hot"), do="try", **{"for": "10m"})
    assert "Draft, not saved" in page.html.select_one(".head").text
    assert "The saved rule: 0." in page.html.select_one("#past").text
    sent(ada, page, 303, do="save")
    assert service.vera.get("/api/healing/rules/hot").json["for"] == "10m"


def test_a_draft_is_tried_on_the_past_before_it_is_saved(service, editor, monkeypatch):
    """An hour of load, yesterday; nothing before the host was there."""
    made = service.ada.post_json("/api/agents", {"label": "web", "tags": []}).json
    headers, begin = {"X-Agent-Key": made["key"]}, service.clock.now()
    for at in range(0, 4 * 3600, 30):
        cpu = 97.0 if 3600 <= at < 7200 else 20.0
        report = {"hostname": "box-1", "os": "linux", "cpu_percent": cpu}
        service.anonymous.post_json(f"/api/agents/{made['agent_id']}/report", report, headers=headers)
        service.clock.advance(30)
        if at % 3600 == 0:
            serieswork.flush(service.node)
    serieswork.flush(service.node)
    service.tokens.clear()
    otto = editor("otto")
    page = sent(otto, otto.get(NEW), condition="cpu_percent > 90", do="add", new_action="clear_cache")
    page = sent(otto, page, do="past", cooldown_s="1h", **{"for": "5m"})
    shown = page.html.select_one("#whatif")
    assert "In 7 days it would have fired once, on one target." in shown.text
    assert "nothing was measured: unknown" in shown.text
    assert "What acting would have saved is unknown: no trial" in shown.text
    [firing] = shown.select("li")
    link = firing.select_one("a")["href"]
    assert link.startswith(f"/agents/{made['agent_id']}?from={words.machine(begin)}&to="), "from an hour before"
    otto.get(link)
    assert firing.select_one("time")["datetime"] == words.machine(begin + 3600 + 300)
    assert "lasted 60 min; only told: its level does not act yet" in firing.text
    assert shown.select_one("svg.bars")["aria-label"] == "box-1: would have fired: once"
    assert page.forms["rule"]["condition"].value == "cpu_percent > 90"
    monkeypatch.setattr(rehearsals, "MOST_FIRINGS", 0)
    refused = sent(otto, page, do="past")
    assert "too often" in refused.html.select_one("#condition-wrong").text
    assert refused.forms["rule"]["for"].value == "5m"
    assert otto.get("/api/healing/rules").json == service.vera.get("/api/healing/rules").json


@pytest.mark.shared
def test_of_what_is_not_kept_the_past_is_unknown(editor):
    otto = editor("otto")
    page = sent(otto, otto.get(NEW), condition='service.nginx.state == "failed"', do="past")
    assert "Add a step first" in page.html.select_one("#whatif").text
    page = sent(otto, page, do="add", new_action="restart_service")
    shown = sent(otto, page, do="past").html.select_one("#whatif").text
    assert "unknown" in shown
    assert "No history is kept of service.nginx.state" in shown
    wrong = sent(otto, page, do="past", condition="cpu_percent >")
    assert "Mend what is wrong first" in wrong.html.select_one("#whatif").text


def test_a_form_that_is_sent_twice_saves_once(service, editor):
    ada = editor()
    page = sent(ada, ada.get(NEW), condition="cpu_percent > 90", do="add", new_action="clear_cache")
    fields = {**dict(page.forms["rule"].submit_fields()), "do": "save"}
    made = ada.post(NEW, fields, status=303).headers["Location"]
    again = ada.post(NEW, fields, status=303)
    assert again.headers["Location"] == f"{made}?said=already-sent"
    assert "already sent" in again.follow().text
    assert len([rule for rule in service.vera.get("/api/healing/rules").json if rule["source"] == "api"]) == 1


@pytest.mark.shared
def test_a_rule_that_is_there_already_is_said(editor):
    ada = editor()
    page = sent(ada, ada.get(NEW), condition="cpu_percent > 90", id="default-cpu", do="add", new_action="clear_cache")
    assert "exists already" in sent(ada, page, 422, do="save").html.select_one("[role=alert]").text


@pytest.mark.shared
def test_operators_try_and_viewers_read(editor):
    otto, vera = editor("otto"), editor("vera")
    page = otto.get("/healing/rules/default-cpu")
    assert [button.text for button in page.html.select(".head button")] == ["Try it", "Try it on the past"]
    assert "dry run of this draft" in sent(otto, page, do="try").text
    sent(otto, page, 403, do="save")
    read = vera.get("/healing/rules/default-cpu").html
    assert read.select(".head button") == []
    assert "Operators and admins can try" in read.select_one("#try").text
    fields = read.select("#rule .in, #rule [type=checkbox]")
    assert fields
    assert all(field.find_parent("fieldset", disabled=True) for field in fields), (
        "what one may not change is not typed in"
    )
    vera.get("/healing/rules/new", status=403)


@pytest.mark.parametrize("rule_id", ["default-cpu", "default-disk", "default-dns"])
@pytest.mark.shared
def test_a_rule_that_was_only_looked_at_is_the_same(service, editor, rule_id):
    """Saved without a change, a rule keeps what it does, and so its trust."""
    before = service.vera.get(f"/api/healing/rules/{rule_id}").json
    ada = editor()
    sent(ada, ada.get(f"/healing/rules/{rule_id}"), 303, do="save")
    after = service.vera.get(f"/api/healing/rules/{rule_id}").json
    changed = {name for name in before if before[name] != after[name]} - {"source", "updated_at"}
    assert changed == set()


def test_a_rule_of_one_action_stays_one():
    rule = {
        "condition": "cpu_percent > 90", "severity": "error", "action": {"type": "restart_service", "target": "box",
        "params": {"service": "nginx"}}, "escalation_chain": [], "targets": None, "for": 0, "settle_s": 7,
        "verify_timeout_s": None, "cooldown_s": 60, "trust_ceiling": "execute", "initial_level": "notify",
        "enabled": False, "description": "",
    }  # fmt: skip
    body = rule_of(of_rule(made(RuleSettings, rule)))
    assert (body["action"], body["escalation_chain"], body["enabled"]) == (rule["action"], [], False)


def test_values_go_as_the_type_of_their_parameter():
    form = {"steps": "2", "step-0": "storage_cleanup", "step-0.targets": "apt, docker", "step-1": "webhook",
            "step-1.body": "{no json", "step-1.url": "http://x.example/", "condition": "a > 1"}  # fmt: skip
    chain = rule_of(of_form(form))["escalation_chain"]
    assert chain[0]["params"] == {"targets": ["apt", "docker"]}
    assert chain[1]["params"] == {"body": "{no json", "url": "http://x.example/"}


def test_how_long_it_waits_and_how_many_are_left_alone_are_fields(service, editor):
    ada = editor()
    page = sent(ada, ada.get(NEW), condition="cpu_percent > 90", id="hot", do="add", new_action="nice_adjust")
    refused = sent(ada, page, 422, do="save", wait="learned", holdout="0.9")
    assert refused.html.select_one("#holdout-wrong")
    assert refused.forms["rule"]["holdout"].value == "0.9"
    sent(ada, refused, 303, do="save", holdout="0.25", **{"step-0.top": "cpu"})
    rule = service.vera.get("/api/healing/rules/hot").json
    assert (rule["wait"], rule["holdout"]) == ("learned", {"share": 0.25})
    page = ada.get("/healing/rules/hot")
    assert (page.forms["rule"]["wait"].checked, page.forms["rule"]["holdout"].value) == (True, "0.25")
    page.forms["rule"]["wait"].checked = False
    sent(ada, page, 303, do="save", holdout="")
    rule = service.vera.get("/api/healing/rules/hot").json
    assert (rule["wait"], rule["holdout"]) == (None, None)


@pytest.mark.shared
def test_a_rule_is_cloned_under_a_name_of_its_own(service, editor):
    ada, source = editor(), service.vera.get("/api/healing/rules/default-disk").json
    page = ada.get("/healing/rules/default-disk").click("Clone")
    assert page.forms["rule"]["id"].value == "default-disk-copy"
    saved = sent(ada, page, 303, do="save", id="disk-of-ours")
    assert saved.headers["Location"] == "/healing/rules/disk-of-ours"
    copy = service.vera.get("/api/healing/rules/disk-of-ours").json
    for name in ("condition", "escalation_chain", "severity", "for", "targets"):
        assert copy[name] == source[name], name
    assert service.vera.get("/api/healing/rules/default-disk").json == source
    ada.get("/healing/rules/nothing/clone", status=404)
    editor("otto").get("/healing/rules/default-disk/clone", status=403)


@pytest.mark.shared
def test_a_comparison_is_picked_and_stands_in_the_text(editor):
    ada = editor()
    page = ada.get(NEW)
    assert page.html.select_one("#pick_join") is None
    page = sent(ada, page, do="build", pick_reading="disk.*.percent", pick_is=">", pick_value="95", **{"for": "5m"})
    form = page.forms["rule"]
    assert (form["condition"].value, form["for"].value, form["pick_value"].value) == ("disk.*.percent > 95", "5m", "")
    page = sent(ada, page, do="build", pick_join="or", pick_reading="load1", pick_is=">", pick_value="much")
    assert page.forms["rule"]["condition"].value == "disk.*.percent > 95"
    assert page.forms["rule"]["pick_value"].value == "much"
    assert "must be a number" in page.html.select_one("#build-wrong").text
    page = sent(ada, page, do="build", pick_join="or", pick_value="8")
    assert page.forms["rule"]["condition"].value == "disk.*.percent > 95 or load1 > 8"
    page = sent(ada, page, do="add", new_action="clear_cache", id="picked")
    sent(ada, page, 303, do="save")
    assert ada.get("/api/healing/rules/picked").json["condition"] == "disk.*.percent > 95 or load1 > 8"


@pytest.mark.shared
def test_who_only_reads_is_offered_no_comparison(editor):
    assert editor("vera").get("/healing/rules/default-disk").html.select_one("#build") is None
