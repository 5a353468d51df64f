"""Status pages of their own: what each shows, that nothing of other monitors is in anything that its visitors can ask
for, and how they are made and changed."""

import json

import pytest

from opsapp.monitoring.engine.lateststatus import latest_status
from opsapp.statuspages.engine import announcements
from tests.support.monitoring import DOWN, UP, Lookout

OTHERS = ("Secret ledger", "Public shop")  # what the page must not name


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
    service.anonymous.get("/status/acme/subscribe", status=404)


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


def test_there_are_at_most_fifty(service):
    for number in range(50):
        service.ada.post_json("/api/status/pages", {"slug": f"p{number}", "name": "x"}, status=201)
    answer = service.ada.post_json("/api/status/pages", {"slug": "more", "name": "x"}, status=409).json
    assert (answer["code"], "50" in answer["error"]) == ("too_many_pages", True)


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
