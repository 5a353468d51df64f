"""The overview, incidents, the war room and approvals as people of each role see them, empty and filled."""

import re

import pytest
from webtest import TestApp

from opsapp.auth.cookies import SESSION
from opsapp.healing.health_answers import Health
from opsapp.runtime import serieswork
from opsapp.ui.sentences import said
from opsapp.ui.shapes import healing, incidents
from opsapp.ui.shapes.incidents import TimelineItem, folded
from opsapp.wire.records import made
from tests.support.monitoring import DOWN, UP, Lookout
from tests.support.process import ROOT

from .test_agents import Polling


@pytest.fixture
def lookout(service):
    return Lookout(service)


def page(service, path, who="otto", headers_more=(), **options):
    client = service.client(who)
    signed_in = {"Cookie": f"{SESSION}={client.authorization[1]}", **dict(headers_more)}
    return service.anonymous.get(path, headers=signed_in, **options)


def test_a_new_installation_says_what_to_do(service):
    shown = page(service, "/")
    assert shown.html.h1.text == "Nothing is watched yet."
    assert "Add a monitor" in shown.text
    assert "All 0" not in shown.text
    assert shown.html.select_one('#standing a.btn[href="/monitors/new"]')
    viewer = page(service, "/", "vera")
    assert not viewer.html.select("#standing a.btn")
    assert "Operators and admins add monitors" in viewer.text


def test_when_all_is_well_it_says_so(lookout):
    for name in ("Shop", "Search"):
        lookout.sees[lookout.add(name=name, retries=0)] = UP
    lookout.run(5)
    serieswork.flush(lookout.service.node)
    shown = page(lookout.service, "/")
    assert shown.html.h1.text == "All 2 monitors are up."
    assert "Nothing is wrong" in shown.html.find(id="wrong").text


def test_what_is_unknown_is_never_counted_as_well(lookout):
    lookout.sees[lookout.add(name="Shop", retries=0)] = UP
    lookout.run(5)
    lookout.service.clock.advance(4000)
    shown = page(lookout.service, "/")
    assert shown.html.h1.text == "1 unknown."
    assert "Nothing is wrong" not in shown.html.find(id="wrong").text


def test_what_nobody_has_looked_at_yet_is_not_called_well(lookout):
    lookout.add(name="Shop")
    shown = page(lookout.service, "/")
    assert shown.html.h1.text == "Nothing is known: 1 not checked yet."
    assert "Nothing is wrong" not in shown.html.find(id="wrong").text


def test_what_is_wrong_comes_with_what_hangs_on_it_and_is_taken_in_place(lookout):
    service = lookout.service
    ids = {name: lookout.add(name=name, retries=0) for name in ("Shop", "Database", "Well")}
    entries = [{"target": "Shop", "depends_on": ["Database"]}, {"target": "Database"}]
    service.ada.put_json("/api/healing/dependencies", {"dependencies": entries})
    lookout.sees |= {ids["Shop"]: DOWN, ids["Database"]: DOWN, ids["Well"]: UP}
    lookout.run(5)
    shown = page(service, "/")
    assert shown.html.h1.text == "2 down by one cause."
    wrong = shown.html.find(id="wrong")
    (article,) = wrong.find_all("article")
    assert article.h3.text.startswith("Database")
    assert "Shop" in article.find(class_="under").text
    assert "Nobody has it" in article.text
    assert "I take it" not in page(service, "/", "vera").text
    feed = shown.html.find(id="feed").text
    assert "Database went down: HTTP 500." in feed


def press(service, who, path, act, **fields):
    """Send the form of a page that is this act, as a browser would."""
    browser = TestApp(service.app)
    browser.set_cookie(SESSION, service.client(who).authorization[1])
    shown = browser.get(path)
    for form in shown.forms.values():
        offered = [value for field in form.fields.get("act", ()) for value in (field._value,)]
        if act in offered:
            for name, value in fields.items():
                form[name] = value
            return form.submit("act", value=act) if len(offered) > 1 else form.submit()
    raise AssertionError(f"no form for {act}")


def titles(shown):
    return [each.h3.text for each in shown.html.find(class_="tl").find_all("li")]


def broken(lookout, name="Shop", **settings):
    monitor_id = lookout.add(name=name, retries=0, **settings)
    lookout.sees[monitor_id] = DOWN
    lookout.tick()
    return monitor_id, lookout.incidents(f"monitor_id={monitor_id}")[0]["id"]


