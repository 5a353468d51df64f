"""One node behind nginx, with the files of the guide: people, agents, streams, and a domain of a status page."""

import contextlib
import http.client
import re
import socket
import ssl
import subprocess
import urllib.parse

import pytest

from tests.support.agent_process import EnrolledAgent
from tests.support.client import Answer
from tests.support.nginx import Nginx, guide
from tests.support.process import PASSWORD, Serve, free_port
from tests.support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.own_store]

OPS, ACME, STATUS = "ops.example.org", "status.acme.example", "status.lindenhof.example"
LINK = re.compile(r'(?:href|src|action|data-[a-z]+)="(/[^"#]*)"')
NOT_OUTSIDE = ("/login", "/api/me", "/api/status/public", "/metrics", "/monitors", "/index.html")
WEB = {"base_url": f"https://{OPS}", "trusted_proxies": ["127.0.0.1"]}


class Browser:
    """Asks nginx for a host by its name, from an address of this machine, and keeps the cookies."""

    def __init__(self, port, certificate, host, source="127.0.0.1"):
        self.port, self.host, self.source, self.cookies = port, host, source, {}
        self.context = ssl.create_default_context(cafile=str(certificate))

    def ask(self, method, path, form=None, **headers):
        """The whole answer."""
        with contextlib.closing(self.opened(method, path, form, **headers)) as link:
            answer = link.getresponse()
            for cookie in answer.headers.get_all("Set-Cookie") or ():
                name, _, value = cookie.split(";")[0].partition("=")
                self.cookies[name] = value
            return Answer(answer.status, answer.headers, answer.read())

    def opened(self, method, path, form=None, **headers):
        sent = {"Host": self.host, "Connection": "close", **headers}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if form is not None:
            sent |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"https://{self.host}"}
        raw = socket.create_connection(("127.0.0.1", self.port), 60, (self.source, 0))
        link = http.client.HTTPConnection(self.host)
        link.sock = self.context.wrap_socket(raw, server_hostname=self.host)
        link.request(method, path, form and urllib.parse.urlencode(form), sent)
        return link

    def page(self, path):
        answer = self.ask("GET", path)
        text = answer.body.decode(errors="replace")
        assert answer.status == 200, (path, answer.status, text[:300])
        return text

    def follow(self, page):
        """Every address that the page has, and that pages behind it have, answers."""
        waiting, seen = [page], set()
        while waiting:
            paths = {path.replace("&amp;", "&") for path in LINK.findall(waiting.pop())} - seen
            seen |= paths
            waiting += [self.page(path) for path in sorted(paths)]
        return seen


def certificate(directory, *names):
    """Of an authority of its own, for these names."""
    found = ",".join(f"DNS:{name}" for name in names)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=test", "-addext", f"subjectAltName={found},IP:127.0.0.1",
         "-keyout", str(directory / "ops.key"), "-out", str(directory / "ops.pem")],
        check=True, capture_output=True,
    )  # fmt: skip
    return directory / "ops.pem"


@pytest.fixture(scope="module")
def behind(tmp_path_factory):
    place = tmp_path_factory.mktemp("behind")
    port, pem = free_port(), certificate(place, OPS, ACME, STATUS)
    with Serve(place / "serve", {"web": WEB}) as serve:
        blocks = [guide("upgrade", "running"), guide("acme", "status-page"), guide("lindenhof", "status-page")]
        servers = "\n".join(blocks).replace("127.0.0.1:6080", f"127.0.0.1:{serve.port}")
        servers = servers.replace("/etc/nginx/", f"{place}/").replace("listen 443", f"listen 127.0.0.1:{port}")
        with Nginx(place / "nginx", servers, port) as nginx:
            nginx.serve, nginx.pem = serve, pem
            yield nginx


def browser(behind, host, **more):
    return Browser(behind.port, behind.pem, host, **more)


def signed_in(behind, **more):
    person = browser(behind, OPS, **more)
    form = {"username": "admin", "password": PASSWORD, "csrf_token": token_of(person.page("/login"))}
    answer = person.ask("POST", "/login", form)
    assert (answer.status, located(answer)) == (303, "/first-steps"), answer.body[:300]
    return person


def located(answer):
    """Where it leads, as a browser understands it: within the host that was asked."""
    parts = urllib.parse.urlsplit(answer.headers["Location"])
    assert parts.netloc in ("", OPS), parts
    return parts.path


def token_of(page):
    return re.search(r'name="csrf_token"[^>]* value="([^"]+)"', page)[1]


