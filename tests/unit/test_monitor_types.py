"""The types of monitors, declared once: every one of them is in the form, the guide and the message to agents; and the
probes that server and agents share, on answers that no real server gives."""

import contextlib
import pathlib
import socket
import struct
import threading
from calendar import timegm

import pytest

from opsapp.agent.probing.gate import SocketGate
from opsapp.agent.session import FEATURES
from opsapp.ui.plan.monitors import CREATE
from opsapp.ui.shapes.monitorform import kind_of
from opsapp.wire import dns, probemessages, probes, webchecks
from opsapp.wire.addresses import AddressPolicy
from opsapp.wire.fields import record
from opsapp.wire.monitortypes import TYPES, every_own
from opsapp.wire.probes import Outcome, ProbeFailed, ProbeTarget, ProbeUnavailable, guarded
from opsapp.wire.records import FormField, parts_of, plain
from opsapp.wire.typesettings import LARGEST, DnsSettings, JsonSettings
from tests.support.targets import refused_port, udp_and_tcp

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/guide/monitoring.md"


def test_every_type_and_each_of_its_settings_is_in_the_form():
    fields = {field.name: field for field in CREATE.fields}
    assert set(fields["type"].choices) == set(TYPES)
    for setting in parts_of(every_own()):
        assert fields[setting.name].kind == setting.mark(FormField).kind
    for declared in TYPES.values():
        kind = kind_of(declared)
        assert kind.address == declared.address
        assert {setting.name for setting in declared.own_parts} <= set(kind.first)
        assert set(kind.first) | set(kind.more) <= fields.keys()


def test_every_type_is_in_the_guide():
    rows = GUIDE.read_text()
    assert [name for name in TYPES if f"| `{name}` |" not in rows] == []


@pytest.mark.parametrize("declared", [declared for declared in TYPES.values() if declared.by_agents])
def test_every_type_that_agents_probe_fits_into_the_message_to_agents(declared):
    target = {"type": declared.name, "url": "x://y", "timeout": 5} | plain(declared.own(every_own()()))
    assert record(target, probemessages.PROBE_TARGET)["type"] == declared.name


@pytest.mark.parametrize("declared", [declared for declared in TYPES.values() if declared.address])
def test_the_address_that_the_form_shows_is_a_right_one(declared):
    assert declared.url_problem(declared.address.replace(":port", ":80").replace("AGENT_ID", "a1")) is None


@pytest.mark.parametrize(
    ("kind", "url", "words"),
    [
        ("http", "", "required"),
        ("http", "http://a b/", "blanks"),
        ("http", "http://[", "not a URL"),
        ("http", "ftp://a/", "http:// or https://"),
        ("http", "http:///x", "no host"),
        ("tcp", "tcp://a", "tcp://host:port"),
        ("tcp", "tcp://a:0", "tcp://host:port"),
        ("dns", "dns://a/", "dns://resolver/name"),
        ("dns", "dns://a/b?type=WKS", "one of A, AAAA"),
        ("agent", "agent://a/b", "agent://AGENT_ID"),
        ("push", "http://a/", "must be empty"),
    ],
)
def test_a_wrong_address_is_told_why(kind, url, words):
    assert words in TYPES[kind].url_problem(url)


def test_a_setting_is_judged_by_its_declaration():
    problems = {setting.name: setting.problem for setting in parts_of(every_own())}
    assert "starts with $" in problems["json_path"]("a.b")
    assert problems["json_path"]("$.a") is None
    assert problems["expected_value"]("x" * LARGEST) == "is too large"
    assert problems["expected_value"](7) is None
    assert problems["keyword"]("x") is None


@pytest.mark.parametrize(
    ("error", "ok", "words"),
    [
        (ProbeUnavailable("no right"), None, "no right"),
        (ProbeFailed("wrong"), False, "wrong"),
        (TimeoutError(), False, "no answer within 3 s"),
        (ValueError("odd"), False, "unreadable: odd"),
        (OSError("gone"), False, "gone"),
    ],
)
def test_what_goes_wrong_is_the_outcome(error, ok, words):
    def check():
        raise error

    outcome = guarded(check, 3.0, lambda: 7.0)
    assert (outcome.ok, outcome.detail) == (ok, words)


@pytest.fixture
def gate():
    gate = SocketGate(5.0, AddressPolicy(deny=()))
    yield gate
    gate.clear()


def test_the_next_address_is_tried_and_the_last_error_told(gate):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert probes.connect(gate, ["::1", "127.0.0.1"], port).getpeername() == ("127.0.0.1", port)
    with pytest.raises(ConnectionRefusedError):
        probes.connect(gate, ["127.0.0.1"], refused_port())
    with pytest.raises(OSError, match="no address"):
        probes.connect(gate, [], 80)


