"""Every probe type against a real server of its kind, and against the bad manners that servers have."""

import contextlib
import gc
import os
import re
import resource
import shutil
import socket
import subprocess
import time
from pathlib import Path

import gevent
import pytest
from gevent.pool import Pool

from opsapp.lib.networks import AddressPolicy
from opsapp.monitoring.logic.settings import MonitoringSettings
from opsapp.monitoring.probes import names as names_module
from opsapp.monitoring.probes import transfers as transfers_module
from opsapp.monitoring.probes.names import AddressRefused, NameFailed, Names
from opsapp.monitoring.probes.prober import Prober
from opsapp.wire.monitortypes import TYPES
from opsapp.wire.probes import ProbeTarget
from opsapp.wire.records import made
from tests.support.certificates import Authority
from tests.support.targets import NameServer, blackhole, refused_port, website
from tests.support.waiting import patience, until

pytestmark = pytest.mark.system
ENOUGH_S = 120.0  # for what is answered, on any machine
LONG_S = 600.0  # longer than a test may last: who ends before has not waited for it


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def prober(authority):
    prober = Prober(time.monotonic, AddressPolicy(), settings=MonitoringSettings(ca_file=authority.ca_file))
    yield prober
    prober.close()


@pytest.fixture(scope="module")
def site():
    with website() as server:
        yield server


def probe(prober, url, type="http", **settings):
    own = {setting.name for setting in TYPES[type].own_parts}
    general = {name: value for name, value in settings.items() if name not in own}
    its_own = made(TYPES[type].settings, settings)
    return prober.probe(ProbeTarget("m1", type, url, **{"timeout": ENOUGH_S} | general, own=its_own))


@contextlib.contextmanager
def under_way(check, *values):
    """This check, from before the block to its end: it has not ended by itself."""
    greenlet = gevent.spawn(check, *values)
    try:
        gevent.sleep(0)
        yield
        assert not greenlet.ready()
    finally:
        greenlet.kill()


def comes_true(fn, what):
    """As `until`, while the hub of this thread turns."""
    return until(lambda: gevent.sleep(0.01) or fn(), every=0, what=what)


def patient_probe(prober, url, type="http"):
    return probe(prober, url, type, timeout=LONG_S)


def test_http_is_up_and_says_how_long_each_phase_took(prober, site):
    outcome = probe(prober, site.url)
    assert outcome.ok is True
    assert outcome.http_status == 200
    assert outcome.protocol == "HTTP/1.1"
    assert set(outcome.phases) == {"name", "connect", "first_byte", "total"}
    assert 0 < outcome.phases["connect"] <= outcome.phases["total"]
    assert outcome.response_time_ms > 0
    assert outcome.certificate_days is None


def test_every_check_makes_a_connection_of_its_own(prober, site):
    assert all(probe(prober, site.url).phases["connect"] > 0 for _ in range(3))


@pytest.mark.parametrize(
    ("status", "expected", "ok"),
    [(200, None, True), (204, None, True), (304, None, True), (404, None, False), (500, None, False),
     (404, 404, True), (200, 201, False), (503, 503, True)],
)  # fmt: skip
def test_http_is_judged_by_its_status(prober, site, status, expected, ok):
    outcome = probe(prober, f"{site.url}/status/{status}", expected_status=expected)
    assert outcome.ok is ok
    assert str(status) in outcome.detail


def test_method_and_headers_go_out_as_written(prober, site):
    probe(prober, f"{site.url}/echo", method="POST", headers={"X-Me": "yes", "X-Empty": ""})
    method, path, headers = site.seen[-1]
    assert (method, path, headers["X-Me"], headers["X-Empty"]) == ("POST", "/echo", "yes", "")
    assert headers["User-Agent"].startswith("opsapp/")
    assert headers["Content-Length"] == "0"
    assert probe(prober, f"{site.url}/echo", method="HEAD").ok
    assert probe(prober, f"{site.url}/after").ok
    assert site.seen[-1][0] == "GET"
    assert "X-Me" not in site.seen[-1][2]


