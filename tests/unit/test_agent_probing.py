"""What an agent sees of targets of each kind, over real sockets, and that it answers in time whatever they do."""

import json
import pathlib
import socket
import ssl
import threading
from types import SimpleNamespace

import pytest
from cryptography import x509

from opsapp.agent.probing import gate
from opsapp.agent.probing.plugins import PluginRunner
from opsapp.agent.probing.probesunderway import MOST, SLACK_S, Probing, gate_of, look, message_of, target_of
from opsapp.wire import probemessages, probes
from opsapp.wire.checks import checks_of
from opsapp.wire.fields import record
from opsapp.wire.records import plain
from tests.support.certificates import Authority
from tests.support.targets import NameServer, blackhole, refused_port, website
from tests.support.waiting import patience, until

ZONE = {("shop.example", "A"): ["192.0.2.7"], ("shop.example", "MX"): ["10 mx.example."],
        ("shop.example", "TXT"): ['"a text"'], ("shop.example", "AAAA"): ["2001:db8::7"],
        ("shop.example", "SRV"): ["1 2 443 a.example."], ("shop.example", "CAA"): ['0 issue "ca.example"'],
        ("shop.example", "SOA"): ["ns.example. root.example. 1 2 3 4 5"],
        ("shop.example", "CNAME"): ["b.example."]}  # fmt: skip


def asked(kind, url, **more):
    return record({"type": kind, "url": url, "timeout": 5, **more}, probemessages.PROBE_TARGET)


def seen(kind, url, **more):
    target = asked(kind, url, **more)
    found = look(target_of(target), gate_of(target), None)
    return record(plain(message_of(found)), checks_of(probes.Outcome))  # it fits into its message


@pytest.fixture(scope="module")
def site():
    with website() as site:
        yield site


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


def test_http_is_up_with_its_phases(site):
    found = seen("http", site.url)
    assert (found["ok"], found["detail"], found["http_status"]) == (True, "HTTP 200", 200)
    assert found["protocol"] == "HTTP/1.1"
    assert {"name", "connect", "first_byte", "total"} == set(found["phases"])
    assert found["response_time_ms"] == found["phases"]["total"]


def test_the_body_goes_out_and_is_not_sent_again_where_a_redirect_becomes_a_get(site):
    assert seen("http", f"{site.url}/login", method="POST", body='{"user": "ü"}')["ok"]
    assert site.bodies[-1].decode() == '{"user": "ü"}'
    assert seen("http", f"{site.url}/redirect/1", method="POST", body="abc")["ok"]
    assert site.bodies[-3:] == [b"abc", b"", b""]


