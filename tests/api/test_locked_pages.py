"""Status pages with a password: nothing of one is told to who has not said it, by whatever way. Who has said it sees
what all visitors see."""

import re
from base64 import b64encode

import pytest
from webtest import TestApp

from opsapp.auth.engine import passwords
from opsapp.monitoring.engine.lateststatus import latest_status
from opsapp.statuspages.engine import visitors
from opsapp.statuspages.resources import store_of
from tests.support.monitoring import DOWN, UP, Lookout

WORD = "a word for acme"
NAMES = ("Customer site", "Acme Corp", "Call 110")
PATH = "/api/status/pages/acme"


@pytest.fixture
def page(service):
    lookout = Lookout(service)
    shop = lookout.add(name="Customer site", retries=0)
    lookout.sees[shop] = UP
    lookout.run(60, step=10)
    lookout.sees[shop] = DOWN
    lookout.run(60, step=10)
    body = {"slug": "acme", "name": "Acme Corp", "footer": "Call 110", "protected": True,
            "groups": [{"name": "Yours", "monitors": [shop]}]}  # fmt: skip
    service.ada.post_json("/api/status/pages", body, status=201)
    service.ada.put_json(f"{PATH}/password", {"password": WORD})
    return shop


def basic(word=WORD, name="anybody"):
    return {"Authorization": "Basic " + b64encode(f"{name}:{word}".encode()).decode()}


def places(service, shop):
    """Every address below a page that answers to GET, with what stands in it."""
    incident = service.vera.get("/api/monitoring/incidents").json[0]["id"]
    known = {"{id}.svg": f"{shop}.svg", "{incident_id}": incident, "{monitor_id}": shop}
    found = set()
    for view in service.app.registry.introspector.get_category("views"):
        url = getattr(view["introspectable"]["context"], "url", "") or ""
        methods = view["introspectable"]["request_methods"] or ()
        if url.startswith("/status/{slug}") and "GET" in methods:
            name = view["introspectable"]["name"]
            found.add("/".join(filter(None, (url, name))).replace("{slug}", "acme"))
    for pattern, value in known.items():
        found = {place.replace(pattern, value) for place in found}
    return sorted(place for place in found if "{token}" not in place)


def test_who_has_not_said_it_is_told_nothing_anywhere(service, page):
    everywhere = places(service, page)
    assert len(everywhere) >= 9, everywhere
    for place in everywhere:
        answer = service.anonymous.get(place, status=401)
        assert not [name for name in (*NAMES, page) if name in answer.text.replace(place, "")], place
        assert "ETag" not in answer.headers
        assert "no-" in answer.headers["Cache-Control"]
        assert "private" in answer.headers["Cache-Control"] or "no-store" in answer.headers["Cache-Control"]
        assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"
        assert ("Basic" in answer.headers["WWW-Authenticate"]) == place.endswith((".rss", ".json", ".ics", ".svg"))


def test_who_says_it_comes_in_and_sees_what_is_made_once_for_all(service, page):
    browser = TestApp(service.app)
    form = browser.get("/status/acme/history", status=401).form
    form["password"] = WORD
    came = form.submit()
    assert (came.status_int, came.headers["Location"]) == (303, "/status/acme/history")
    cookie = came.headers["Set-Cookie"]
    assert [part in cookie for part in ("Path=/status/acme;", "HttpOnly", "SameSite=Lax", WORD)] == [True] * 3 + [False]
    for place in places(service, page):
        answer = browser.get(place)
        assert answer.cache_control.private or answer.cache_control.no_store, place
        assert {"Cookie", "Authorization"} <= set(answer.vary), place
    first = browser.get("/status/acme")
    assert "Customer site" in first.text
    latest = latest_status(service.node).of_page(page_id(service), None)
    made = latest.now()
    other = TestApp(service.app)
    other.get("/status/acme", headers=basic())
    assert latest.now() is made, "once for all visitors"
    mark = {"If-None-Match": first.headers["ETag"]}
    assert browser.get("/status/acme", headers=mark).status_int == 304
    assert service.anonymous.get("/status/acme", headers=mark, status=401).headers.get("ETag") is None


def page_id(service):
    return service.read(lambda root: store_of(root).own_page("acme").id)


@pytest.mark.parametrize(
    "place", ["//evil.example", "/status/acme/../../login", "https://evil.example", "/status/other"]
)
def test_it_leads_nowhere_else(service, page, place):
    answer = service.anonymous.post("/status/acme/unlock", {"password": WORD, "next": place}, status=303)
    assert answer.headers["Location"] == "/status/acme"


def test_a_program_says_it_by_basic_and_is_not_checked_each_time(service, page, monkeypatch):
    checks, check = [], passwords._verify
    monkeypatch.setattr(passwords, "_verify", lambda *given: checks.append(1) or check(*given))
    for place in ("/status/acme/feed.rss", "/status/acme/status.json", "/status/acme/calendar.ics"):
        assert service.anonymous.get(place, headers=basic()).status_int == 200
    assert len(checks) == 1
    assert "Customer site" in service.anonymous.get("/status/acme/feed.rss", headers=basic(name="")).text
    gone = "/status/acme/incidents/nothing"
    service.anonymous.get(gone, headers=basic("a wrong word"), status=401)
    service.anonymous.get(gone, headers=basic(), status=404)


