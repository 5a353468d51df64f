"""Status pages of their own: what each shows, that nothing of other monitors is in anything that its visitors can ask
for, and how they are made and changed."""

import json

import pytest

from opsapp.monitoring.engine.lateststatus import latest_status
from opsapp.monitoring.resources import incidents_of
from opsapp.statuspages.engine import announcements
from opsapp.statuspages.resources import name_pages, store_of
from tests.support.monitoring import DOWN, UP, Lookout

NOTICES, INCIDENTS = "/api/monitoring/notices", "/api/monitoring/incidents"
OTHERS = ("Secret ledger", "Public shop")  # what the page must not name


def form_of(page, act):
    """The form of the page that has this act."""
    return next(form for form in page.forms.values() if "act" in form.fields and form["act"].value == act)


@pytest.fixture
def shop(service):
    """A monitor of a customer, one that is public and one that is nobody's; each was down, and all have a window."""
    lookout = Lookout(service)
    ids = {name: lookout.add(name=name, retries=0, tags=tags)
           for name, tags in (("Customer site", []), ("Public shop", ["public"]), ("Secret ledger", []))}  # fmt: skip
    lookout.sees |= dict.fromkeys(ids.values(), UP)
    lookout.run(120, step=10)
    lookout.sees |= dict.fromkeys(ids.values(), DOWN)
    lookout.run(300, step=10)
    for name, monitor_id in ids.items():
        window = {"name": f"Work on {name}", "start": "2055-01-16T00:00:00", "end": "2055-01-16T01:00:00"}
        service.otto.post_json("/api/maintenance", window | {"scope": [monitor_id]})
    return ids


@pytest.fixture
def page(service, shop):
    groups = [{"name": "Yours", "monitors": [shop["Customer site"]]}]
    body = {"slug": "acme", "name": "Acme", "footer": "Call 110", "accent_light": "#1a5fb4", "groups": groups}
    made = service.ada.post_json("/api/status/pages", body, status=201).json
    service.node.leases.want("status-page")
    service.node.leases.step()
    announcements.look(service.node)
    return made


def incident_of(service, monitor_id):
    found = service.vera.get("/api/monitoring/incidents").json
    return next(incident["id"] for incident in found if incident["monitor_id"] == monitor_id)


def texts(service, shop):
    """Whatever a visitor of the page can ask for."""
    own = shop["Customer site"]
    rest = ["", "/feed.rss", "/calendar.ics", "/status.json", "/history", "/history?month=2055-01", "/theme.css",
            f"/monitors/{own}", f"/badge/{own}.svg", f"/incidents/{incident_of(service, own)}"]  # fmt: skip
    return {path: service.anonymous.get(f"/status/acme{path}").text for path in rest}


def test_a_page_of_its_own_shows_its_monitors_and_no_name_of_another(service, shop, page):
    shown = texts(service, shop)
    for path, text in shown.items():
        assert not [name for name in OTHERS if name in text], path
        assert not [shop[name] for name in OTHERS if shop[name] in text], path
    for path in ("", "/feed.rss", "/status.json", "/history"):
        assert "Customer site" in shown[path], path
    assert "Work on Customer site" in shown[""]
    assert "Work on Customer site" in shown["/calendar.ics"]
    assert "Call 110" in shown[""]
    assert "#1a5fb4" in shown["/theme.css"]
    document = json.loads(shown["/status.json"])
    assert [monitor["name"] for monitor in document["monitors"]] == ["Customer site"]
    assert (document["overall"], document["notices"]) == ("major_outage", [])


def test_what_is_of_other_monitors_is_not_found_below_a_page(service, shop, page):
    for name in OTHERS:
        incident = incident_of(service, shop[name])
        for path in (f"monitors/{shop[name]}", f"badge/{shop[name]}.svg", f"incidents/{incident}"):
            service.anonymous.get(f"/status/acme/{path}", status=404)
    service.anonymous.get("/status/nobody", status=404)
    service.anonymous.get("/status/acme/acme", status=404)
    assert "offers none" in service.anonymous.get("/status/acme/subscribe").text


