"""What a page says of what its reader may not do, and what is empty says what to do next.

That every link leads where its reader may go is in test_pages_roles.py.
"""

from opsapp.ui.plan import PAGES

LISTS = [page.path for page in PAGES if "{" not in page.path and not page.file]
# Nothing is to be done about it, or the form for it stands beside it.
SAID = (
    "Nothing is watched yet, so nobody knows.",
    "No page of its own yet.",
    "No token: no identity provider makes users here.",
    "There are no channels: nobody is told anything",
    "Not looked yet",
    "Not known yet",
    "No maintenance is on",
    "No message was sent yet",
    "Nothing was deleted within the last minute.",
    "Nothing is connected",
    "Nothing is declared",
    "Nothing is paused",
    "There are no inlets",
    "There are no secrets",
    "There are no keys",
    "Every key has its usual value",
    "Nobody has subscribed yet.",
    "Nothing has been posted yet. A pipeline posts",
    "No team: everybody may do",
)


def test_who_may_not_is_told_as_whom_and_what_would_help(service):
    page = service.browser("vera").get("/monitors/new", status=403)
    assert "vera" in page.html.main.text
    assert page.html.main.select_one("a[href='/help/users#roles']")


def test_a_viewer_is_offered_no_run(service):
    automation = service.otto.post("/api/automations/templates/memory/apply").json["id"]
    run = service.otto.post(f"/api/automations/{automation}/run").json["run_id"]
    service.otto.post(f"/api/automations/runs/{run}/cancel")
    assert "Run again" not in service.browser("vera").get(f"/automations/runs/{run}").text
    assert "Run again" in service.browser("otto").get(f"/automations/runs/{run}").text


def test_what_is_empty_says_what_to_do_next(service):
    browser = service.browser("ada")
    silent = []
    for place in LISTS:
        for empty in browser.get(place).html.select(".empty"):
            if not empty.select("a[href]") and not empty.get_text(" ", strip=True).startswith(SAID):
                silent.append((place, empty.get_text(" ", strip=True)))
    assert silent == []
