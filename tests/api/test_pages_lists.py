"""Lists: many rows changed at once, sorted by their columns, kept under a name."""

import re
from pathlib import Path

import pytest
from webtest.forms import Submit

from opsapp.auth.resources import users
from opsapp.healing.resources import healing_of
from opsapp.ui import files, pickers
from tests.support.monitoring import DOWN, UP, Lookout

MONITORS = "/api/monitoring/endpoints"


@pytest.fixture
def browser(service):
    return service.browser


def monitor(service, name, **more):
    body = {"name": name, "type": "http", "url": f"http://{name}.example/"}
    return service.otto.post_json(MONITORS, body | more).json["id"]


def add_many_users(root, number):
    for at in range(number):
        users.create(root, f"crew-{at:02}", "viewer", "", at)


def names_of_users(page):
    return [cell.text for cell in page.html.select("#users tbody .own b")]


def choose(page, part, act, *keys):
    """The rows with these keys ticked, and the button of the act pressed."""
    form = page.forms[f"many-{part}"]
    for key in keys:
        form[f"pick:{key}"].checked = True
    return form.submit("do", value=f"{part}.{act}")


def names(page):
    return [cell.text for cell in page.html.select("tbody td:first-child > a")]


def test_many_are_paused_after_the_page_says_what_that_means(service, browser):
    ids = [monitor(service, name) for name in ("shop", "mail", "wiki")]
    asked = choose(browser("otto").get("/monitors"), "monitors", "pause", *ids[:2])
    assert "They are not checked any more" in asked.text
    assert [row.text for row in asked.html.select("main .plainlist li")] == ["mail", "shop"]
    assert service.otto.get(f"{MONITORS}/{ids[0]}").json["enabled"] is True, "nothing is done before it is said"
    done = asked.forms["many"].submit()
    assert "All 2 done." in done.text
    assert [service.otto.get(f"{MONITORS}/{each}").json["enabled"] for each in ids] == [False, False, True]


def test_a_row_that_is_refused_stops_no_other(service, browser):
    shop, mail = monitor(service, "shop"), monitor(service, "mail")
    asked = choose(browser("ada").get("/monitors"), "monitors", "delete", shop, mail)
    assert "You can undo it for a minute" in asked.text
    service.ada.delete(f"{MONITORS}/{mail}")
    done = asked.forms["many"].submit()
    assert "1 of 2 done. 1 could not be done" in done.text
    rows = [[cell.text.strip() for cell in row.select("td")] for row in done.html.select("#outcomes tbody tr")]
    assert rows[0][0] == "mail"
    assert rows[0][1].startswith("Not done")
    assert rows[1][0] == "shop"
    assert rows[1][1].split() == ["Done", "Undo", "the", "deletion", "of", "shop"]
    service.otto.get(f"{MONITORS}/{shop}", status=404)


def test_what_more_is_needed_is_asked_with_the_rows(service, browser):
    shop, mail = monitor(service, "shop", tags=["old"]), monitor(service, "mail")
    asked = choose(browser("otto").get("/monitors"), "monitors", "interval", shop, mail)
    asked.forms["many"]["interval"] = "soon"
    again = asked.forms["many"].submit(status=422)
    assert "write it like 30 s" in again.html.select_one("main .err").text
    assert again.forms["many"]["interval"].value == "soon"
    asked.forms["many"]["interval"] = "1 s"
    refused = asked.forms["many"].submit()
    assert "2 could not be done" in refused.text
    entries = service.ada.get("/api/audit").json
    assert [row["target"] for row in entries if row["result"] == "refused"] == [shop, mail]
    asked.forms["many"]["interval"] = "120"
    assert "All 2 done." in asked.forms["many"].submit().text
    assert {service.otto.get(f"{MONITORS}/{each}").json["interval"] for each in (shop, mail)} == {120}


def test_a_calm_act_is_done_at_once_and_not_twice(service, browser):
    shop = monitor(service, "shop", enabled=False)
    page = browser("otto").get("/monitors?q=shop")
    done = choose(page, "monitors", "resume", shop)
    assert "Done." in done.text
    assert done.html.select_one("main a.btn.first")["href"] == "/monitors?q=shop"
    assert "already-sent" in choose(page, "monitors", "resume", shop).location


def test_without_a_chosen_row_the_page_says_so(service, browser):
    monitor(service, "shop")
    assert "Nothing was chosen" in choose(browser("otto").get("/monitors"), "monitors", "resume").text