def test_the_page_of_all_does_not_show_what_only_another_page_does(service, shop, page):
    own = shop["Customer site"]
    for path in ("/status", "/status.rss", "/status/calendar.ics", "/api/monitoring/status-page", "/status/history",
                 "/api/status/page"):  # fmt: skip
        text = service.anonymous.get(path).text
        assert "Customer site" not in text, path
        assert own not in text, path
    assert "Public shop" in service.anonymous.get("/status").text
    service.anonymous.get(f"/status/monitors/{own}", status=404)


def test_every_link_of_a_page_stays_below_it(service, shop, page):
    html = service.anonymous.get("/status/acme").html
    links = [link["href"] for link in html.find_all("a") if link["href"].startswith("/")]
    assert links
    assert not [link for link in links if not link.startswith("/status/acme")]
    feed = service.anonymous.get("/status/acme/feed.rss").text
    assert "/status/acme/incidents/" in feed


def test_a_notice_is_on_the_page_of_all_alone(service, shop, page):
    service.otto.post_json("/api/monitoring/notices", {"title": "Secret ledger is slow", "severity": "info"})
    assert "Secret ledger is slow" in service.anonymous.get("/status").text
    assert not [path for path, text in texts(service, shop).items() if "is slow" in text]


def test_a_page_is_made_once_for_all_visitors_and_anew_when_something_changed(service, shop, page):
    first = service.anonymous.get("/status/acme")
    mark = first.headers["ETag"]
    assert service.anonymous.get("/status/acme", headers={"If-None-Match": mark}, status=304).body == b""
    made = latest_status(service.node).of_page("acme", None).now()
    service.anonymous.get("/status/acme/feed.rss")
    assert latest_status(service.node).of_page("acme", None).now() is made
    service.ada.put_json("/api/status/pages/acme", {"description": "For you"})
    changed = service.anonymous.get("/status/acme", headers={"If-None-Match": mark})
    assert (changed.status_int, "For you" in changed.text) == (200, True)


def test_a_page_is_changed_moved_and_deleted(service, shop, page):
    group = page["groups"][0]["id"]
    changed = service.ada.put_json("/api/status/pages/acme", {"slug": "acme-corp", "name": "Acme Corp"}).json
    assert (changed["slug"], changed["groups"][0]["id"], changed["footer"]) == ("acme-corp", group, "Call 110")
    service.anonymous.get("/status/acme", status=404)
    assert "Acme Corp" in service.anonymous.get("/status/acme-corp").text
    service.ada.delete("/api/status/pages/acme-corp")
    service.anonymous.get("/status/acme-corp", status=404)
    assert service.ada.get("/api/status/pages").json == []
    actions = [entry["action"] for entry in service.ada.get("/api/audit?limit=50").json]
    assert {"status_page.create", "status_page.update", "status_page.delete"} <= set(actions)


def test_a_monitor_that_is_deleted_leaves_the_page(service, shop, page):
    service.otto.delete(f"/api/monitoring/endpoints/{shop['Customer site']}", status="*")
    service.ada.delete(f"/api/monitoring/endpoints/{shop['Customer site']}", status="*")
    text = service.anonymous.get("/status/acme").text
    assert "Customer site" not in text
    service.ada.put_json("/api/status/pages/acme", {"name": "Still here"})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"slug": "history", "name": "x"}, 422),
        ({"slug": "Two Words", "name": "x"}, 422),
        ({"slug": "../x", "name": "x"}, 422),
        ({"slug": "x"}, 422),
        ({"slug": "x", "name": "x", "groups": [{"name": "g", "monitors": ["nobody"]}]}, 422),
        ({"slug": "x", "name": "x", "public_url": "https://u:p@x.example.org"}, 422),
        ({"slug": "acme", "name": "x"}, 409),
    ],
)
def test_a_page_that_cannot_be_is_refused(service, page, body, status):
    service.ada.post_json("/api/status/pages", body, status=status)


def test_there_are_at_most_two_hundred(service):
    for number in range(200):
        service.ada.post_json("/api/status/pages", {"slug": f"p{number}", "name": "x"}, status=201)
    answer = service.ada.post_json("/api/status/pages", {"slug": "more", "name": "x"}, status=409).json
    assert (answer["code"], "200" in answer["error"]) == ("too_many_pages", True)


