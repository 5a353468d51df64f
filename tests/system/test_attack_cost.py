"""What a caller whom nobody knows may cost: at most 20 ms of processor a request, whatever its head and body hold.
It is counted in ticks of the server's processor, 10 ms each: what else the machine does is not in them."""

import json
import re

import pytest

from tests.support.process import Serve
from tests.support.raw import Raw

pytestmark = [pytest.mark.system, pytest.mark.attack]

MOST = 2  # ticks a request
TIMES = 25
JSON = "Content-Type: application/json"
FORM = "Content-Type: application/x-www-form-urlencoded"
PARTS = "Content-Type: multipart/form-data; boundary=b"
SMALL, MIDDLE, LARGE = 15 << 10, 63 << 10, 1000 << 10
WRONG = "a" * 64


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    config = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}}}
    with Serve(tmp_path_factory.mktemp("cost"), config=config) as running:
        with Raw(running.port) as raw:
            assert raw.get("/login").status == 200  # the first request of a kind compiles templates and more
            raw.get("/api/login", JSON, method="POST", body=b"{}")
        yield running


def unknown_keys(size):
    keys, length = {}, 2
    while length < size:
        name = f"k{len(keys)}"
        keys[name] = 0
        length += len(name) + 7
    return json.dumps(keys).encode()


def fields(size, begin=""):
    return (begin + "&".join(f"f{n}" for n in range(size)))[:size].encode()


def cookie_and_token(port):
    with Raw(port) as raw:
        got = raw.get("/login")
    token = re.search(rb'name="csrf_token" value="([0-9a-f]+)"', got.body).group(1).decode()
    return got.headers["set-cookie"].partition(";")[0], token