def test_a_connection_that_takes_too_long_tries_no_other(gate):
    class Slow(SocketGate):
        def open(self, address, kind, protocol=0):
            asked.append(address)
            sock = super().open(address, kind, protocol)
            sock.settimeout(0.01)
            return sock

    asked, slow = [], Slow(5.0, AddressPolicy(deny=()))
    with socket.socket() as full, socket.socket() as first:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        first.connect(full.getsockname())
        with pytest.raises(TimeoutError):
            probes.connect(slow, ["127.0.0.1", "127.0.0.2"], full.getsockname()[1])
    slow.clear()
    assert asked == ["127.0.0.1"]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_an_echo_is_told_from_others(family):
    token = b"0123456789abcdef"
    request = probes.echo_request(family, 7, token)
    reply = bytes([0 if family == socket.AF_INET else 129]) + request[1:]
    assert probes.is_echo_reply(family, reply, token, raw=False)
    assert not probes.is_echo_reply(family, request, token, raw=False)
    assert not probes.is_echo_reply(family, reply, b"another", raw=False)
    assert not probes.is_echo_reply(family, b"", token, raw=True)
    headed = b"\x45" + bytes(19) + reply if family == socket.AF_INET else reply
    assert probes.is_echo_reply(family, headed, token, raw=True)


class NoICMP(SocketGate):
    """A host whose system lets nobody ping; `allowed` makes a pair of sockets of which the other end answers."""

    allowed = None

    def open(self, address, kind, protocol=0):
        if kind == self.allowed:
            return Echoing()
        raise PermissionError


class Echoing:
    """A raw socket: it hears its own request and others' replies first."""

    type = socket.SOCK_RAW

    def connect(self, address):
        self.packets = []

    def send(self, packet):
        self.packets = [packet, b"", b"\x45" + bytes(19) + b"\x00" + packet[1:]]

    def settimeout(self, seconds):
        assert seconds > 0

    def recv(self, size):
        return self.packets.pop(0)


def test_ping_falls_back_to_a_raw_socket_and_says_when_there_is_none():
    target, gate = ProbeTarget("", "ping", "ping://127.0.0.1"), NoICMP(5.0, AddressPolicy(deny=()))
    with pytest.raises(ProbeUnavailable, match="neither"):
        probes.ping(target, gate)
    gate.allowed = socket.SOCK_RAW
    assert probes.ping(target, gate).detail == "echo received"


def element(tag, *content):
    joined = b"".join(content)
    return bytes([tag, len(joined)]) + joined


@pytest.mark.parametrize("version", [b"", element(0xA0, element(2, b"\x02"))])
@pytest.mark.parametrize(
    ("end", "year"),
    [
        (element(0x17, b"490101000000Z"), 2049),
        (element(0x17, b"990101000000Z"), 1999),
        (element(0x18, b"20600101000000Z"), 2060),
    ],
)
def test_the_end_of_a_certificate_in_each_form(version, end, year):
    fields = [element(2, b"\x01"), element(0x30), element(0x30)]
    validity = element(0x30, element(0x17, b"200101000000Z"), end)
    der = element(0x30, element(0x30, version, *fields, validity))
    assert probes.not_after(der) == timegm((year, 1, 1, 0, 0, 0))
    for size in range(len(der)):
        with pytest.raises((ProbeFailed, ValueError)):
            probes.not_after(der[:size])


def header(query, flags=0x8000, answers=0):
    return query[:2] + struct.pack("!HHHHH", flags, 1, answers, 0, 0) + query[12:]


def bare(query, flags):
    """An answer without the question."""
    return query[:2] + struct.pack("!HHHHH", flags, 0, 0, 0, 0)


class Resolver:
    """A name server that says what the test makes of each question: `udp` and `tcp` answer lists of messages."""

    def __init__(self, udp, tcp=None):
        self._sockets = udp_and_tcp()
        self.port = self._sockets[0].getsockname()[1]
        self._udp, self._tcp = udp, tcp

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        for sock in self._sockets:
            sock.close()

    def _serve(self):
        with contextlib.suppress(OSError):  # a question that was never asked
            self._answer_one()

    def _answer_one(self):
        query, peer = self._sockets[0].recvfrom(4096)
        for message in self._udp(query):
            self._sockets[0].sendto(message, peer)
        if self._tcp:
            connection = self._sockets[1].accept()[0]
            with connection:
                message = self._tcp(connection.recv(4096)[2:])
                connection.sendall(message)


def asked(gate, resolver, name="a.example", expected=None):
    target = ProbeTarget("", "dns", f"dns://127.0.0.1:{resolver.port}/{name}", own=DnsSettings(expected))
    return guarded(lambda: dns.probe(target, gate), 5.0, gate.elapsed)


A_RECORD = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + b"\xc0\x00\x02\x07"
LOOPING = b"\xc0\x50" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes(60)


