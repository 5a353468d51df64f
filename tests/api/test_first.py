"""The smallest slice: sign in, say who one is, sign out; and the answers that every path gives."""

import shutil

import pytest


def test_signs_in_and_out(service):
    app = service.anonymous
    answer = app.post_json("/api/login", {"username": "admin", "password": "first admin password"})
    assert answer.json["role"] == "admin"
    headers = {"Authorization": "Bearer " + answer.json["token"]}
    assert app.get("/api/me", headers=headers).json == {"username": "admin", "role": "admin"}
    assert app.get("/api/me?token=" + answer.json["token"]).json["username"] == "admin"
    assert app.post("/api/logout", headers=headers).json == {"status": "ok"}
    assert app.get("/api/me", headers=headers, status=401).json["code"] == "unauthenticated"


@pytest.mark.parametrize("body", [{"username": "admin", "password": "wrong"}, {"username": "nobody", "password": "x"}])
def test_wrong_credentials_are_401(service, body):
    answer = service.anonymous.post_json("/api/login", body, status=401)
    assert answer.json["error"]


def test_sessions_end_after_a_day(service):
    vera = service.vera
    service.clock.advance(24 * 3600 - 1)
    vera.get("/api/me")
    service.clock.advance(1)
    vera.get("/api/me", status=401)


@pytest.mark.parametrize("path", ["/api", "/api/me", "/api/nothing", "/api/me/extra", "/api/users/x"])
@pytest.mark.shared
def test_nobody_learns_what_exists(service, path):
    answer = service.anonymous.get(path, status=401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Request-Id"]


def test_public_status(service):
    service.clock.advance(5)
    answer = service.anonymous.get("/api/status/public")
    assert answer.json == {"status": "ok", "version": answer.headers["X-Opsapp-Version"], "uptime_s": 5}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/nothing", 404),
        ("GET", "/api/me/extra", 404),
        ("GET", "/api/login", 405),
        ("DELETE", "/api/me", 405),
        ("GET", "/api/%ff", 400),
    ],
)
@pytest.mark.shared
def test_wrong_paths_and_methods(service, method, path, status):
    answer = service.vera.request(path, method=method, expect_errors=True)
    assert answer.status_int == status, answer.text
    assert set(answer.json) == {"error", "code"}
    assert status != 405 or answer.headers["Allow"]


@pytest.mark.shared
def test_slashes_in_front_of_the_api_make_it_no_page(service):
    for path in ("http://localhost//api/me", "http://localhost//api//nothing"):
        answer = service.anonymous.get(path, status=401)
        assert (answer.content_type, answer.headers["Cache-Control"]) == ("application/json", "no-store")
    assert service.vera.get("http://localhost//api/me").headers["ETag"]


@pytest.mark.shared
def test_an_address_that_is_no_text_gets_a_page_where_a_browser_asks(service):
    for path in ("/%ff", "/monitors/%ff", "/monitors?q=%ff", "/apix/%ff"):
        answer = service.anonymous.get(path, headers={"Accept": "text/html"}, expect_errors=True)
        assert (answer.status_int, answer.content_type) == (400, "text/html"), path
        assert "not valid UTF-8" in answer.text
    for path in ("/api/%ff", "/api/monitoring/%ff", "/api/monitoring/endpoints?q=%ff"):
        answer = service.anonymous.get(path, expect_errors=True)
        assert (answer.status_int, answer.json["code"]) == (400, "malformed"), path


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("application/json", b"", 400),
        ("application/json", b"[]", 400),
        ("application/json", b"{", 400),
        ("application/json", b'{"username": NaN, "password": "x"}', 400),
        ("application/json", b'{"a":1,"a":2}', 400),
        ("application/json", b"\xff", 400),
        ("application/json", b"[" * 16_000, 400),
        ("application/json", b'{"username": 1' + b"0" * 5000 + b"}", 400),
        ("Application/JSON; Charset=UTF-8", b"{}", 422),
        ("application/json; charset=latin-1", b"{}", 415),
        ("text/plain", b"{}", 415),
        ("application/json", b"{}", 422),
        ("application/json", b'{"username": 7, "password": null, "more": 1}', 422),
        ("application/json", b'{"\\ud800": 1}', 422),
        ("application/json", b'{"username": "' + b"a" * 1_100_000 + b'"}', 413),
    ],
)
@pytest.mark.shared
def test_bad_bodies(service, content_type, body, status):
    headers = {"Content-Type": content_type}
    answer = service.anonymous.post("/api/login", body, headers=headers, expect_errors=True)
    assert answer.status_int == status, answer.text
    assert answer.json["error"]
    assert "sys." not in answer.text
    assert "codec" not in answer.text
    if body.startswith(b'{"username": 7'):
        assert set(answer.json["fields"]) == {"username", "password", "more"}
    if b"ud800" in body:
        assert "\\ud800" in answer.json["fields"]


def test_a_packed_body_is_not_taken_for_a_broken_one(service):
    body, packed = {"username": "ada", "password": "x"}, {"Content-Encoding": "gzip"}
    answer = service.anonymous.post_json("/api/login", body, headers=packed, status=415)
    assert "Content-Encoding" in answer.json["error"]
    service.anonymous.post_json("/api/login", body, headers={"Content-Encoding": "identity"}, status=401)


@pytest.mark.shared
def test_a_number_of_the_query_that_is_far_out_of_bounds_is_told_the_bounds(service):
    answer = service.ada.get(f"/api/users?limit={10**25}", status=422)
    assert answer.json["fields"] == {"limit": "must be 1 to 1000"}


@pytest.mark.shared
def test_etag(service):
    first = service.vera.get("/api/me")
    again = service.vera.get("/api/me", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_int, again.body) == (304, b"")


@pytest.mark.parametrize("path", ["/api/audit/verify", "/api/doctor"])
def test_an_answer_that_took_its_time_has_an_etag_too(service, path, monkeypatch):
    usage = shutil.disk_usage("/")  # what the doctor says of the disk changes while others write
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: usage)
    first = service.ada.get(path)
    again = service.ada.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_int, again.body) == (304, b"")
    assert first.headers["Cache-Control"] == again.headers["Cache-Control"] == "no-cache"
    assert service.ada.get(path, headers={"If-None-Match": '"another"'}).status_int == 200


def test_an_answer_that_only_grew_older_is_the_same(service):
    first = service.anonymous.get("/api/status/public")
    service.clock.advance(60)
    assert service.anonymous.get("/api/status/public").json["uptime_s"] == first.json["uptime_s"] + 60
    again = service.anonymous.get("/api/status/public", headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_int, again.body) == (304, b"")


@pytest.mark.shared
def test_allow_names_what_works(service):
    path = "/api/monitoring/endpoints"
    for method in service.vera.request(path, method="PATCH", status=405).headers["Allow"].split(", "):
        assert service.vera.request(path, method=method, expect_errors=True).status_int != 405
    assert service.vera.head(path).body == b""