@pytest.mark.parametrize(
    ("status", "accepted", "ok"),
    [(200, ["200-299", "401"], True), (401, ["200-299", "401"], True), (302, ["200-299"], False),
     (599, ["500-599"], True), (300, ["200-299"], False)],
)  # fmt: skip
def test_http_is_judged_by_a_list_of_statuses(prober, site, status, accepted, ok):
    outcome = probe(prober, f"{site.url}/status/{status}", accepted_statuses=tuple(accepted))
    assert outcome.ok is ok
    assert outcome.detail == (f"HTTP {status}" if ok else f"HTTP {status}, expected {', '.join(accepted)}")


def test_a_body_goes_out_with_its_check_alone(prober, site):
    assert probe(prober, f"{site.url}/login", method="POST", body=b'{"user": "me"}').ok
    assert (site.seen[-1][0], site.bodies[-1]) == ("POST", b'{"user": "me"}')
    assert probe(prober, f"{site.url}/after", method="POST").ok
    assert site.bodies[-1] == b""
    assert probe(prober, f"{site.url}/redirect/1", method="POST", body=b"abc").ok
    assert site.bodies[-3:] == [b"abc", b"", b""]


def test_a_monitor_has_its_own_most_of_redirects_and_its_family_of_addresses(prober, site):
    assert probe(prober, f"{site.url}/redirect/1", max_redirects=1).detail == "more than 1 redirects"
    assert probe(prober, f"{site.url}/redirect/8", max_redirects=9).ok
    assert probe(prober, site.url, ip_family="ipv4").ok
    for url, type in ((site.url, "http"), (f"tcp://127.0.0.1:{site.port}", "tcp")):
        outcome = probe(prober, url, type, ip_family="ipv6")
        assert (outcome.ok, outcome.detail) == (False, "it has no IPv6 address")


def test_five_redirects_are_followed_and_a_sixth_is_not(prober, site):
    assert probe(prober, f"{site.url}/redirect/4").ok
    outcome = probe(prober, f"{site.url}/redirect/5")
    assert (outcome.ok, outcome.detail) == (False, "more than 5 redirects")
    assert probe(prober, f"{site.url}/loop").ok is False


def test_redirects_are_not_followed_when_not_wanted(prober, site):
    assert probe(prober, f"{site.url}/loop", follow_redirects=False).http_status == 302
    assert probe(prober, f"{site.url}/redirect/3", expected_status=302).ok


def test_a_redirect_to_a_forbidden_address_is_refused(prober, site):
    outcome = probe(prober, f"{site.url}/to?http://169.254.169.254/latest/meta-data")
    assert outcome.ok is False
    assert "169.254.169.254 may not be reached" in outcome.detail


@pytest.mark.parametrize("url", ["file:///etc/passwd", "gopher://127.0.0.1/", "//", "http://"])
def test_a_redirect_elsewhere_than_http_is_refused(prober, site, url):
    assert probe(prober, f"{site.url}/to?{url}").ok is False


def test_own_headers_stay_with_the_origin_they_were_written_for(prober, site):
    """Whatever they are called: `X-Api-Key` is as much of a secret as `Authorization`."""
    secrets = {"Authorization": "Bearer secret", "X-Api-Key": "secret", "Cookie": "session=secret"}
    headers = {**secrets, "Accept": "text/html"}
    with website() as port:
        for elsewhere in (f"http://localhost:{site.port}/there", f"{port.url}/there"):
            probe(prober, f"{site.url}/to?{elsewhere}", headers=headers)
            _, path, received = (site if "localhost" in elsewhere else port).seen[-1]
            assert (path, received["Accept"]) == ("/there", "text/html")
            assert "secret" not in str(received)
    probe(prober, f"{site.url}/to?{site.url}/here", headers=headers)
    received = site.seen[-1][2]
    assert {name: received[name] for name in headers} == headers


@pytest.mark.parametrize(
    "url", ["http://169.254.169.254/", "http://[::ffff:a9fe:a9fe]/", "http://0xa9fea9fe/", "http://2852039166/"]
)
def test_metadata_addresses_are_refused_however_written(prober, monkeypatch, url):
    """Before any request begins: nobody waits for whether it answers."""
    begun = []
    monkeypatch.setattr(prober.transfers, "start", lambda hop, done: begun.append(hop.url))
    assert probe(prober, url).ok is False
    assert begun == []