@pytest.mark.parametrize(
    ("udp", "ok", "words"),
    [
        (lambda query: [b"noise", query, header(b"??" + query[2:]), header(query, 0x8003)], False, "NXDOMAIN"),
        (lambda query: [header(query, 0x8009)], False, "code 9"),
        (lambda query: [bare(query, 0x8000), bare(query, 0x8003), bare(query, 0x8005)], False, "REFUSED"),
        (lambda query: [header(query, answers=1) + A_RECORD], True, "A answered"),
        (lambda query: [header(query, answers=1) + A_RECORD.replace(b"\0\1", b"\0\5", 1)], False, "has no A record"),
        (lambda query: [header(query, answers=2) + A_RECORD], False, "unreadable answer"),
        (lambda query: [header(query, answers=1) + LOOPING], False, "unreadable answer"),
        (lambda query: [header(query)], False, "has no A record"),
    ],
)
def test_a_name_server_is_judged_by_its_answer_to_this_question(gate, udp, ok, words):
    with Resolver(udp) as resolver:
        outcome = asked(gate, resolver)
    assert (outcome.ok, words in outcome.detail) == (ok, True), outcome


@pytest.mark.parametrize(
    ("tcp", "words"),
    [
        (lambda query: struct.pack("!H", len(query)) + query, "another question"),
        (lambda query: b"\x00", "closed the connection"),
    ],
)
def test_an_answer_over_tcp_is_judged_too(gate, tcp, words):
    with Resolver(lambda query: [header(query, 0x8200)], tcp) as resolver:
        assert words in asked(gate, resolver).detail


def test_a_name_that_cannot_be_asked_for_is_told(gate):
    with Resolver(lambda query: []) as resolver:
        assert "is not a name" in asked(gate, resolver, name="a" * 64 + ".example").detail


def test_bodies_and_redirects_are_judged():
    own = JsonSettings("$.a", 1)
    assert webchecks.json_problem(own, b"x" * 2048, True) == "the JSON body is larger than 2 KiB"
    assert webchecks.json_problem(own, b"{}", False) == "$.a: nothing at 'a'"
    assert webchecks.json_problem(own, b'{"a": 1}', False) == ""
    assert Outcome(None).ok is None


def test_own_headers_stay_with_the_origin_that_they_were_written_for():
    """Which of them is a secret nobody can tell: only those are sent on that say nothing."""
    here, elsewhere = "http://a.example/x", "http://b.example/x"
    headers = {"Cookie": "a", "Content-Type": "b", "X-Api-Key": "d", "Host": "e", "Accept": "f", "User-Agent": "g"}
    assert webchecks.after_redirect(307, "POST", headers, here, "http://a.example/y") == ("POST", headers, True)
    assert webchecks.after_redirect(302, "POST", headers, here, elsewhere) == (
        "GET", {"Accept": "f", "User-Agent": "g"}, False)  # fmt: skip
    kept = {"Content-Type": "b", "Accept": "f", "User-Agent": "g"}
    assert webchecks.after_redirect(308, "POST", headers, here, elsewhere) == ("POST", kept, True)
    assert webchecks.after_redirect(303, "HEAD", headers, here, here).method == "HEAD"


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("http://a.example", "http://A.example:80/y", True),
        ("https://a.example/", "https://a.example:443/y", True),
        ("http://a.example/", "https://a.example/", True),  # the same host, better protected
        ("https://a.example/", "http://a.example/", False),
        ("http://a.example/", "http://a.example:8080/", False),
        ("http://a.example:8080/", "https://a.example/", False),
        ("https://a.example:8443/", "https://a.example/", False),
        ("http://a.example/", "http://b.a.example/", False),
    ],
)
def test_an_origin_is_scheme_host_and_port(before, after, same):
    assert (webchecks.after_redirect(302, "GET", {"X-Api-Key": "d"}, before, after).headers != {}) == same


def test_a_redirect_to_no_port_at_all_keeps_nothing():
    headers = {"X-Api-Key": "d"}
    assert webchecks.after_redirect(302, "GET", headers, "http://a.example/", "http://a.example:x/").headers == {}


def test_only_agents_that_say_so_are_asked_to_run_plugins():
    assert {name for name, declared in TYPES.items() if declared.feature != "probe"} == {"plugin"}
    assert {TYPES["plugin"].feature, TYPES["http"].feature} <= set(FEATURES)


@pytest.mark.parametrize(
    "asked",
    [{"accepted_statuses": ["200"]}, {"max_redirects": 0}, {"ip_family": "ipv6"}, {"body": "x"}, {"comparison": ">"}],
)
def test_an_agent_that_would_leave_a_setting_out_is_not_asked(asked):
    usual = {"accepted_statuses": [], "max_redirects": None, "ip_family": "any", "body": "", "comparison": "=="}
    assert TYPES["json"].features(usual) == {"probe"}
    assert TYPES["json"].features(usual | asked) - {"probe"} <= set(FEATURES)
    assert TYPES["json"].features(usual | asked) > {"probe"}