def test_all_of_a_page_are_chosen_without_script(service, browser):
    monitor(service, "shop")
    monitor(service, "mail")
    page = browser("otto").get("/monitors?q=shop")
    chosen = page.click("Choose all on this page")
    ticks = [field for name, (field, *_) in chosen.forms["many-monitors"].fields.items() if name.startswith("pick:")]
    assert [tick.checked for tick in ticks] == [True]


def test_what_may_be_done_to_rows_stands_below_the_rows_that_can_be_chosen(service, browser):
    lookout = Lookout(service)
    lookout.watch_through((UP, 60), (DOWN, 60), name="Shop")
    section = browser("otto").get("/incidents").html.select_one("input.pick").find_parent("section")
    assert section.select_one("form.many")


def test_who_may_change_nothing_chooses_nothing(service, browser):
    shop = monitor(service, "shop")
    page = browser("vera").get("/monitors")
    assert page.html.select(".pick, .many") == []
    token = page.html.select_one("meta[name=csrf-token]")["content"]
    sent = {"csrf_token": token, "act": "many", "do": "monitors.pause", "sure": "1", f"pick:{shop}": "shop"}
    page.test_app.post("/monitors", sent, status=403)
    assert service.otto.get(f"{MONITORS}/{shop}").json["enabled"] is True


def test_an_act_that_is_for_one_row_only_is_not_for_many(service, browser):
    sent = {"act": "many", "do": "monitors.create", "sure": "1", "pick:x": "x"}
    otto = browser("otto")
    sent["csrf_token"] = otto.get("/monitors").html.select_one("meta[name=csrf-token]")["content"]
    otto.post("/monitors", sent, status=404)


@pytest.mark.parametrize("path", ["/agents", "/automations", "/healing/rules"])
def test_other_lists_have_the_same(service, browser, path):
    service.ada.post_json("/api/agents", {"label": "box", "tags": []})
    service.otto.post("/api/automations/templates/memory/apply")
    page = browser("ada").get(path)
    assert page.html.select(".pick")
    assert page.html.select("form.many button")
    assert page.html.select("th a[href*='sort=']")


def test_columns_sort_both_ways_and_what_is_unknown_stands_last(service, browser):
    for name in ("bravo", "Alpha", "charlie"):
        monitor(service, name)
    otto = browser("otto")
    page = otto.get("/monitors?sort=name")
    assert names(page) == ["Alpha", "bravo", "charlie"]
    assert page.html.select_one("th[aria-sort]")["aria-sort"] == "ascending"
    back = page.click("^Name$")
    assert names(back) == ["charlie", "bravo", "Alpha"]
    assert back.html.select_one("th[aria-sort]")["aria-sort"] == "descending"
    assert names(otto.get("/monitors?sort=-response")) == names(otto.get("/monitors?sort=response")), "none is measured"


def test_automations_hosts_and_rules_are_sorted_by_the_api(service):
    for name in ("beta", "Alpha"):
        service.ada.post_json("/api/agents", {"label": name, "tags": []})
        service.otto.post_json("/api/automations", {"name": name, "type": "notification", "params": {"title": "x"}})
    ada = service.ada
    assert [row["label"] for row in ada.get("/api/agents/figures?sort=-label").json] == ["beta", "Alpha"]
    assert len(ada.get("/api/agents/figures?sort=-cpu_percent").json) == 2
    assert [row["name"] for row in ada.get("/api/automations?sort=-name").json] == ["beta", "Alpha"]
    severities = [row["severity"] for row in ada.get("/api/healing/rules?sort=severity").json]
    assert severities == sorted(severities, key=("critical", "error", "warning", "info").index)
    assert all("memory" in str(row) for row in ada.get("/api/healing/rules?q=memory").json)
    ada.get("/api/healing/rules?sort=nothing", status=422)


def test_a_list_is_kept_found_by_its_name_and_forgotten(service, browser):
    monitor(service, "shop", tags=["web"])
    otto = browser("otto")
    page = otto.get("/monitors?tag=web&sort=name")
    form = next(
        each for each in page.forms.values() if each.get("act", default=None) and each["act"].value == "keep-filter"
    )
    form["name"] = "Web by name"
    kept = form.submit().follow()
    assert kept.request.query_string.startswith("tag=web&sort=name")
    link = otto.get("/monitors").html.select_one(".keep a")
    assert (link.text, link["href"]) == ("Web by name", "/monitors?tag=web&sort=name")
    assert "Web by name" in otto.get("/find?q=by+name").text
    assert browser("ada").get("/monitors").html.select(".keep") == [], "what one keeps is one's own"
    page = otto.get("/monitors")
    next(each for each in page.forms.values() if "row-filter_id" in each.fields).submit()
    assert service.otto.get("/api/me/filters").json == []