def test_the_policy_judges_the_address_a_name_resolves_to(site):
    with NameServer({("inside.test", "A"): ["127.0.0.1"]}) as server:
        names = Names(time.monotonic, [("127.0.0.1", server.port)])
        strict = Prober(time.monotonic, AddressPolicy(deny=["127.0.0.0/8"]), names)
        outcome = probe(strict, f"http://inside.test:{site.port}/")
        strict.close()
        assert (outcome.ok, outcome.detail) == (False, "the address 127.0.0.1 may not be reached")
        lenient = Prober(time.monotonic, AddressPolicy(), names)
        assert probe(lenient, f"http://inside.test:{site.port}/").ok
        lenient.close()


def test_libcurl_itself_cannot_connect_past_the_policy(site):
    """The gate at the socket holds even where the URL was never resolved by us."""
    transfers = transfers_module.Transfers(AddressPolicy(deny=["127.0.0.0/8"]))
    before = len(site.seen)
    reply = transfers.fetch(
        transfers_module.Hop(f"http://2130706433:{site.port}/", "2130706433", site.port, [], ENOUGH_S)
    )
    transfers.close()
    assert reply.error
    assert reply.refused == "127.0.0.1"
    assert len(site.seen) == before


class StoodStill:
    """The hub's loop, whose time is that of its last turn: long ago, until it is told to look at the clock."""

    def __init__(self):
        self._loop, self._behind = gevent.get_hub().loop, 10 * LONG_S

    def now(self):
        return self._loop.now() - self._behind

    def update_now(self):
        self._behind = 0.0
        self._loop.update_now()

    def __getattr__(self, name):
        return getattr(self._loop, name)


def test_a_request_is_not_late_because_the_loop_stood_still_before_it(site):
    """As in a process that was stopped, or beside a thread that kept the loop from turning. The request's time runs
    from its start."""
    transfers, replies = transfers_module.Transfers(AddressPolicy()), []
    transfers._loop = StoodStill()
    transfers.start(transfers_module.Hop(f"{site.url}/", "127.0.0.1", site.port, [], ENOUGH_S), replies.append)
    transfers._loop.update_now()
    transfers._sweep()
    assert replies == []
    comes_true(lambda: replies, what="a reply")
    transfers.close()
    assert [(reply.error, reply.message, reply.status) for reply in replies] == [(0, "", 200)]


@pytest.mark.parametrize("path", ["/drip", "/silent"])
def test_the_total_time_is_bounded_whatever_the_peer_does(prober, site, path):
    """The peer never ends, and whoever has more time is still waiting."""
    with under_way(patient_probe, prober, site.url + path):
        outcome = probe(prober, site.url + path, timeout=1.0)
        assert outcome.ok is False
        assert outcome.detail == "no complete answer within 1 s"


@pytest.mark.parametrize(("type", "scheme"), [("http", "http"), ("http", "https"), ("tls", "tls")])
def test_a_peer_that_never_answers_is_bounded_too(prober, type, scheme):
    with blackhole() as port:
        url = f"{scheme}://127.0.0.1:{port}"
        longer = gevent.spawn(patient_probe, prober, url, type)
        assert probe(prober, url, type, timeout=1.0).ok is False
        assert not longer.ready()
    longer.join()
    assert longer.value.ok is False


def test_ten_gigabytes_are_not_read(prober, site):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert probe(prober, f"{site.url}/endless").ok is True
    until(lambda: site.sent, what="the server noticed that nobody reads")
    assert site.sent < 64 * 1024**2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


def test_a_packed_bomb_is_cut(prober, site):
    """Of the 50 MB that it would be, no more is unpacked than is read of any body."""
    assert probe(prober, f"{site.url}/bomb", "keyword", keyword="Welcome").ok is False
    hop = transfers_module.Hop(f"{site.url}/bomb", "127.0.0.1", site.port, [], ENOUGH_S, decode=True)
    reply = prober.transfers.fetch(hop)
    assert (reply.cut, len(reply.body)) == (True, prober.transfers.max_body)


def test_nobody_listens(prober):
    outcome = probe(prober, f"http://127.0.0.1:{refused_port()}/")
    assert outcome.ok is False
    assert "connect" in outcome.detail.lower()