@pytest.mark.parametrize(
    ("kind", "path", "more", "ok", "words"),
    [
        ("http", "/status/404", {}, False, "HTTP 404"),
        ("http", "/status/404", {"expected_status": 404}, True, "HTTP 404"),
        ("http", "/status/200", {"expected_status": 404}, False, "HTTP 200, expected 404"),
        ("http", "/status/401", {"accepted_statuses": ["200-299", "401"]}, True, "HTTP 401"),
        ("http", "/status/404", {"accepted_statuses": ["200-299", "401"]}, False, "HTTP 404, expected 200-299, 401"),
        ("http", "/redirect/1", {"accepted_statuses": ["302"]}, False, "HTTP 200, expected 302"),
        ("http", "/redirect/1", {"accepted_statuses": ["302"], "follow_redirects": False}, True, "HTTP 302"),
        ("http", "/redirect/1", {"max_redirects": 1}, False, "more than 1 redirects"),
        ("http", "/redirect/8", {"max_redirects": 9}, True, "HTTP 200"),
        ("http", "/", {"ip_family": "ipv6"}, False, "no IPv6 address"),
        ("http", "/", {"ip_family": "ipv4"}, True, "HTTP 200"),
        ("json", "/json", {"json_path": "$.items[0].n", "expected_value": 6, "comparison": ">"}, True, "HTTP 200"),
        ("json", "/json", {"json_path": "$.items[0].n", "expected_value": 7, "comparison": "<"}, False, "expected < 7"),
        ("json", "/json", {"json_path": "$.state", "expected_value": 7, "comparison": ">"}, False, "expected > 7"),
        ("json", "/json", {"json_path": "$.state", "expected_value": "bad", "comparison": "!="}, True, "HTTP 200"),
        ("json", "/json", {"json_path": "$.state", "expected_value": "k", "comparison": "contains"}, True, "HTTP 200"),
        ("json", "/json", {"json_path": "$.items", "expected_value": 7, "comparison": "contains"}, False, "contains 7"),
        ("json", "/json", {"json_path": "$.items[0].n", "expected_value": 7, "comparison": "contains"}, False, "conta"),
        ("http", "/redirect/4", {}, True, "HTTP 200"),
        ("http", "/redirect/5", {}, False, "more than 5 redirects"),
        ("http", "/loop", {}, False, "more than 5 redirects"),
        ("http", "/loop", {"follow_redirects": False}, True, "HTTP 302"),
        ("http", "/to?file:///etc/passwd", {}, False, "not http"),
        ("http", "/to?http://169.254.169.254/", {"deny": ["169.254.169.254/32"]}, False, "may not be reached"),
        ("http", "/endless", {}, True, "HTTP 200"),
        ("keyword", "/", {"keyword": "Welcome"}, True, "HTTP 200"),
        ("keyword", "/", {"keyword": "Farewell"}, False, "is missing"),
        ("keyword", "/", {"keyword": "Welcome", "keyword_absent": True}, False, "is there"),
        ("keyword", "/gzip", {"keyword": "packed"}, True, "HTTP 200"),
        ("json", "/json", {"json_path": "$.items[0].n", "expected_value": 7}, True, "HTTP 200"),
        ("json", "/json", {"json_path": "$.state", "expected_value": "bad"}, False, "expected"),
        ("json", "/json", {"json_path": "$.half", "expected_value": 1}, False, '"a\\ud800", expected 1'),
        ("json", "/json", {"json_path": "$.none", "expected_value": 1}, False, "nothing at"),
        ("json", "/", {"json_path": "$", "expected_value": 1}, False, "not JSON"),
        ("json", "/endless", {"json_path": "$", "expected_value": 1}, False, "larger"),
    ],
)
def test_web_targets_are_judged_as_the_server_judges_them(site, kind, path, more, ok, words):
    found = seen(kind, site.url.rstrip("/") + path, **more)
    assert found["ok"] is ok
    assert words in found["detail"]


NO_HTTP = [b"\x00\x00\x05hello\r\n", b"HTTP/1.1 302 x\r\nLocation: http://\x00/\r\n\r\n", b"\xed\xa0\x80\x1b[3m\r\n"]


@pytest.mark.parametrize("said", NO_HTTP)
def test_what_speaks_no_http_is_down_and_its_words_fit_into_the_message(said):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            client = server.accept()[0]
            with client:
                client.recv(4096)
                client.sendall(said)

        threading.Thread(target=answer, daemon=True).start()
        found = seen("http", f"http://127.0.0.1:{server.getsockname()[1]}/")
    assert found["ok"] is False
    assert found["detail"].isprintable()


def test_method_headers_and_credentials(site):
    site.seen.clear()
    seen("http", site.url, method="POST", headers={"X-A": "b", "Authorization": "Bearer x"})
    method, _, headers = site.seen[0]
    assert (method, headers["X-A"], headers["Authorization"]) == ("POST", "b", "Bearer x")
    secrets = {"Authorization": "Bearer secret", "X-Api-Key": "secret"}
    with website() as other:
        for host in ("localhost", "127.0.0.1"):
            seen("http", f"{site.url.rstrip('/')}/to?http://{host}:{other.port}/", headers=secrets)
            assert "secret" not in str(other.seen[-1][2])