def test_saved_filters_are_bounded_and_named_once(service):
    made = {"name": "mine", "path": "/monitors", "query": "q=a"}
    first = service.otto.post_json("/api/me/filters", made).json["id"]
    second = service.otto.post_json("/api/me/filters", made | {"query": "q=b"}).json["id"]
    assert [row["id"] for row in service.otto.get("/api/me/filters").json] == [second], "the name is used again"
    service.otto.delete(f"/api/me/filters/{first}", status=404)
    for number in range(49):
        service.otto.post_json("/api/me/filters", made | {"name": str(number)})
    assert (
        service.otto.post_json("/api/me/filters", made | {"name": "more"}, status=409).json["code"]
        == "too_many_filters"
    )
    for wrong in ({"path": "//evil.example"}, {"path": "https://x"}, {"query": ""}, {"query": "a b"}):
        service.otto.post_json("/api/me/filters", made | wrong, status=422)


def test_users_are_disabled_together(service, browser):
    assert [someone.get("/api/me").json["role"] for someone in (service.otto, service.vera)] == ["operator", "viewer"]
    asked = choose(browser("ada").get("/users"), "users", "disable", "otto", "vera")
    done = asked.forms["many"].submit()
    assert "All 2 done." in done.text
    assert [service.ada.get(f"/api/users/{who}").json["disabled"] for who in ("otto", "vera")] == [True, True]


def test_open_incidents_are_taken_together(service, browser):
    lookout = Lookout(service)
    shops = [lookout.add(name=name, retries=0) for name in ("shop", "mail")]
    lookout.sees = dict.fromkeys(shops, DOWN)
    lookout.run(60, step=5)
    rows = service.otto.get("/api/monitoring/incidents?status=open").json
    page = browser("otto").get("/incidents")
    done = choose(page, "incidents", "take", *(row["id"] for row in rows))
    assert "All 2 done." in done.text
    owners = {row["acknowledged_by"] for row in service.otto.get("/api/monitoring/incidents").json}
    assert owners == {"otto"}


def test_of_two_thousand_a_window_names_what_it_covers(service, browser):
    ids = [monitor(service, f"shop-{number:02}") for number in range(45)]
    box = service.ada.post_json("/api/agents", {"label": "box", "tags": []}).json["agent_id"]
    otto = browser("otto")
    asked = form_with(otto.get("/maintenance/new"), "create")
    assert asked["scope"].attrs["list"], "45 are too many for ticks"
    asked["name"], asked["scope"] = "patch night", "shop-07, Box, shop"
    refused = asked.submit("act", value="create", status=422)
    assert "There is no monitor or host called shop," in refused.html.select_one("main .err").text
    asked = form_with(refused, "create")
    assert asked["scope"].value == "shop-07, Box, shop"
    asked["scope"] = "shop-07, Box"
    made = asked.submit("act", value="create", status=303).follow()
    [window] = service.otto.get("/api/maintenance").json
    assert window["scope"] == [ids[7], box]
    again = form_with(made, "window.save")
    assert again["scope"].value == "shop-07, box"
    again["scope"] = f"{ids[8]}"
    again.submit("act", value="window.save", status=303)
    assert service.otto.get("/api/maintenance").json[0]["scope"] == [ids[8]]


def suggest(service, *rows):
    def put(root):
        for number, (category, severity) in enumerate(rows):
            healing_of(root)["suggestions"].suggest(
                category, severity, f"Look {number}.", rule_id="r", evidence=str(number), now=number
            )

    service.transact(put)


def test_users_have_pages_and_an_order(service, browser):
    service.transact(add_many_users, 60)
    browser("otto")
    ada = browser("ada")
    page = ada.get("/users?q=crew")
    assert names_of_users(page) == [f"crew-{n:02}" for n in range(20)], "each has seven forms"
    assert "1–20 of 60" in page.text
    page = page.click("Next page").click("Next page")
    assert names_of_users(page) == [f"crew-{n:02}" for n in range(40, 60)]
    assert names_of_users(page.click("Previous page")) == [f"crew-{n:02}" for n in range(20, 40)]
    assert names_of_users(page.click("^Name$"))[0] == "crew-59"
    assert names_of_users(ada.get("/users?sort=-role"))[0] == "ada", "admins have the highest role"
    assert names_of_users(ada.get("/users?role=operator")) == ["otto"]
    assert "No user fits" in ada.get("/users?q=nobody").text
    listed = service.ada.get("/api/users?q=CREW-0&sort=-created_at&limit=2")
    assert (listed.headers["X-Total-Count"], len(listed.json)) == ("10", 2)
    assert [row["username"] for row in service.otto.get("/api/people?q=crew-5&limit=1").json] == ["crew-50"]
    service.ada.get("/api/users?sort=password_hash", status=422)