def test_pages_are_kept_as_code_by_the_names_of_monitors(service, shop, page):
    exported = service.ada.get("/api/export").json["status_pages"]
    assert exported[0]["groups"] == [{"name": "Yours", "collapsed": False, "monitors": ["Customer site"]}]

    def apply(pages, **more):
        return service.ada.post_json("/api/apply", {"document": {"status_pages": pages}, **more}).json

    assert apply(exported)["unchanged"] == 1
    (change,) = apply([exported[0] | {"name": "Other"}])["changes"]
    assert change["after"] == {"name": "Other"}
    assert service.ada.get("/api/status/pages/acme").json["groups"] == page["groups"], "its id too"
    apply([], prune=True)
    assert service.ada.get("/api/status/pages").json == []


def test_its_own_domain_is_in_the_links_of_feed_and_calendar(service, shop, page):
    service.ada.put_json("/api/status/pages/acme", {"public_url": "https://status.acme.example"})
    shown = texts(service, shop)
    assert "https://status.acme.example/status/acme" in shown["/feed.rss"]
    assert "https://status.acme.example/status/acme" in shown["/calendar.ics"].replace("\r\n ", "")


def put(service, path, **body):
    return service.otto.post_json(path, body, status=201).json["id"]


def test_a_notice_is_on_the_pages_that_it_names(service, shop, page):
    service.ada.post_json("/api/status/pages", {"slug": "globex", "name": "Globex"}, status=201)
    for title, pages in (("For Acme", ["acme"]), ("For two", ["acme", "globex"]), ("For all", ["*"]), ("Main", None)):
        put(service, NOTICES, title=title, **({"pages": pages} if pages else {}))

    def shown(path):
        return {notice["title"] for notice in service.anonymous.get(path).json["notices"]}

    assert shown("/status/acme/status.json") == {"For Acme", "For two", "For all"}
    assert shown("/status/globex/status.json") == {"For two", "For all"}
    assert shown("/api/monitoring/status-page") == {"For all", "Main"}
    assert "For Acme" in service.anonymous.get("/status/acme").html.select_one("#notices").text
    assert "For Acme" in service.anonymous.get("/status/acme/feed.rss").text
    titles = {row["title"]: row["pages"] for row in service.otto.get(NOTICES).json}
    assert titles == {"For Acme": ["acme"], "For two": ["acme", "globex"], "For all": ["*"], "Main": ["public"]}


def test_a_notice_stays_on_a_page_that_moves_and_is_on_no_other_page_of_its_path(service, shop, page):
    notice = put(service, NOTICES, title="For Acme", pages=["acme"])
    service.ada.put_json("/api/status/pages/acme", {"slug": "acme-corp"})
    assert "For Acme" in service.anonymous.get("/status/acme-corp").text
    assert service.otto.get(f"{NOTICES}/{notice}").json["pages"] == ["acme-corp"]
    service.ada.delete("/api/status/pages/acme-corp")
    service.ada.post_json("/api/status/pages", {"slug": "acme-corp", "name": "Another one"}, status=201)
    assert "For Acme" not in service.anonymous.get("/status/acme-corp").text
    assert service.otto.get(f"{NOTICES}/{notice}").json["pages"] == []
    service.otto.put_json(f"{NOTICES}/{notice}", {"title": "Still to change"})


def test_a_page_that_is_put_back_has_its_notices_again(service, shop, page):
    put(service, NOTICES, title="For Acme", pages=["acme"])
    deleted = service.ada.delete("/api/status/pages/acme").headers["X-Undo"]
    service.ada.post_json(f"/api/deleted/{deleted}/undo", {})
    assert "For Acme" in service.anonymous.get("/status/acme").text


def test_nothing_is_put_on_a_page_that_is_not_there(service, page):
    for path, body in ((NOTICES, {"title": "x"}), (INCIDENTS, {"name": "x"})):
        answer = service.otto.post_json(path, body | {"pages": ["nobody"]}, status=422).json
        assert answer["fields"]["pages"] == "no such status page: nobody"


