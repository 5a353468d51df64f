"""Browser sessions and pages: the form, the cookie, protection against other sites, the overview."""

import gzip
import re
from html.parser import HTMLParser

import pyotp
import pytest
from webob import Request
from webtest import TestApp

from opsapp.audit.engine import SHELL
from opsapp.auth import engine
from opsapp.auth.cookies import SESSION
from opsapp.auth.engine import secondfactor
from opsapp.ui import files
from opsapp.ui.pages import local_path

RIGHT = {"username": "admin", "password": "first admin password"}


@pytest.fixture
def browser(service):
    return TestApp(service.app, extra_environ={"REMOTE_ADDR": "203.0.113.9"})


def fill(page, **values):
    form = page.forms[0]
    for name, value in values.items():
        form[name] = value
    return form


def sign_in(browser, page="/login", **more):
    return fill(browser.get(page), **(RIGHT | more)).submit(expect_errors=True)


def set_cookies(answer):
    return {each.split("=")[0]: each for each in answer.headers.getall("Set-Cookie")}


def test_a_page_without_a_session_leads_to_the_form_and_back(browser):
    led = browser.get("/")
    assert (led.status_int, led.headers["Location"]) == (303, "/login?next=/")
    answer = sign_in(browser, "/login?next=/%3Fx=1%26y")
    assert (answer.status_int, answer.headers["Location"]) == (303, "/?x=1&y")
    page = browser.get("/")
    assert page.status_int == 200
    assert "admin (admin)" in page.text


def test_what_was_asked_of_a_page_is_not_lost_by_signing_in(browser):
    led = browser.get("/monitors?status=down&q=a%20b")
    answer = sign_in(browser, led.headers["Location"])
    assert answer.headers["Location"] == "/monitors?status=down&q=a%20b"
    assert "secret" not in browser.get("/monitors?token=secret", headers={"Cookie": ""}).headers["Location"]


def test_a_redirect_names_a_path_and_no_host(service, browser):
    for answer in (service.anonymous.get("/monitors"), sign_in(browser)):
        assert answer.headers["Location"].startswith("/"), answer.headers["Location"]


def test_the_cookie_is_for_us_alone(browser):
    cookie = set_cookies(sign_in(browser))[SESSION]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Path=/" in cookie
    assert "Max-Age=86400" in cookie
    assert "secure" not in cookie.lower()


def test_under_https_the_cookie_is_secure(service):
    browser = TestApp(service.app, extra_environ={"wsgi.url_scheme": "https", "REMOTE_ADDR": "203.0.113.9"})
    assert "secure" in set_cookies(sign_in(browser))[SESSION].lower()


@pytest.mark.parametrize("more", [{"password": "wrong"}, {"username": "nobody"}])
def test_wrong_credentials_show_the_form_again(browser, more):
    answer = sign_in(browser, **more)
    assert answer.status_int == 401
    assert answer.content_type == "text/html"
    assert "wrong" in answer.text
    assert SESSION not in set_cookies(answer)
    assert fill(answer, **RIGHT).submit().status_int == 303


def test_the_limits_hold_here_too(browser):
    for _ in range(5):
        sign_in(browser, password="wrong")
    answer = sign_in(browser)
    assert answer.status_int == 429
    assert "300 seconds" in answer.text
    assert answer.headers["Retry-After"] == "300"


def test_the_form_is_protected_too(service, browser):
    body = RIGHT | {"csrf_token": "0" * 64}
    assert browser.post("/login", body, status=403).content_type == "text/html"
    browser.get("/login")
    browser.post("/login", body, status=403)
    browser.post("/login", RIGHT, status=403)
    browser.post_json("/login", RIGHT, status=415)
    assert service.read(lambda root: len(root.system["attempts"])) == 0


@pytest.mark.parametrize(
    "kind",
    ["multipart/form-data", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded; charset=utf-16",
     "application/x-www-form-urlencoded; charset=none", "text/plain", "application/json"],
)  # fmt: skip
@pytest.mark.shared
def test_a_body_that_is_no_form_is_not_read_as_one(service, browser, kind):
    for path in ("/login", "/login/totp"):
        browser.post(path, b"username=x&csrf_token=x", headers={"Content-Type": kind}, status=415)
    browser.set_cookie(SESSION, service.ada.authorization[1])
    for path in ("/logout", "/users"):
        browser.post(path, b"act=create&csrf_token=x", headers={"Content-Type": kind}, status=403)


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("/monitors?x=1", "/monitors?x=1"),
        (None, "/"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("/a b", "/"),
        ("/" + "x" * 3000, "/"),
    ],
)
def test_only_local_paths_are_gone_to(given, place):
    assert local_path(given) == place