@pytest.mark.parametrize(
    "said", ["Basic", "Basic !!!", "Basic " + b64encode(b"no colon").decode(), "Bearer x", "Basic " + "A" * 9000]
)
def test_what_is_no_password_is_asked_for(service, page, said):
    service.anonymous.get("/status/acme/feed.rss", headers={"Authorization": said}, status=401)


def test_a_new_password_signs_visitors_out_and_an_open_page_forgets_it(service, page):
    browser, word = came_in(service), "another word"
    browser.get("/status/acme")
    service.anonymous.get("/status/acme/feed.rss", headers=basic())
    service.ada.put_json(f"{PATH}/password", {"password": word})
    browser.get("/status/acme", status=401)
    service.anonymous.get("/status/acme/feed.rss", headers=basic(), status=401)
    came_in(service, word).get("/status/acme")
    assert service.ada.put_json(PATH, {"protected": False}).json["has_password"] is False
    service.anonymous.get("/status/acme")
    assert service.ada.put_json(PATH, {"protected": True}).json["has_password"] is False
    came_in(service, word, status=401)
    assert service.read(lambda root: store_of(root).own_page("acme").password_hash) is None


def came_in(service, word=WORD, status=303):
    browser = TestApp(service.app)
    browser.post("/status/acme/unlock", {"password": word}, status=status)
    return browser


def test_a_cookie_is_of_one_page_and_has_an_end(service, page):
    service.ada.post_json("/api/status/pages", {"slug": "globex", "name": "Globex", "protected": True}, status=201)
    service.ada.put_json("/api/status/pages/globex/password", {"password": WORD})
    value = service.anonymous.post("/status/acme/unlock", {"password": WORD}).headers["Set-Cookie"]
    value = re.search("opsapp_page=([^;]+)", value)[1]
    until, _, mark = value.partition(".")

    def seen(slug, value):
        return service.anonymous.get(
            f"/status/{slug}", headers={"Cookie": f"opsapp_page={value}"}, status="*"
        ).status_int

    assert (seen("acme", value), seen("globex", value)) == (200, 401)
    forged = [
        f"{int(until) + 1}.{mark}",
        f"{until}.",
        mark,
        "",
        f"{until}.{'0' * 64}",
        "9" * 30 + "." + mark,
        "²." + mark,
    ]
    assert [seen("acme", value.encode("ascii", "ignore").decode()) for value in forged] == [401] * len(forged)
    service.clock.advance(31 * 86_400)
    assert seen("acme", value) == 401


def test_guesses_are_limited_by_address_and_who_is_right_is_not_counted(service, page):
    for _ in range(30):
        came_in(service)
    for number in range(10):
        came_in(service, f"wrong word {number}", status=401)
    answer = service.anonymous.post("/status/acme/unlock", {"password": WORD}, status=429)
    assert int(answer.headers["Retry-After"]) > 0
    service.anonymous.get("/status/acme/feed.rss", headers=basic(), status=429)
    service.clock.advance(301)
    came_in(service)
    entries = [entry for entry in service.ada.get("/api/audit?limit=50").json if entry["action"] == "status_page.enter"]
    assert entries
    assert WORD not in str(entries)


def test_a_password_is_hashed_for_a_client_that_is_there_and_not_behind_a_queue(service, page, monkeypatch):
    def left(*given):
        visitors.enter(service.node, "acme", "192.0.2.9", WORD, lambda: True)

    with pytest.raises(passwords.ClientLeft):
        left()
    monkeypatch.setattr(passwords, "MOST_WAIT_S", -1.0)
    answer = service.anonymous.post("/status/acme/unlock", {"password": WORD}, status=503)
    assert int(answer.headers["Retry-After"]) >= 1


def test_its_password_is_nowhere(service, page):
    came_in(service)
    texts = [
        service.ada.get(place).text for place in ("/api/export", "/api/audit?limit=100", PATH, "/api/status/pages")
    ]
    texts.append(service.browser("ada").get("/statuspage/own/acme").text)
    kept = service.read(lambda root: store_of(root).own_page("acme").password_hash)
    assert kept.startswith("$argon2id$")
    assert not [text for text in texts if WORD in text or kept in text]
    service.ada.put_json(f"{PATH}/password", {"password": "password123"}, status=422)
    service.otto.put_json(f"{PATH}/password", {"password": WORD}, status=403)


def test_what_is_code_says_that_there_is_one_and_keeps_it(service, page):
    exported = service.ada.get("/api/export").json["status_pages"]
    assert exported[0]["protected"] is True

    def apply(pages):
        return service.ada.post_json("/api/apply", {"document": {"status_pages": pages}}).json["changes"]

    assert apply(exported) == []
    apply([exported[0] | {"name": "Other"}])
    came_in(service)
    apply([*exported, {"slug": "new", "name": "New", "protected": True}])
    service.anonymous.get("/status/new", status=401)
    service.anonymous.post("/status/new/unlock", {"password": WORD}, status=401)


def test_a_page_that_is_put_back_is_as_closed_as_before(service, page):
    undo = service.ada.delete(PATH).headers["X-Undo"]
    service.anonymous.get("/status/acme", status=404)
    service.ada.post_json(f"/api/deleted/{undo}/undo", {})
    service.anonymous.get("/status/acme", status=401)
    came_in(service)
