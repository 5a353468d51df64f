"""Somebody who locks others out by trying to sign in as them, from many addresses."""

import json
import re
import subprocess
import sys
from urllib.parse import urlencode

import pytest

from opsapp.auth.engine.browsers import cookie_name
from tests.support.process import PASSWORD, ROOT, Serve
from tests.support.raw import Raw

pytestmark = [pytest.mark.system, pytest.mark.attack]

TRIES = 5
FORM = "Content-Type: application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    config = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": TRIES, "window_s": 3600}}}
    with Serve(tmp_path_factory.mktemp("locks"), config=config) as running:
        yield running


class Browser:
    """One that keeps its cookies."""

    def __init__(self, serve):
        self.serve, self.cookies = serve, {}

    def ask(self, method, path, body=None):
        headers = ["Cookie: " + "; ".join(f"{name}={value}" for name, value in self.cookies.items())]
        headers += [FORM] if body else []
        with Raw(self.serve.port) as raw:
            got = raw.get(path, *headers, method=method, body=body)
        for name, value in re.findall(r"(opsapp_\w+)=([^;,]*)", got.headers.get("set-cookie", "")):
            self.cookies[name] = value
        return got

    def sign_in(self, username, password=PASSWORD):
        """The status: 303 when it went well."""
        return self.send(self.page(), username, password)

    def page(self):
        """The form's token."""
        page = self.ask("GET", "/login").body.decode()
        return re.search(r'name="csrf_token" value="(\w+)"', page).group(1)

    def send(self, token, username, password=PASSWORD):
        body = urlencode({"csrf_token": token, "username": username, "password": password})
        return self.ask("POST", "/login", body.encode()).status

    def known(self):
        return {name: value for name, value in self.cookies.items() if name.startswith("opsapp_browser_")}


def user(serve, name):
    serve.admin.post("/api/users", {"username": name, "role": "viewer", "password": PASSWORD})
    return name


def lock(serve, username):
    body = json.dumps({"username": username, "password": "a wrong password"}).encode()
    statuses = []
    for _ in range(TRIES + 1):
        with Raw(serve.port) as raw:
            got = raw.get("/api/login", "Content-Type: application/json", method="POST", body=body)
            statuses.append(got.status)
    assert statuses[-1] == 429


def test_others_do_not_lock_a_known_browser_out(serve):
    name, browser = user(serve, "grace"), Browser(serve)
    assert browser.sign_in(name) == 303
    lock(serve, name)
    assert Browser(serve).sign_in(name) == 429
    browser.cookies.pop("opsapp_session")
    assert browser.sign_in(name) == 303


def test_a_known_browser_has_no_more_tries(serve):
    """A stolen cookie is no way to guess without end."""
    name, browser = user(serve, "hilda"), Browser(serve)
    assert browser.sign_in(name) == 303
    assert [browser.sign_in(name, "a wrong password") for _ in range(TRIES + 2)] == [401] * TRIES + [429] * 2
    assert Browser(serve).sign_in(name) == 303


def test_no_cookie_but_ones_own_helps(serve):
    name, other = user(serve, "ida"), user(serve, "jane")
    browser = Browser(serve)
    assert browser.sign_in(other) == 303
    (stolen,) = browser.known().values()
    assert Browser(serve).sign_in(name) == 303
    lock(serve, name)
    for value in (stolen, stolen[:-4] + "AAAA", "nonsense", "a.b", ""):
        tried = Browser(serve)
        tried.cookies[cookie_name(name)] = value
        assert tried.sign_in(name) == 429


def test_an_admin_unlocks(serve):
    name = user(serve, "kate")
    lock(serve, name)
    assert Browser(serve).sign_in(name) == 429
    assert serve.admin.post(f"/api/users/{name}/unlock") == {"status": "ok"}
    assert Browser(serve).sign_in(name) == 303
    entries = serve.admin.get("/api/audit?action=user.unlock")
    assert [each["username"] for each in entries if each["target"] == name] == ["admin"]
    assert serve.admin.request("POST", "/api/users/nobody-here/unlock", {}).status == 404


@pytest.mark.nightly("starts many processes for one command")
def test_the_command_line_unlocks(serve):
    name = user(serve, "lena")
    lock(serve, name)
    assert serve.stop() == 0
    command = [sys.executable, "-m", "opsapp.cli", "user", "unlock", name, *serve.places]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=serve.environment(), cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, f"unlocked {name}\n"), done.stderr
    serve.start()
    assert Browser(serve).sign_in(name) == 303
    assert name in [each["target"] for each in serve.admin.get("/api/audit?action=user.unlock")]