def test_the_second_step_has_a_form_of_its_own(service, browser):
    engine.add_user(service.node, "grace", "viewer", "a sound password")
    secret = secondfactor.begin(service.node, "grace").secret
    code = pyotp.TOTP(secret).at(int(service.clock.now()))
    recovery = secondfactor.confirm(service.node, "grace", code, SHELL).recovery_codes
    answer = sign_in(browser, "/login?next=/x", username="grace", password="a sound password")
    assert answer.headers["Location"] == "/login/totp?next=/x"
    assert SESSION not in set_cookies(answer)
    page = browser.get("/login/totp?next=/x")
    wrong = fill(page, code="000000").submit(status=401)
    assert "wrong" in wrong.text
    done = fill(wrong, code=recovery[0]).submit()
    assert done.headers["Location"] == "/x"
    assert browser.get("/").status_int == 200


def test_the_api_takes_the_cookie_from_our_pages_alone(browser):
    sign_in(browser)
    assert browser.get("/api/me").json["username"] == "admin"
    assert browser.post("/api/logout", status=403).json["code"] == "csrf"
    browser.post("/api/logout", headers={"X-CSRF-Token": "0" * 64}, status=403)
    browser.post_json("/api/users", {"username": "x"}, status=403)
    token = re.search('name="csrf-token" content="([0-9a-f]{128})"', browser.get("/").text).group(1)
    browser.post_json("/api/users", {"username": "x"}, headers={"X-CSRF-Token": token}, status=422)
    assert browser.post("/api/logout", headers={"X-CSRF-Token": token}).json == {"status": "ok"}
    browser.get("/api/me", status=401)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://another.name.of.ours"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, 401),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, 401),
        ({"Origin": "http://localhost"}, 200),
        ({"Origin": "http://evil.example"}, 401),
        ({"Origin": "null"}, 401),
        ({"Origin": "http://[::1"}, 401),
    ],
)
def test_a_page_of_another_site_reads_nothing_by_the_cookie(browser, headers, status):
    sign_in(browser)
    for path in ("/api/me", "http://localhost//api/me", "http://localhost///api//me"):
        browser.get(path, headers=headers, status=status)


def test_a_credential_of_its_own_needs_no_token(service, browser):
    sign_in(browser)
    service.vera  # noqa: B018 - makes her session
    headers = {"Authorization": "Bearer " + service.tokens["vera"]}
    assert browser.get("/api/me", headers=headers).json["username"] == "vera"
    assert browser.post("/api/logout", headers=headers).json == {"status": "ok"}
    browser.get("/api/me", headers={"Authorization": "Bearer nonsense"}, status=401)


def test_another_sessions_token_does_not_help(service, browser):
    sign_in(browser)
    other = TestApp(service.app, extra_environ={"REMOTE_ADDR": "203.0.113.9"})
    sign_in(other)
    token = re.search('name="csrf-token" content="([0-9a-f]{128})"', other.get("/").text).group(1)
    browser.post("/api/logout", headers={"X-CSRF-Token": token}, status=403)


def test_signing_out(service, browser):
    sign_in(browser)
    page = browser.get("/")
    token = browser.cookies[SESSION]
    left = page.forms[1].submit()
    assert left.headers["Location"] == "/login"
    assert SESSION not in browser.cookies
    service.anonymous.get("/api/me", headers={"Authorization": "Bearer " + token}, status=401)