@pytest.mark.parametrize(
    ("keyword", "absent", "ok"),
    [("Welcome", False, True), ("welcome", False, False), ("Welcome", True, False), ("Fatal error", True, True)],
)
def test_keyword(prober, site, keyword, absent, ok):
    outcome = probe(prober, site.url, "keyword", keyword=keyword, keyword_absent=absent)
    assert outcome.ok is ok


def test_keyword_reads_a_packed_body_and_needs_the_right_status(prober, site):
    assert probe(prober, f"{site.url}/gzip", "keyword", keyword="packed").ok
    assert probe(prober, f"{site.url}/status/500", "keyword", keyword="wish").ok is False


@pytest.mark.parametrize(
    ("path", "json_path", "expected", "ok"),
    [
        ("/json", "$.state", "ok", True),
        ("/json", "$.items[0].n", 7, True),
        ("/json", "$.items[0].n", 8, False),
        ("/json", "$.nothing", "ok", False),
        ("/welcome", "$.state", "ok", False),
        ("/endless", "$.state", "ok", False),
    ],
)
def test_json(prober, site, path, json_path, expected, ok):
    outcome = probe(prober, site.url + path, "json", json_path=json_path, expected_value=expected)
    assert outcome.ok is ok, outcome


def test_half_a_character_in_a_value_is_told_as_text_that_can_be_stored(prober, site):
    outcome = probe(prober, site.url + "/json", "json", json_path="$.half", expected_value="b")
    assert outcome.detail == '$.half is "a\\ud800", expected "b"'


def test_a_good_certificate_is_up_with_its_days(prober, authority):
    with website(authority.issue("good")) as server:
        for type in ("http", "tls"):
            outcome = probe(prober, server.url if type == "http" else f"tls://localhost:{server.port}", type)
            assert outcome.ok is True, outcome
            assert 89 < outcome.certificate_days <= 90
        assert probe(prober, server.url).phases["tls"] > 0


@pytest.mark.parametrize(
    ("label", "settings", "words"),
    [
        ("expired", {"days": -3.0}, "expired"),
        ("elsewhere", {"names": ["example.org"]}, "mismatch|no alternative|does not match|not valid for|name"),
        ("selfmade", {"self_signed": True}, "self.signed"),
    ],
)
def test_a_bad_certificate_is_down_and_says_why(prober, authority, label, settings, words):
    with website(authority.issue(label, **settings)) as server:
        for type, url in (("http", f"https://localhost:{server.port}"), ("tls", f"tls://localhost:{server.port}")):
            outcome = probe(prober, url, type)
            assert outcome.ok is False
            assert re.search(words, outcome.detail), outcome.detail
            assert abs(outcome.certificate_days - settings.get("days", 90)) < 0.1
        lenient = probe(prober, f"https://localhost:{server.port}", verify_tls=False)
        assert lenient.ok is True
        assert abs(lenient.certificate_days - settings.get("days", 90)) < 0.1


def test_tls_against_a_port_that_speaks_something_else(prober, site):
    assert probe(prober, f"tls://127.0.0.1:{site.port}", "tls").ok is False


@pytest.fixture
def nginx(authority, tmp_path):
    if not shutil.which("nginx"):
        pytest.skip("nginx is not installed")
    certificate, key = authority.issue("nginx", days=30)
    port = refused_port()
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\n"
        "events {}\n"
        f"http {{ access_log off; client_body_temp_path {tmp_path}/b; proxy_temp_path {tmp_path}/p;\n"
        f"fastcgi_temp_path {tmp_path}/f; uwsgi_temp_path {tmp_path}/u; scgi_temp_path {tmp_path}/s;\n"
        f"server {{ listen 127.0.0.1:{port} ssl http2; ssl_certificate {certificate}; ssl_certificate_key {key};\n"
        'location / { return 200 "nginx says hello"; } } }\n'
    )
    command = ["nginx", "-e", str(tmp_path / "error.log"), "-c", str(tmp_path / "nginx.conf")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: _listens(port), what="nginx listens")
            yield port
        finally:
            process.terminate()
            process.wait(10 * patience())


def _listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def test_nginx_with_tls_speaks_http_2(prober, nginx):
    outcome = probe(prober, f"https://localhost:{nginx}/", "keyword", keyword="hello")
    assert outcome.ok is True, outcome
    assert outcome.protocol == "HTTP/2"
    assert 29 < outcome.certificate_days <= 30