def test_an_incident_is_taken_and_written_about_in_its_war_room(lookout):
    service = lookout.service
    _, incident_id = broken(lookout, tags=["public"])
    place = f"/incidents/{incident_id}"
    assert press(service, "otto", place, "room.take").status_int == 303
    assert (
        press(
            service, "otto", place, "room.update", message="The disk is full", stage="identified", public="false"
        ).status_int
        == 303
    )
    (taken, said) = service.vera.get(f"/api/monitoring/incidents/{incident_id}").json["updates"]
    assert (taken["stage"], said["message"], said["public"]) == ("acknowledged", "The disk is full", False)
    shown = page(service, place, "vera")
    assert shown.html.h1.text == "Shop is down"
    timeline = titles(shown)
    assert timeline == [
        "otto wrote, for people here: the cause has been identified.",
        "otto acknowledged Shop.",
        "Shop went down: HTTP 500.",
    ]
    assert shown.html.find(id="say") is None
    assert titles(page(service, f"{place}?show=acts")) == timeline[2:]
    drafted = page(service, f"{place}?template=monitoring").html.find(id="say")
    assert drafted.textarea.text.strip() == "Shop works again. We keep watching it."
    assert drafted.find("input", checked=True)["value"] == "monitoring"


def test_a_long_timeline_is_folded_after_its_newest_entries(lookout):
    lookout.sees[lookout.add(name="Shop", retries=0)] = DOWN
    lookout.run(5)
    place = f"/incidents/{lookout.incidents()[0]['id']}"
    for number in range(45):
        note = {"stage": "investigating", "message": f"look {number}"}
        lookout.service.otto.post_json(f"/api/monitoring{place}/updates", note)
        lookout.service.clock.advance(1)
    timeline = page(lookout.service, place).html.select_one("#timeline")
    assert "look 44" in timeline.select_one("ol.tl li").text
    assert [len(each.select("li")) for each in timeline.select("ol.tl")] == [40, 6]
    assert "6 earlier entries" in timeline.details.summary.text


def test_what_waits_for_a_decision_is_never_folded():
    plain, asks = (TimelineItem(0, "", "", said(0, ""), ask=ask) for ask in (None, object()))
    shown = folded([plain] * 60 + [asks] + [plain] * 9)
    assert [len(shown[name]) for name in ("items", "earlier")] == [61, 9]


def test_a_war_room_shows_how_it_was_before_and_after(lookout):
    monitor_id = lookout.add(name="Shop", retries=0)
    lookout.sees[monitor_id] = UP
    lookout.run(200, step=60)
    lookout.sees[monitor_id] = DOWN
    lookout.run(120, step=60)
    serieswork.flush(lookout.service.node)
    place = f"/incidents/{lookout.incidents()[0]['id']}"
    shown = page(lookout.service, place).html.find(id="moment")
    assert shown.select_one("svg[aria-label^='Response time']")["aria-label"].endswith(
        "95 % within between 12 ms and 12 ms"
    )
    assert shown.select(".b-down"), "what was down tints all lanes"
    assert shown.select(".data tbody td")[-1].text == "down"
    part = page(lookout.service, place, headers_more={"X-Part": "moment-at"})
    assert "<html" not in part.text
    assert "Shop was down" in part.text


def test_an_incident_is_handed_over(lookout):
    lookout.service.client("ada")
    _, incident_id = broken(lookout)
    press(lookout.service, "otto", f"/incidents/{incident_id}", "room.assign", username="ada", note="knows it")
    shown = page(lookout.service, f"/incidents/{incident_id}")
    assert "otto assigned Shop to ada: knows it." in shown.html.find(class_="tl").text
    assert "ada" in page(lookout.service, "/incidents?owner=ada").html.table.text


def test_the_list_of_incidents_has_what_is_open_on_top(lookout):
    service = lookout.service
    assert page(service, "/incidents").html.h1.text == "No incident is open."
    broken(lookout, "Shop")
    gone, _ = broken(lookout, "Search")
    lookout.sees[gone] = UP
    lookout.run(61)
    shown = page(service, "/incidents")
    assert shown.html.h1.text == "1 incident is open."
    assert [each.find("b").text for each in shown.html.find_all("tbody")] == ["Shop", "Search"]
    assert "Shop" not in page(service, "/incidents?status=resolved").html.tbody.text


def down_together(lookout, *names):
    monitors = {name: lookout.add(name=name, retries=0, tags=["shop"]) for name in names}
    lookout.sees |= dict.fromkeys(monitors.values(), UP)
    lookout.run(61)
    lookout.sees |= dict.fromkeys(monitors.values(), DOWN)
    lookout.run(61)
    return {row["monitor_name"]: row["id"] for row in lookout.incidents("status=open")}


def lines(shown):
    return [" ".join(row.select_one("td.wide").text.split()) for row in shown.html.select("main table tbody tr")]


def test_incidents_that_are_alike_are_one_line_which_opens_to_its_members(lookout):
    service = lookout.service
    ids = down_together(lookout, "Shop", "Search", "Cart", "Mail")
    shown = page(service, "/incidents")
    assert shown.html.h1.text == "4 incidents are open."
    [line] = shown.html.select("tr.alike")
    assert "4 monitors: HTTP 500." in " ".join(line.text.split())
    assert {link["href"] for link in line.select("details a")} == {f"/incidents/{each}" for each in ids.values()}
    assert len(line.select("input.pick")) == 4, "each can be chosen"