def test_an_incident_by_hand_is_on_the_pages_that_it_names_and_on_no_other(service, shop, page):
    body = {"name": "The phones do not work", "target": "pbx-3.internal", "description": "Only we know."}
    hidden = put(service, INCIDENTS, name="Nobody's business")
    incident = put(service, INCIDENTS, **body, pages=["acme"])
    assert service.otto.get(f"{INCIDENTS}/{incident}").json["pages"] == ["acme"]
    said = {"stage": "identified", "message": "The line is cut."}
    service.otto.post_json(f"{INCIDENTS}/{incident}/updates", said, status=201)
    service.otto.post_json(
        f"{INCIDENTS}/{incident}/updates", said | {"message": "By Bob.", "public": False}, status=201
    )
    shown = texts(service, shop)
    shown[""] += service.anonymous.get(f"/status/acme/incidents/{incident}").text
    for path in ("", "/feed.rss", "/status.json", "/history"):
        assert "The phones do not work" in shown[path], path
        assert not [word for word in ("pbx-3", "Only we", "By Bob", "business", "work is down") if word in shown[path]]
    assert "The line is cut." in shown[""]
    document = json.loads(shown["/status.json"])
    assert [row["id"] for row in document["active_incidents"] if row.get("by_hand")] == [incident]
    assert document["overall"] == "major_outage", "as the monitors say"
    for path in ("/status", "/status.rss", "/status/history", "/api/monitoring/status-page"):
        assert "The phones" not in service.anonymous.get(path).text
    service.anonymous.get(f"/status/incidents/{incident}", status=404)
    service.anonymous.get(f"/status/acme/incidents/{hidden}", status=404)
    service.otto.post_json(f"{INCIDENTS}/{incident}/resolve", {})
    assert "The phones do not work" in service.anonymous.get("/status/acme").text
    (ended,) = [row for row in service.anonymous.get("/status/acme/status.json").json["history"][0]["incidents"]
                if row["id"] == incident]  # fmt: skip
    assert (ended["status"], ended["monitor_id"]) == ("resolved", None)


def test_an_incident_that_is_forgotten_is_off_its_page(service, page):
    incident = put(service, INCIDENTS, name="The phones do not work", pages=["acme", "*"])
    service.otto.post_json(f"{INCIDENTS}/{incident}/resolve", {})

    def forget(root):
        incidents = incidents_of(root)
        incidents.forget(service.clock.now() + 1, "", 100)
        return [len(ids) for ids in incidents.by_page.values()]

    assert service.transact(forget) == [0, 0]
    assert "phones" not in service.anonymous.get("/status/acme/history").text


def test_a_document_makes_a_page_and_puts_a_notice_on_it(service, page):
    pages = service.ada.get("/api/export").json["status_pages"] + [{"slug": "new", "name": "New"}]
    notice = {"title": "For the new page", "pages": ["acme", "new"]}
    document = {"notices": [notice], "status_pages": pages}
    service.ada.post_json("/api/apply", {"document": document})
    assert "For the new page" in service.anonymous.get("/status/new").text
    exported = service.ada.get("/api/export").json
    assert exported["notices"][0]["pages"] == ["acme", "new"]
    assert service.ada.post_json("/api/apply", {"document": exported}).json["changes"] == []
    wrong = {"notices": [{"title": "x", "pages": ["nobody"]}]}
    answer = service.ada.post_json("/api/apply", {"document": wrong}, status=422).json
    assert answer["fields"] == {"notices.0.pages": "no such status page: nobody"}


def test_an_operator_names_pages_in_the_forms(service, shop, page):
    otto = service.browser("otto")
    notice = form_of(otto.get("/incidents"), "notice")
    assert notice["pages"].value == "public"
    notice["title"], notice["pages"], notice["severity"] = "For Acme", "acme, public", "info"
    listed = notice.submit().follow()
    assert ", on acme, the page of all" in listed.html.select_one("#notices").text
    opened = form_of(listed, "create")
    opened["name"], opened["severity"], opened["pages"] = "No phones", "critical", "acme"
    opened.submit().follow()
    assert "No phones" in service.anonymous.get("/status/acme").text
    (incident,) = service.otto.get(f"{INCIDENTS}?kind=by_hand").json
    assert "It is shown on acme" in otto.get(f"/incidents/{incident['id']}").text


def test_pages_of_an_older_version_have_ids_and_are_what_they_were(service, shop, page):
    def older(root):
        store = store_of(root)
        store.pages.update({slug: {**kept.settings, "later": 1} for slug, kept in store.pages.items()})
        name_pages(root)

    service.transact(older)
    found = service.ada.get("/api/status/pages/acme").json
    assert found["id"]
    assert {**found, "id": page["id"]}.items() <= page.items()
    assert "Customer site" in service.anonymous.get("/status/acme").text