def test_tcp(prober, site):
    assert probe(prober, f"tcp://127.0.0.1:{site.port}", "tcp").ok is True
    assert probe(prober, f"tcp://localhost:{site.port}", "tcp").ok is True
    outcome = probe(prober, f"tcp://127.0.0.1:{refused_port()}", "tcp")
    assert (outcome.ok, outcome.detail) == (False, "Connection refused")
    assert probe(prober, "tcp://169.254.169.254:80", "tcp").ok is False


@pytest.fixture
def sshd(tmp_path):
    program = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))
    if not program:
        pytest.skip("sshd is not installed")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "host")], check=True)
    port = refused_port()
    (tmp_path / "config").write_text(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nPidFile none\n")
    command = [program, "-D", "-e", "-f", str(tmp_path / "config")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: _listens(port) or process.poll() is not None, what="sshd listens")
            if process.poll() is not None:
                pytest.skip(f"sshd does not run here: {process.stderr.read().strip()}")
            yield port
        finally:
            process.terminate()
            process.wait(10 * patience())


def test_sshd_as_the_target_of_tcp(prober, sshd):
    outcome = probe(prober, f"tcp://127.0.0.1:{sshd}", "tcp")
    assert (outcome.ok, outcome.detail) == (True, "connected")
    assert set(outcome.phases) == {"name", "connect"}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_ping(prober, host):
    outcome = probe(prober, f"ping://{host}", "ping")
    if outcome.ok is None:
        pytest.skip(outcome.detail)
    assert outcome.ok is True, outcome
    assert outcome.response_time_ms > 0


def test_many_pings_at_once_each_get_their_own_reply(prober):
    outcomes = Pool(50).map(lambda n: probe(prober, f"ping://127.0.0.{n + 1}", "ping"), range(50))
    if outcomes[0].ok is None:
        pytest.skip(outcomes[0].detail)
    assert all(outcome.ok for outcome in outcomes)


RECORDS = {("www.test", "A"): ["192.0.2.7"], ("www.test", "TXT"): ['"v=1"'], ("mail.test", "MX"): ["10 mx.test."]}


@pytest.mark.parametrize(
    ("question", "expected", "ok"),
    [
        ("www.test?type=A", None, True),
        ("www.test", "192.0.2.7", True),
        ("www.test?type=A", "192.0.2.8", False),
        ("www.test?type=TXT", "v=1", True),
        ("mail.test?type=MX", "10 mx.test", True),
        ("www.test?type=AAAA", None, False),
        ("nowhere.test?type=A", None, False),
    ],
)
@pytest.mark.parametrize("truncate", [False, True])
def test_dns(prober, question, expected, ok, truncate):
    with NameServer(RECORDS, truncate=truncate) as server:
        outcome = probe(prober, f"dns://127.0.0.1:{server.port}/{question}", "dns", expected_value=expected)
        assert outcome.ok is ok, outcome


def test_a_silent_name_server_is_down_in_time(prober):
    with NameServer({}, silent=True) as server:
        url = f"dns://127.0.0.1:{server.port}/www.test"
        with under_way(patient_probe, prober, url, "dns"):
            assert probe(prober, url, "dns", timeout=1.0).ok is False


def test_names_are_cached_for_their_ttl_and_asked_once_for_all():
    now = [0.0]
    with NameServer({("www.test", "A"): ["127.0.0.9"], ("www.test", "AAAA"): ["::1"]}, ttl=30) as server:
        names = Names(lambda: now[0], [("127.0.0.1", server.port)])
        found = Pool(20).map(lambda _: names.addresses("WWW.test", ENOUGH_S), range(20))
        assert all(addresses == ["127.0.0.9", "::1"] for addresses in found)
        assert len(server.asked) == 2
        now[0] = 29.9
        names.addresses("www.test", ENOUGH_S)
        assert len(server.asked) == 2
        now[0] = 30.1
        names.addresses("www.test", ENOUGH_S)
        assert len(server.asked) == 4


def test_a_dead_name_server_is_followed_by_the_next(monkeypatch):
    monkeypatch.setattr(names_module, "PER_SERVER_S", 1.0)
    with NameServer({}, silent=True) as dead, NameServer({("www.test", "A"): ["127.0.0.9"]}) as good:
        names = Names(time.monotonic, [("127.0.0.1", dead.port), ("127.0.0.1", good.port)])
        assert names.addresses("www.test", LONG_S) == ["127.0.0.9"]


def test_hanging_names_delay_no_other(monkeypatch):
    """A name that is known, and one that must be asked for, are answered while a hundred others hang."""
    monkeypatch.setattr(names_module, "PER_SERVER_S", LONG_S)
    hanging = [f"name{n}.test" for n in range(100)]
    records = {("www.test", "A"): ["127.0.0.9"], ("new.test", "A"): ["127.0.0.8"]}
    with NameServer(records, held=hanging) as server:
        names = Names(time.monotonic, [("127.0.0.1", server.port)])
        assert names.addresses("www.test", ENOUGH_S) == ["127.0.0.9"]
        stuck = [gevent.spawn(_failure, names, name, LONG_S) for name in hanging]
        comes_true(lambda: len(server.waiting) == 2 * len(hanging), what="all questions of the hanging names")
        assert names.addresses("www.test", ENOUGH_S) == ["127.0.0.9"]
        assert names.addresses("new.test", ENOUGH_S) == ["127.0.0.8"]
        assert not any(asking.ready() for asking in stuck)
        server.let_go()
        gevent.joinall(stuck)
        assert all(isinstance(asking.value, NameFailed) for asking in stuck)


def _failure(names, host, timeout):
    try:
        return names.addresses(host, timeout)
    except NameFailed as failed:
        return failed


def test_unknown_names_say_so():
    with NameServer(RECORDS) as server:
        names = Names(time.monotonic, [("127.0.0.1", server.port)])
        with pytest.raises(NameFailed, match=r"nowhere\.test does not exist"):
            names.addresses("nowhere.test", ENOUGH_S)
        with pytest.raises(NameFailed, match="has no address"):
            names.addresses("mail.test", ENOUGH_S)


def test_hosts_file_wins_and_is_read_again_when_it_changes(tmp_path):
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.5 box-1 box-1.lan # ours\nnonsense\n")
    names = Names(time.monotonic, [], str(hosts))
    assert names.addresses("BOX-1.lan", 1.0) == ["127.0.0.5"]
    assert names.addresses("localhost", 1.0) == ["127.0.0.1", "::1"]
    with pytest.raises(NameFailed, match="no name server"):
        names.addresses("box-2", 1.0)
    hosts.write_text("127.0.0.6 box-1 box-1.lan\n127.0.0.7 box-2\n")
    os.utime(hosts, (1, 1))
    assert names.addresses("box-2", 1.0) == ["127.0.0.7"]


def test_refused_is_told_apart(prober):
    with pytest.raises(AddressRefused):
        prober.allowed_addresses("169.254.169.254", 1.0)


def test_a_hundred_hanging_targets_delay_no_other_check(prober, site):
    """Fifty others are answered while they hang. Then their server goes, and each of them ends."""
    with blackhole() as port:
        hanging = [gevent.spawn(patient_probe, prober, f"http://127.0.0.1:{port}/") for _ in range(100)]
        comes_true(lambda: connected(port) == 100, what="a hundred hanging checks")
        assert all(probe(prober, site.url).ok for _ in range(50))
        assert not any(check.ready() for check in hanging)
    gevent.joinall(hanging)
    assert all(check.value.ok is False for check in hanging)


def connected(port):
    """How many connections of this machine lead to that port."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[2] == f"0100007F:{port:04X}" and line[3] == "01" for line in lines)


def test_no_descriptor_is_left_behind(prober, site):
    Pool(20).map(lambda _: probe(prober, site.url), range(40))
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    with blackhole() as port:
        for path in ("/", "/endless", "/drip", "/loop"):
            Pool(20).map(lambda _, path=path: probe(prober, site.url + path, timeout=0.3), range(40))
        Pool(20).map(lambda _: probe(prober, f"tls://127.0.0.1:{port}", "tls", timeout=0.2), range(40))
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_a_killed_check_leaves_the_others_alone(prober, site):
    before = len(site.seen)
    victims = [gevent.spawn(patient_probe, prober, f"{site.url}/silent") for _ in range(10)]
    comes_true(lambda: len(site.seen) == before + 10, what="all of them having asked")
    gevent.killall(victims)
    assert probe(prober, site.url).ok