class Outline(HTMLParser):
    """What every page must have."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.inline, self.lang, self.title = [], [], None, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append(tag)
        self.lang = attrs.get("lang", self.lang)
        self.inline += [name for name in attrs if name.startswith("on") or name == "style"]
        if tag == "style" or (tag == "script" and not attrs.get("src", "").startswith("/static/")):
            self.inline.append(tag)


@pytest.mark.parametrize("path", ["/", "/login", "/login/totp", "/nothing"])
def test_every_page_is_whole_and_has_no_inline_code(browser, path):
    sign_in(browser)
    page = browser.get(path, expect_errors=True)
    outline = Outline(page.text)
    assert outline.tags.count("h1") == 1
    assert outline.tags.count("title") == outline.tags.count("main") == 1
    assert outline.lang == "en"
    assert outline.inline == []
    csp = page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in csp
    assert "unsafe" not in csp
    assert page.headers["Referrer-Policy"]
    assert page.headers["X-Content-Type-Options"] == "nosniff"


def test_what_is_not_there_and_what_is_not_allowed_are_pages(service, browser):
    missing = browser.get("/nothing", status=404)
    assert missing.content_type == "text/html"
    assert "There is nothing here" in missing.text
    browser.put("/", status=405)


def test_static_files_are_served(browser):
    assert browser.get("/static/face.css").content_type == "text/css"
    assert browser.get("/static/icon-ok.svg").content_type == "image/svg+xml"
    browser.get("/static/../pages.py", status=404)
    browser.get("/static/nothing.js", status=404)


def test_the_overview_shows_what_there_is(service):
    service.otto.post_json(
        "/api/monitoring/endpoints", {"name": "<Shop>", "type": "http", "url": "http://shop.example/"}
    )
    page = service.vera.get("/")
    assert "&lt;Shop&gt;" in page.text
    assert "<Shop>" not in page.text
    assert "vera (viewer)" in page.text


def raw(browser, address, encodings):
    """The answer as it goes over the wire: WebTest unpacks what is packed."""
    headers = {"Accept-Encoding": encodings, "Cookie": "; ".join(f"{n}={v}" for n, v in browser.cookies.items())}
    return Request.blank(address, headers=headers, environ={"REMOTE_ADDR": "203.0.113.9"}).get_response(browser.app)


def test_static_files_are_kept_for_a_year_under_their_digest(browser):
    address = re.search(r'href="(/static/[0-9a-f]{16}/face\.css)"', browser.get("/login").text).group(1)
    kept = raw(browser, address, "gzip")
    assert kept.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert (kept.headers["Content-Encoding"], kept.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(kept.body) == browser.get("/static/face.css").body
    assert len(kept.body) < 12_000
    for old in ("/static/face.css", "/static/0123456789abcdef/face.css"):
        assert browser.get(old).headers["Cache-Control"] == "no-cache"
    for none in ("/static/", "/static/a/b/face.css", "/static/nothing.css", "/static/a/../../pages.py"):
        browser.get(none, status=404)
    with pytest.raises(LookupError, match="nothing"):
        files.address("nothing.css")


def test_a_page_is_compressed_where_its_reader_takes_that(browser):
    sign_in(browser)
    packed = raw(browser, "/monitors", "br, gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert {each.strip() for each in packed.headers["Vary"].split(",")} == {"X-Part", "Accept-Encoding"}
    assert b"<h1>Monitors</h1>" in gzip.decompress(packed.body)
    for encodings in ("", "br", "gzip;q=0"):
        assert "Content-Encoding" not in raw(browser, "/monitors", encodings).headers
    assert "Content-Encoding" not in raw(browser, "/nothing", "gzip").headers


def test_the_token_of_a_form_is_another_on_each_page(browser):
    sign_in(browser)
    pattern = 'name="csrf-token" content="([0-9a-f]{128})"'
    first, second = (re.search(pattern, browser.get("/").text).group(1) for _ in range(2))
    assert first != second
    browser.post("/api/logout", headers={"X-CSRF-Token": "g" + first[1:]}, status=403)
    browser.post("/api/logout", headers={"X-CSRF-Token": first[:64] + second[64:]}, status=403)
    assert browser.post("/api/logout", headers={"X-CSRF-Token": first}).json == {"status": "ok"}


def test_every_page_says_what_is_wrong_now(service):
    page = service.vera.get("/settings")
    tally = page.html.select_one("#counts #tally")
    assert (tally["data-title"], tally["data-worst"], tally["data-approvals"]) == ("", "ok", "0")
    asks = {"name": "needs", "type": "script", "params": {"script": "echo hi"}, "requires_approval": True}
    made = service.ada.post_json("/api/automations", asks).json["id"]
    service.otto.post(f"/api/automations/{made}/run")
    assert service.vera.get("/").html.select_one(".side [data-badge=approvals]").text == "0", "a viewer decides nothing"
    for page in (service.otto.get("/"), service.otto.get("/settings")):
        assert page.html.select_one(".side [data-badge=approvals]").text == "1"
    counts = service.otto.get("/", headers={"X-Part": "counts"})
    assert counts.html.select_one("#tally")["data-approvals"] == "1"
    assert "<html" not in counts.text


def test_the_zone_of_a_browser_is_used(service):
    for zone, said in (("Asia/Kolkata", "Kolkata time"), ("../../etc/passwd", "UTC time")):
        assert said in service.otto.get("/", headers={"Cookie": f"opsapp_zone={zone}"}).text