# name: (method, path, headers, body)
HOSTILE = {
    "unknown keys to the sign-in": ("POST", "/api/login", [JSON], unknown_keys(SMALL)),
    "unknown keys, 1 MiB": ("POST", "/api/login", [JSON], unknown_keys(LARGE)),
    "unknown keys to the second step": ("POST", "/api/login/totp", [JSON], unknown_keys(SMALL)),
    "deep JSON": ("POST", "/api/login", [JSON], b"[" * SMALL),
    "deep objects": ("POST", "/api/login", [JSON], b'{"a":' * (SMALL // 5)),
    "long numbers": ("POST", "/api/login", [JSON], b'{"username":' + b"9" * SMALL + b"}"),
    "many numbers": ("POST", "/api/login", [JSON], b'{"username":[' + b"1e300," * (SMALL // 6) + b"1]}"),
    "form fields without a cookie": ("POST", "/login", [FORM], fields(LARGE)),
    "form fields without a token": ("POST", "/login", [FORM, "Cookie: opsapp_form=" + WRONG], fields(SMALL)),
    "a form for nobody's page": ("POST", "/monitors", [FORM], fields(LARGE)),
    "multipart": ("POST", "/login", [PARTS], b"--b\r\n\r\n\r\n" * (SMALL // 9)),
    "a webhook of nobody": ("POST", "/api/automations/webhook/" + WRONG, [JSON], unknown_keys(MIDDLE)),
    "a webhook of nobody, 1 MiB": ("POST", "/api/automations/webhook/" + WRONG, [JSON], unknown_keys(LARGE)),
    "a webhook of nobody, once": (
        "POST", "/api/automations/webhook/" + WRONG, [JSON, "Idempotency-Key: 1"], unknown_keys(MIDDLE),
    ),
    "a webhook of nobody, once, 1 MiB": (
        "POST", "/api/automations/webhook/" + WRONG, [JSON, "Idempotency-Key: 1"], unknown_keys(LARGE),
    ),
    "a push of nobody": ("POST", "/api/monitoring/push/" + WRONG, [JSON], unknown_keys(LARGE)),
    "reports with a wrong key": ("POST", "/api/agents/a1/report", [JSON, f"X-Agent-Key: {WRONG}"], unknown_keys(LARGE)),
    "an API call with a wrong token": (
        "POST", "/api/monitoring/endpoints", [JSON, f"Authorization: Bearer {WRONG}"], unknown_keys(LARGE),
    ),
    "a node's header that is none": ("GET", "/api/status/public", ["X-Opsapp-Node: " + "a" * 8000 + ".b"], None),
    "parameters": ("GET", "/api/monitoring/status-page?" + fields(8000).decode(), [], None),
    "parameters of a sign-in": ("GET", "/api/auth/oidc/callback?" + fields(8000).decode(), [], None),
    "parameters for nobody": ("GET", "/api/agents?" + "token=a&" * 1000, [], None),
    "cookies": ("GET", "/api/agents", ["Cookie: " + "a=b; " * 1500] * 4, None),
    "quoted cookies": ("GET", "/api/agents", ['Cookie: a="' + "\\0" * 3900 + '"'] * 4, None),
    "blanks in a header": ("GET", "/api/agents", ["X:" + " " * 30_000 + "\x01"], None),
    "words and blanks in a header": ("GET", "/api/agents", ["X: " + "a " * 15_000 + "\x01"], None),
    "header lines": ("GET", "/api/agents", [f"X-{n}: {'a' * 200}" for n in range(95)], None),
    "the API document": ("GET", "/api/openapi.json", [], None),
    "the API document for people": ("GET", "/api/docs", [], None),
    "tags": ("GET", "/api/status/public", ["If-None-Match: " + '"a",' * 7000], None),
    "languages and types": ("GET", "/login", ["Accept: " + "a/b;q=0.1," * 1500], None),
    "ranges": ("GET", "/api/agents/agent.pyz", ["Range: bytes=" + "0-0," * 7000], None),
    "addresses on the way": ("GET", "/api/agents", ["X-Forwarded-For: " + "1.2.3.4," * 3500], None),
    "steps": ("GET", "/a" * 4000, [], None),
    "steps of the API": ("GET", "/api" + "/a" * 4000, [], None),
    "slashes": ("GET", "/" * 8000, [], None),
    "escapes": ("GET", "/%61" * 1900, [], None),
}  # fmt: skip


def ask(port, method, path, headers, body):
    """The status; a refusal may come before the body is taken, and then the rest of it finds nobody."""
    with Raw(port) as raw:
        try:
            lines = [f"{method} {path} HTTP/1.1", "Host: x", *headers]
            lines += [] if body is None else [f"Content-Length: {len(body)}"]
            raw.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b""))
        except OSError:
            pass
        return raw.head()[0]


def ticks_of(serve, fn, times=TIMES):
    """Ticks of processor for so many calls."""
    fn()
    before = serve.ticks()
    for _ in range(times):
        fn()
    return serve.ticks() - before


@pytest.mark.parametrize("name", HOSTILE)
def test_nobody_costs_more_than_20_ms(serve, name):
    method, path, headers, body = HOSTILE[name]
    statuses = set()
    ticks = ticks_of(serve, lambda: statuses.add(ask(serve.port, method, path, headers, body)))
    assert ticks <= MOST * TIMES, name
    assert max(statuses) < 500


def test_a_form_that_fits_its_cookie_is_bounded_too(serve):
    """Anybody can get a cookie and its token."""
    held, token = cookie_and_token(serve.port)
    body = fields(SMALL, f"csrf_token={token}&")
    statuses = set()
    ticks = ticks_of(serve, lambda: statuses.add(ask(serve.port, "POST", "/login", [FORM, f"Cookie: {held}"], body)))
    assert ticks <= MOST * TIMES
    assert statuses == {413}


def test_a_head_in_single_bytes_is_looked_through_once(serve):
    head = b"GET /api/agents HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 290) for n in range(90))
    before = serve.ticks()
    with Raw(serve.port) as raw:
        for at in range(len(head)):
            raw.send(head[at : at + 1])
        assert raw.send(b"\r\n").answer().status == 401
    assert serve.ticks() - before <= 200  # what it costs to be woken 26,000 times


def test_chunks_of_nearly_nothing_are_refused(serve):
    chunks = b"10;" + b"a" * 200 + b"\r\n" + b"a" * 16 + b"\r\n"

    def send():
        with Raw(serve.port) as raw:
            try:
                raw.send(
                    b"POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n" + chunks * 4000 + b"0\r\n\r\n"
                )
            except OSError:
                pass
            assert raw.head()[0] in {400, 413}

    assert ticks_of(serve, send) <= MOST * TIMES


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/login"),
        ("POST", "/login/totp"),
        ("POST", "/api/login"),
        ("POST", "/api/login/totp"),
        ("GET", "/api/auth/oidc/callback"),
        ("POST", "/api/auth/oidc/callback"),
    ],
)
def test_who_signs_in_sends_at_most_16_kib(serve, method, path):
    with Raw(serve.port) as raw:
        raw.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {(16 << 10) + 1}\r\n\r\n".encode())
        got = raw.answer()
        assert (got.status, got.json["code"]) == (413, "too_large")
    with Raw(serve.port) as raw:
        raw.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        raw.send(b"4001\r\n" + b"a" * 0x4001 + b"\r\n")
        assert raw.answer().status == 413


def test_a_refusal_names_50_fields_and_counts_the_others(serve):
    with Raw(serve.port) as raw:
        body = json.dumps({f"k{n}": n for n in range(500)}).encode()
        got = raw.get("/api/login", JSON, method="POST", body=body)
    assert got.status == 422
    assert len(got.json["fields"]) == 50
    assert {"username", "password", "k0", "k47"} <= set(got.json["fields"])
    assert got.json["error"].endswith(" and 452 more")
    assert len(got.body) < 8000


def test_who_is_known_may_not_stall_it_either(serve):
    """A megabyte of unknown keys, of entries that are all wrong, and of form fields, by a person who is signed in."""
    token = serve.admin.token
    headers = [JSON, f"Authorization: Bearer {token}"]
    entries = json.dumps({"name": "n", "type": "script", "params": {}, "inputs": [{"a": 1}] * 1000}).encode()
    for path, body in (("/api/monitoring/endpoints", unknown_keys(LARGE)), ("/api/automations", entries)):
        statuses = set()
        ticks = ticks_of(serve, lambda: statuses.add(ask(serve.port, "POST", path, headers, body)), 4)  # noqa: B023
        assert ticks <= 4 * 25, path
        assert statuses == {422}
    session = [FORM, f"Cookie: opsapp_session={token}"]
    assert ticks_of(serve, lambda: ask(serve.port, "POST", "/monitors", session, fields(LARGE)), 4) <= 4 * 10, "form"
