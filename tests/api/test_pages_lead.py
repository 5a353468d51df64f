"""Where pages lead: no link goes where its reader may not go, and what is empty says what to do next."""

import pytest

from opsapp.ui.plan import PAGES
from tests.support.app import ROLES

LISTS = [page.path for page in PAGES if "{" not in page.path and not page.file]
MOST_PAGES = 250
# Nothing is to be done about it, or the form for it stands beside it.
SAID = (
    "Nothing is watched yet, so nobody knows.",
    "Not looked yet",
    "Not known yet",
    "No maintenance is on",
    "No message was sent yet",
    "Nothing is connected",
    "Nothing is declared",
    "Nothing is held back",
    "There are no inlets",
    "There are no secrets",
    "There are no keys",
    "Every key has its usual value",
    "Nobody has subscribed yet.",
)


@pytest.fixture
def lived_in(service):
    service.otto.post_json("/api/monitoring/endpoints", {"name": "Shop", "type": "http", "url": "http://shop.example/"})
    service.ada.post_json("/api/agents", {"label": "box-1", "tags": ["web"]})
    automation = service.otto.post("/api/automations/templates/memory/apply").json["id"]
    service.otto.post(f"/api/automations/{automation}/run")
    window = {"name": "night", "start": "2027-01-15T22:00", "end": "2027-01-16T02:00"}
    service.otto.post_json("/api/maintenance", window)
    service.ada.post_json("/api/notifications/channels", {"name": "on-call", "url": "json://127.0.0.1:9/x"})
    return service


def places_on(page):
    """Where the links of a page's own part lead, as addresses of pages."""
    path = page.request.path
    for link in page.html.select("main a[href]"):
        place = link["href"].partition("#")[0]
        if place.startswith("?"):
            yield path + place
        elif place.startswith("/") and not place.startswith(("/api", "/static", "/status")):
            yield place


@pytest.mark.parametrize("who", ROLES)
def test_every_link_of_every_page_leads_to_a_page_that_its_reader_may_see(lived_in, who):
    browser = lived_in.browser(who)
    led_from = {place: "the menu" for place in LISTS if browser.get(place, expect_errors=True).status_int == 200}
    waiting, wrong = list(led_from), []
    for place in waiting:
        page = browser.get(place, expect_errors=True)
        if page.status_int >= 400:
            wrong.append((led_from[place], place, page.status_int))
        elif "html" in page.content_type and "?" not in place:
            for other in places_on(page):
                if other not in led_from and len(waiting) < MOST_PAGES:
                    led_from[other] = place
                    waiting.append(other)
    assert wrong == []
    assert len(waiting) > 50


def test_who_may_not_is_told_as_whom_and_what_would_help(service):
    page = service.browser("vera").get("/monitors/new", status=403)
    assert "vera" in page.html.main.text
    assert page.html.main.select_one("a[href='/help/users#roles']")


def test_a_viewer_is_offered_no_run(lived_in):
    run = lived_in.vera.get("/api/automations/runs?limit=1").json[0]["run_id"]
    lived_in.otto.post(f"/api/automations/runs/{run}/cancel")
    assert "Run again" not in lived_in.browser("vera").get(f"/automations/runs/{run}").text
    assert "Run again" in lived_in.browser("otto").get(f"/automations/runs/{run}").text


def test_what_is_empty_says_what_to_do_next(service):
    browser = service.browser("ada")
    silent = []
    for place in LISTS:
        for empty in browser.get(place).html.select(".empty"):
            if not empty.select("a[href]") and not empty.get_text(" ", strip=True).startswith(SAID):
                silent.append((place, empty.get_text(" ", strip=True)))
    assert silent == []