def test_a_person_signs_in_and_stays_at_the_public_address(behind):
    person = signed_in(behind)
    assert "Overview" in person.page("/")
    assert located(browser(behind, OPS).ask("GET", "/monitors")) == "/login"


def test_cookies_are_for_https_alone(behind):
    person = browser(behind, OPS)
    person.page("/login")
    form = {"username": "admin", "password": PASSWORD, "csrf_token": token_of(person.page("/login"))}
    cookies = person.ask("POST", "/login", form).headers.get_all("Set-Cookie")
    assert cookies
    assert all("; secure" in cookie.lower() for cookie in cookies), cookies


@pytest.mark.attack
def test_the_address_of_a_person_is_the_one_that_nginx_saw(behind):
    """Whoever sends an X-Forwarded-For of his own is still found at his own address."""
    person = browser(behind, OPS, source="127.0.0.9")
    form = {"username": "mallory", "password": "wrong", "csrf_token": token_of(person.page("/login"))}
    person.ask("POST", "/login", form, **{"X-Forwarded-For": "203.0.113.9"})
    entries = [entry for entry in behind.serve.admin.get("/api/audit?limit=20") if "mallory" in str(entry)]
    assert {entry["ip"] for entry in entries} == {"127.0.0.9"}, entries


def test_events_arrive_while_their_stream_is_open(behind):
    person = signed_in(behind)
    with contextlib.closing(person.opened("GET", "/api/stream")) as link, link.getresponse() as stream:
        assert stream.headers["Content-Type"].startswith("text/event-stream")
        monitor = behind.serve.admin.post("/api/monitoring/endpoints", {"name": "told-at-once", "type": "push"})
        heard = b""
        while monitor["id"].encode() not in heard:
            piece = stream.read1(65536)
            assert piece, heard
            heard += piece


class AgentOutside(EnrolledAgent):
    """It knows the server by the address of nginx alone."""

    url = ""

    def argv(self, *more):
        argv = super().argv(*more)
        argv[argv.index("--server") + 1] = self.url
        return argv


def test_an_agent_has_its_session_through_nginx(behind, tmp_path):
    agent = AgentOutside(tmp_path / "agent", behind.serve, ca_file=str(behind.pem))
    agent.url = f"https://127.0.0.1:{behind.port}"
    with agent:
        agent.online()
        assert agent.finished(agent.ask("echo through nginx"))["status"] == "done"
    until(lambda: '" 101 by' in behind.access(), what="nginx writing down the session, which it does at its end")


def test_a_status_page_has_a_domain_of_its_own(behind):
    admin = behind.serve.admin
    shown = admin.post("/api/monitoring/endpoints", {"name": "Acme checkout", "type": "push"})
    admin.post("/api/monitoring/endpoints", {"name": "Of another customer", "type": "push", "tags": ["public"]})
    admin.post(
        "/api/status/pages",
        {"slug": "acme", "name": "Acme", "public_url": f"https://{ACME}",
         "groups": [{"name": "Shop", "monitors": [shown["id"]]}]},
    )  # fmt: skip
    visitor = browser(behind, ACME)
    first = visitor.ask("GET", "/")
    assert (first.status, urllib.parse.urlsplit(first.headers["Location"]).path) == (302, "/status/acme")
    page = visitor.page("/status/acme")
    assert "Acme checkout" in page
    assert "Of another customer" not in page
    assert "/status/acme/feed.rss" in (seen := visitor.follow(page)), seen
    for path in (
        "/login",
        "/status",
        "/status/monitors/x",
        "/api/me",
        "/api/status/public",
        "/metrics",
        "/status/other",
    ):
        assert visitor.ask("GET", path).status == 404, path


def test_the_page_of_all_has_a_domain_and_its_forms_work_there(behind):
    told = {"public_url": f"https://{STATUS}", "subscribe_by": ["webhook"]}
    behind.serve.admin.put("/api/status/settings", told)
    behind.serve.admin.post("/api/monitoring/endpoints", {"name": "Shop", "type": "push", "tags": ["public"]})
    visitor = browser(behind, STATUS)
    assert urllib.parse.urlsplit(visitor.ask("GET", "/").headers["Location"]).path == "/status"
    page = until(lambda: "Shop" in (text := visitor.page("/status")) and text, what="the monitor on the page")
    assert "/status.rss" in (seen := visitor.follow(page)), seen
    answer = visitor.ask("POST", "/status/subscribe", {"kind": "webhook", "address": "https://203.0.113.7/hook"})
    assert answer.status == 200, answer.body[:500]
    for path in NOT_OUTSIDE:
        assert visitor.ask("GET", path).status == 404, path