def test_suggestions_have_pages_an_order_and_their_kinds(service, browser):
    suggest(service, *[("recurring_issue", "warning"), ("anomaly", "info")] * 30)
    otto = browser("otto")
    page = otto.get("/healing/suggestions")
    assert "1–50 of 60" in page.text
    assert len(page.html.select("#suggestions li")) == 50
    assert len(page.click("Next page").html.select("#suggestions li")) == 10
    assert page.html.select_one("nav[aria-label=Order] a[aria-current]").text == "Newest"
    chips = {chip.text for chip in page.click("Gravest").html.select("#suggestions li .chip")[:30]}
    assert chips == {"Comes back"}
    form = next(form for form in page.forms.values() if "category" in form.fields)
    form["category"] = "anomaly"
    assert {chip.text for chip in form.submit().html.select("#suggestions li .chip")} == {"Unusual"}
    assert "No suggestion fits" in otto.get("/healing/suggestions?category=dependency_doubt").text
    service.otto.get("/api/healing/suggestions?category=nothing", status=422)


@pytest.mark.parametrize("path", ["/healing/ledger", "/healing/problems", "/healing/suggestions"])
def test_a_rule_is_chosen_by_its_name(service, browser, path):
    offered = [option["value"] for option in browser("otto").get(path).html.select("select[name=rule_id] option")]
    assert offered[0] == ""
    assert offered[1:] == [row["id"] for row in service.otto.get("/api/healing/rules").json]


def test_of_many_users_and_channels_the_name_is_typed_with_help(service, browser):
    service.transact(add_many_users, 60)
    made = service.otto.post_json("/api/automations", {"name": "x", "type": "notification", "params": {"title": "x"}})
    approvers = browser("otto").get(f"/automations/{made.json['id']}/edit").html.select_one("input[name=approvers]")
    assert (approvers["data-of"], approvers["data-by"]) == ("user", "username")
    script = (Path(files.__file__).parent / "static/fields.js").read_text()
    for kind, pickable in pickers.KINDS.items():
        assert re.search(rf'{kind}: \[\["{pickable.source}", "{pickable.name}"\]', script), "script offers every kind"
        assert service.ada.get(f"{pickable.source}?q=no-such-name&limit=1").json == []


def test_a_form_asks_for_no_more_rows_than_it_shows(service, browser, monkeypatch):
    ids = [monitor(service, f"shop-{number:02}") for number in range(60)]
    window = {"name": "night", "start": "2100-01-01T00:00", "end": "2100-01-01T02:00", "autonomy_override": "disabled"}
    made = service.otto.post_json("/api/maintenance", window | {"scope": ids[:3]}).json["id"]
    asked = []
    real = pickers.ask
    monkeypatch.setattr(pickers, "ask", lambda request, method, path, query="": asked.append((path, query)) or real(
        request, method, path, query))  # fmt: skip
    form = form_with(browser("otto").get(f"/maintenance/{made}"), "window.save")
    assert form["scope"].value == "shop-00, shop-01, shop-02"
    assert not [query for _, query in asked if "limit=1000" in query]
    monkeypatch.setattr(pickers, "MOST", 25)
    service.otto.put_json(f"/api/maintenance/{made}", {"scope": ids})
    form = form_with(browser("otto").get(f"/maintenance/{made}"), "window.save")
    assert form["scope"].value.split(", ") == [f"shop-{number:02}" for number in range(60)], "page by page"


def form_with(page, act):
    """The form with a button for this act."""
    for each in page.forms.values():
        buttons = [field for field in each.fields.get("act", ()) if isinstance(field, Submit)]
        if act in [button.value_if_submitted() for button in buttons]:
            return each
    raise AssertionError(f"there is no {act}")


def test_the_list_of_rules_names_what_each_is_for(service, browser):
    shop = monitor(service, "shop")
    box = service.ada.post_json("/api/agents", {"label": "box-1"}).json["agent_id"]
    rule = {
        "id": "r",
        "condition": 'status == "down"',
        "action": {"type": "webhook", "params": {"url": "http://a.example/"}},
    }
    rule["targets"] = {"agents": [box, "tag:eu", "box-7"], "monitors": [shop]}
    service.ada.post_json("/api/healing/rules", rule)
    page = browser("vera").get("/healing/rules")
    assert [cell.text for cell in page.html.select("#rules td[data-l=Where]") if "tag:eu" in cell.text] == [
        "box-1, tag:eu, box-7, shop"
    ]