def test_of_very_many_the_first_are_shown_and_the_rest_counted(lookout, monkeypatch):
    monkeypatch.setattr(incidents, "MOST_MEMBERS", 3)
    ids = down_together(lookout, "Shop", "Search", "Cart", "Mail", "Pay")
    shown = page(lookout.service, "/incidents").html
    assert len(shown.select("tr.alike input.pick")) == 3
    assert [link.text for link in shown.select("tr.alike a[href='/incidents?status=open']")] == ["2 more"]
    monkeypatch.setattr(incidents, "MOST_LINES", 1)
    lookout.service.otto.post_json(f"/api/monitoring/incidents/{ids['Pay']}/acknowledge", {})
    shown = page(lookout.service, "/incidents").html
    assert shown.h1.text == "5 incidents are open."
    assert len(shown.select("main table tbody tr")) == 1
    assert [link.text for link in shown.select("#incidents p a[href='/incidents?status=open']")] == ["1 more"]
    assert len(page(lookout.service, "/incidents?status=open").html.select("main table tbody tr")) == 2


def test_an_incident_that_differs_is_never_hidden_in_a_line(lookout):
    service = lookout.service
    ids = down_together(lookout, "Shop", "Search", "Cart", "Mail", "Pay", "Help")
    service.otto.post_json(f"/api/monitoring/incidents/{ids['Mail']}/acknowledge", {})
    said = {"stage": "identified", "message": "A cable.", "public": False}
    service.otto.post_json(f"/api/monitoring/incidents/{ids['Pay']}/updates", said)
    told = lines(page(service, "/incidents"))
    assert sorted(line.partition(":")[0].partition("HTTP")[0] for line in told) == ["4 monitors", "Mail", "Pay"]
    back = next(row["monitor_id"] for row in lookout.incidents() if row["monitor_name"] == "Help")
    lookout.sees[back] = UP
    lookout.run(61)
    told = lines(page(service, "/incidents"))
    assert sorted(line.partition(":")[0].partition("HTTP")[0] for line in told) == ["3 monitors", "Help", "Mail", "Pay"]


def test_incidents_are_searched_and_filtered_in_the_address(lookout):
    service = lookout.service
    down_together(lookout, "Shop one", "Shop two", "Mail")
    body = {"name": "The phones do not work", "severity": "warning"}
    service.otto.post_json("/api/monitoring/incidents", body)

    def names(query):
        return sorted(link.text for link in page(service, f"/incidents?{query}").html.select("main table a"))

    assert names("q=shop") == ["Shop one", "Shop two"]
    assert names("q=shop+two") == ["Shop two"]
    assert names("severity=warning") == names("kind=by_hand") == ["The phones do not work"]
    assert names("kind=monitor&status=open") == names("tag=shop") == ["Mail", "Shop one", "Shop two"]
    assert names("tag=nowhere") == names("kind=event") == []
    shown = page(service, "/incidents?q=shop&kind=monitor")
    form = shown.html.select_one("form.filters")
    assert (form["method"], form.select_one("[name=q]")["value"]) == ("get", "shop")
    assert form.select_one("[name=kind] option[selected]")["value"] == "monitor"
    assert service.vera.get("/api/monitoring/incidents?q=shop&limit=1").headers["X-Total-Count"] == "2"
    assert service.vera.get("/api/monitoring/incidents?severity=loud", status=422).json["code"] == "invalid"


def test_a_post_mortem_is_a_file(lookout):
    _, incident_id = broken(lookout, "Shop")
    got = page(lookout.service, f"/incidents/{incident_id}/post-mortem.md", "vera")
    assert got.content_type == "text/markdown"
    assert got.headers["Content-Disposition"].startswith('attachment; filename="post-mortem-shop-')
    assert got.text.startswith("# Shop: ")


def asked(service):
    """A run that waits for an approval; its request's id."""
    automation = service.otto.post("/api/automations/templates/memory/apply").json["id"]
    service.ada.put_json(f"/api/automations/{automation}", {"requires_approval": True})
    return service.otto.post_json(f"/api/automations/{automation}/run", {}).json["request_id"]


def test_a_request_says_what_it_covers_and_why_one_may_not_decide_it(service):
    request_id = asked(service)
    own = page(service, f"/approvals/{request_id}", "otto")
    assert own.html.h1.text == "May Memory run for otto?"
    assert "Nobody approves a request of their own." in own.html.find(id="decision").text
    assert own.html.find(id="decide") is None
    assert "Operators and admins decide." in page(service, f"/approvals/{request_id}", "vera").text
    shown = page(service, f"/approvals/{request_id}", "ada")
    assert "set -u" in shown.html.find("pre").text
    assert service.ada.get(f"/api/approvals/{request_id}").json["digest"] in shown.text
    assert page(service, "/", "ada").html.h1.text.endswith("1 decision is yours.")
    assert "yours" not in page(service, "/", "otto").html.h1.text