def test_a_certificate_is_judged_and_its_days_are_told(authority, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", authority.ca_file)
    for label, settings, words in (
        ("good", {}, None),
        ("expired", {"days": -3}, "expired"),
        ("elsewhere", {"names": ("other.example",)}, "mismatch"),
        ("selfmade", {"self_signed": True}, "self"),
    ):
        with website(authority.issue(label, **settings)) as secure:
            for kind, url in (("http", secure.url), ("tls", f"tls://localhost:{secure.port}")):
                found = seen(kind, url.replace("127.0.0.1", "localhost"))
                assert found["ok"] is (words is None), found
                assert found["certificate_days"] == pytest.approx(settings.get("days", 90), abs=0.1)
                assert words is None or words in found["detail"].lower()
            lenient = seen("tls", f"tls://localhost:{secure.port}", verify_tls=False)
            assert lenient["ok"] is (settings.get("days", 1) > 0)


def test_the_end_of_a_certificate_is_read_as_others_read_it(authority):
    path, _ = authority.issue("read")
    der = ssl.PEM_cert_to_DER_cert(pathlib.Path(path).read_text())
    assert probes.not_after(der) == x509.load_der_x509_certificate(der).not_valid_after_utc.timestamp()
    with pytest.raises(Exception, match="unreadable"):
        probes.not_after(der[:40])


def test_tcp_and_ping(site):
    assert seen("tcp", f"tcp://127.0.0.1:{site.port}")["ok"] is True
    assert seen("tcp", f"tcp://127.0.0.1:{refused_port()}")["detail"] == "Connection refused"
    denied = seen("tcp", "tcp://127.0.0.1:80", deny=["127.0.0.0/8"])
    assert denied["detail"] == "the address 127.0.0.1 may not be reached"
    assert "name" in seen("tcp", "tcp://no.such.host.invalid:80")["detail"]
    assert seen("ping", "ping://127.0.0.1")["ok"] in (True, None)  # None where the system allows no ICMP socket


@pytest.mark.parametrize("truncate", [False, True])
@pytest.mark.parametrize(
    ("question", "expected", "ok", "words"),
    [
        ("shop.example?type=A", "192.0.2.7", True, "A answered"),
        ("shop.example?type=A", "192.0.2.8", False, "is not among"),
        ("shop.example?type=MX", "10 mx.example", True, ""),
        ("shop.example?type=TXT", "a text", True, ""),
        ("shop.example?type=AAAA", "2001:db8::7", True, ""),
        ("shop.example?type=SRV", "1 2 443 a.example.", True, ""),
        ("shop.example?type=CAA", '0 issue "ca.example"', True, ""),
        ("shop.example?type=SOA", "ns.example. root.example. 1 2 3 4 5", True, ""),
        ("shop.example?type=CNAME", "b.example.", True, ""),
        ("shop.example?type=NS", None, False, "no NS record"),
        ("nowhere.example?type=A", None, False, "NXDOMAIN"),
    ],
)
def test_dns(question, expected, ok, words, truncate):
    with NameServer(ZONE, truncate=truncate) as server:
        found = seen("dns", f"dns://127.0.0.1:{server.port}/{question}", expected_value=expected)
        assert found["ok"] is ok, found
        assert words in found["detail"]


@pytest.mark.parametrize("path", ["/drip", "/silent"])
def test_it_answers_in_time_whatever_the_target_does(site, path, monkeypatch):
    """Before the target has ended; and not before its time is over."""
    answers, came, waits, join = [], threading.Event(), [], threading.Thread.join

    def noted(thread, timeout=None):
        if thread.name == "looking":
            waits.append(timeout)
        join(thread, timeout)

    monkeypatch.setattr(threading.Thread, "join", noted)
    running = Probing(lambda said: (answers.append(said), came.set()), PluginRunner((), "/"))
    running.take("p1", asked("http", site.url.rstrip("/") + path, timeout=0.5))
    until(came.is_set, 30, what="the answer")
    assert waits == [0.5 + SLACK_S]
    assert answers[0].id == "p1"
    assert answers[0].outcome.ok is False
    assert "no answer within 0.5 s" in answers[0].outcome.detail


def test_a_probe_has_all_of_its_time_and_no_more(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(gate, "time", SimpleNamespace(monotonic=lambda: now[0]))
    given = gate_of(asked("tcp", "tcp://127.0.0.1:80", timeout=0.5))
    assert given.left() == 0.5
    now[0] += 0.4
    assert given.left() == pytest.approx(0.1)
    now[0] += 0.1
    with pytest.raises(TimeoutError):
        given.left()


def test_only_so_many_at_once_and_the_others_are_unknown():
    with blackhole() as port:
        answers = []
        running = Probing(lambda said: answers.append(said.outcome), PluginRunner((), "/"))
        for n in range(MOST + 1):
            running.take(f"p{n}", asked("http", f"http://127.0.0.1:{port}/", timeout=patience() / 5))
        assert [answer.ok for answer in answers] == [None]
        until(lambda: len(answers) == MOST + 1, what="every answer")
        assert all(json.dumps(plain(answer)) for answer in answers)