def test_a_request_is_decided_with_a_comment(service):
    request_id = asked(service)
    press(service, "ada", f"/approvals/{request_id}", "request.reject", comment="not today")
    decided = service.vera.get(f"/api/approvals/{request_id}").json
    assert (decided["status"], decided["comment"]) == ("rejected", "not today")
    shown = page(service, f"/approvals/{request_id}", "ada")
    assert "Rejected by ada" in shown.html.find(id="decision").text
    assert "ada rejected Memory: not today." in page(service, "/approvals").html.find(id="decided").text


@pytest.mark.parametrize("place", ["/", "/approvals"])
def test_a_request_is_decided_in_place(service, place):
    request_id = asked(service)
    press(service, "ada", place, "approvals.approve")
    assert service.vera.get(f"/api/approvals/{request_id}").json["status"] == "approved"


def test_one_part_is_shown_alone_for_the_live_module(lookout):
    _, incident_id = broken(lookout)
    service = lookout.service
    parts = {
        "/": "wrong",
        "/incidents": "incidents",
        f"/incidents/{incident_id}": "timeline",
        "/approvals": "approvals",
    }
    cookie = {"Cookie": f"{SESSION}={service.client('otto').authorization[1]}"}
    for path, part in parts.items():
        shown = service.anonymous.get(path, headers=cookie | {"X-Part": part})
        assert "<html" not in shown.text
        assert "Shop" in shown.text or part == "approvals"


def asked_for(service, name, times):
    body = {"name": name, "type": "script", "params": {"script": "true"}, "requires_approval": True}
    made = service.ada.post_json("/api/automations", body).json["id"]
    return [service.ada.post_json(f"/api/automations/{made}/run").json["request_id"] for _ in range(times)]


def test_equal_requests_are_one_card_and_each_is_decided_by_itself(service):
    ids = asked_for(service, "restart", 3)
    [other] = asked_for(service, "clean", 1)
    for place in ("/approvals", "/"):
        cards = page(service, place).html.select(".ask")
        assert sorted(len(card.select(".members a")) for card in cards) == [0, 3]
        assert {link["href"] for card in cards for link in card.select(".members a")} == {
            f"/approvals/{request_id}" for request_id in ids
        }
    assert "Approve all" not in page(service, "/approvals", "vera").text
    browser = service.browser("otto")
    form = next(form for form in browser.get("/approvals").forms.values() if f"pick:{ids[0]}" in form.fields)
    service.otto.post_json(f"/api/approvals/{ids[1]}/reject", {})
    told = form.submit("do", value="approvals.approve")
    outcomes = sorted(row.select("td")[1].text.split()[0] for row in told.html.select("#outcomes tbody tr"))
    assert outcomes == ["Done", "Done", "Not"]
    states = {key: service.vera.get(f"/api/approvals/{key}").json["status"] for key in (*ids, other)}
    assert states == {ids[0]: "approved", ids[1]: "rejected", ids[2]: "approved", other: "pending"}


def test_one_figure_says_how_many_are_down(lookout):
    service = lookout.service
    down_together(lookout, "Shop", "Search", "Cart")
    box = Polling(service, "box")
    box.report()
    service.clock.advance(61)
    lookout.run(1)
    shown = page(service, "/")
    down = service.vera.get("/api/overview").json["monitors"]["down"]
    assert down == 3
    assert shown.html.h1.text.startswith(f"{down} down, 1 host silent")
    assert shown.html.title.text.startswith(f"({down}) ")
    assert shown.html.select_one("#counts .bad").text.split()[0] == str(down)


def test_each_part_of_healing_is_named_in_words():
    sources = [path.read_text() for path in (ROOT / "opsapp/healing").rglob("*.py")]
    names = {name for source in sources for name in re.findall(r'\badd\(\s*"healing-([a-z-]+)"', source)}
    assert len(names) >= 10
    assert names - set(healing.WORKERS) == set()


@pytest.mark.parametrize(
    ("waiting", "active", "words"),
    [
        (0, 0, "Nothing waits, and nothing is under way."),
        (1, 0, "No case is under way, 1 event waits."),
        (0, 1, "1 case is under way, no event waits."),
        (2, 3, "3 cases are under way, 2 events wait."),
    ],
)
def test_what_healing_works_on_is_said_in_plain_words(service, waiting, active, words):
    health = made(
        Health, service.vera.get("/api/healing/health").json | {"queue_depth": waiting, "active_heals": active}
    )
    assert healing.work_of(health) == words
