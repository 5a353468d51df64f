"""The snmp probe against Debian's snmpd, and against what anybody may send to its socket."""

import socket
import threading
import time

import gevent
import pytest

from opsapp.lib.networks import AddressPolicy
from opsapp.monitoring.probes import snmp, snmpmessages
from opsapp.monitoring.probes.prober import Prober
from opsapp.monitoring.probes.snmpmessages import SnmpNumbers
from opsapp.wire.probes import ProbeTarget
from opsapp.wire.typesettings import SnmpSettings
from tests.support import snmpdevice
from tests.support.snmpdevice import COMMUNITY, NAME, NUMBERS, PASSWORD, SEAL, UPTIME
from tests.support.targets import refused_port
from tests.support.waiting import patience
from tests.system.test_probes import comes_true
from tests.unit.test_snmp_messages import community_message

pytestmark = pytest.mark.system
LONG_S = 600.0  # longer than a test may last
SHORT_S = 1.0


@pytest.fixture(scope="module")
def prober():
    prober = Prober(time.monotonic, AddressPolicy())
    yield prober
    prober.close()


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    if snmpdevice.SNMPD is None:
        pytest.skip("snmpd is not installed (Debian: apt-get install snmpd)")
    with snmpdevice.snmpd(tmp_path_factory.mktemp("snmpd")) as port:
        yield port


def look(prober, port, oid=UPTIME, timeout=120.0, **settings):
    return prober.probe(
        ProbeTarget("m1", "snmp", f"snmp://127.0.0.1:{port}", timeout, own=SnmpSettings(oid, **settings))
    )


def by_user(user, auth="none", password=PASSWORD, privacy="none", seal=SEAL):
    return {"snmp_version": "3", "snmp_user": user, "snmp_auth": auth, "snmp_auth_password": password,
            "snmp_privacy": privacy, "snmp_privacy_password": seal}  # fmt: skip


@pytest.mark.parametrize(
    ("oid", "expected", "comparison", "ok", "detail"),
    [
        (UPTIME, None, "==", True, "answered"),
        (NUMBERS, 72, "==", True, "answered"),
        (NUMBERS, 72, "<", False, f"{NUMBERS} is 72, expected < 72"),
        (f".{NUMBERS}", 71, ">=", True, "answered"),
        (NAME, "rack-7", "==", True, "answered"),
        (NAME, "rack", "contains", True, "answered"),
        (NAME, "rack-8", "==", False, f'{NAME} is "rack-7", expected "rack-8"'),
        ("1.3.6.1.2.1.1.99.0", None, "==", False, "the device has no such object at 1.3.6.1.2.1.1.99.0"),
    ],
)
def test_a_value_by_version_2c(prober, device, oid, expected, comparison, ok, detail):
    outcome = look(prober, device, oid, snmp_community=COMMUNITY, expected_value=expected, comparison=comparison)
    assert (outcome.ok, outcome.detail) == (ok, detail)
    assert outcome.response_time_ms > 0


def test_a_number_is_measured_and_a_text_is_not(prober, device):
    assert look(prober, device, NUMBERS, snmp_community=COMMUNITY).metrics == {"value": 72.0}
    assert look(prober, device, NAME, snmp_community=COMMUNITY).metrics == {}


def test_a_wrong_community_is_down_and_said_to_be_possible(prober, device):
    outcome = look(prober, device, snmp_community="wrong", timeout=SHORT_S)
    assert (outcome.ok, outcome.detail) == (
        False,
        "no answer within 1 s; a device does not answer a wrong community either",
    )


@pytest.mark.parametrize("privacy", ["none", "aes"])
@pytest.mark.parametrize("auth", sorted(snmpdevice.USERS))
def test_a_value_by_version_3(prober, device, auth, privacy):
    outcome = look(prober, device, NUMBERS, **by_user(auth, auth, privacy=privacy), expected_value=72)
    assert (outcome.ok, outcome.detail) == (True, "answered")


def test_an_old_device_encrypts_with_des(prober, device):
    assert look(prober, device, NUMBERS, **by_user("old", "sha", privacy="des"), expected_value=72).ok is True


def test_a_user_without_a_password(prober, device):
    assert look(prober, device, **by_user("nobody")).ok is True


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (by_user("sha", "sha", "another password"), "the password for authentication is wrong"),
        (by_user("sha", "sha256"), "the password for authentication is wrong, or its method"),
        (by_user("stranger", "sha"), "the device knows no such user"),
        (by_user("nobody", "sha"), "does not take this user with this authentication"),
        (by_user("old", "sha"), "not with so little security"),
    ],
)
def test_version_3_says_what_is_wrong(prober, device, settings, why):
    outcome = look(prober, device, **settings)
    assert outcome.ok is False
    assert why in outcome.detail


def test_a_wrong_password_for_encryption_is_said_to_be_possible(prober, device):
    outcome = look(prober, device, timeout=SHORT_S, **by_user("sha", "sha", privacy="aes", seal="another one"))
    assert outcome.ok is False
    assert "the password for encryption may be wrong" in outcome.detail


def test_no_password_is_in_any_detail(prober, device):
    told = [
        look(prober, device, timeout=SHORT_S, **by_user("sha", "sha", "another password", "aes")),
        look(prober, device, timeout=SHORT_S, snmp_community="some community"),
    ]
    assert not any(secret in str(told) for secret in ("another password", SEAL, "some community"))


def test_a_port_where_nobody_listens(prober):
    assert look(prober, refused_port(), snmp_community="c").ok is False


class Device:
    """Answers each datagram with what `manners` says."""

    def __init__(self, manners):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.heard, self.closing = [], False
        self._thread = threading.Thread(target=self._serve, args=(manners,))

    def __enter__(self):
        self._thread.start()
        return self

    def _serve(self, manners):
        while True:
            packet, peer = self.sock.recvfrom(65535)
            if self.closing:
                return
            self.heard.append(peer)
            manners(self, packet, peer, len(self.heard))

    def __exit__(self, *_):
        self.closing = True
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join()
        self.sock.close()


def request_of(packet):
    message, _ = snmpmessages.decoder.decode(packet, asn1Spec=snmpmessages.v2c.Message())
    pdu = snmpmessages.v2c.apiMessage.get_pdu(message)
    return SnmpNumbers(0, int(snmpmessages.v2c.apiPDU.get_request_id(pdu)))


def answer(value, numbers):
    return community_message(snmpmessages.rfc1902.Integer32(value), numbers)


def test_a_question_that_is_lost_is_asked_again(prober, monkeypatch):
    monkeypatch.setattr(snmp, "AGAIN_S", 0.01)

    def manners(device, packet, peer, count):
        if count > 1:
            device.sock.sendto(answer(5, request_of(packet)), peer)

    with Device(manners) as device:
        assert look(prober, device.port, timeout=0.5 * patience(), snmp_community="c", expected_value=5).ok is True
        assert len(device.heard) > 1


def test_what_is_no_answer_to_this_question_is_passed_over(prober):
    """Another request's number, an answer from elsewhere, rubbish, a huge datagram: and then the answer."""

    def manners(device, packet, peer, count):
        right = request_of(packet)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", 0))
            other.sendto(answer(1, right), peer)
        for said in (answer(2, SnmpNumbers(0, right.request ^ 1)), b"rubbish", b"\x30" * 60_000, b"", packet):
            device.sock.sendto(said, peer)
        device.sock.sendto(answer(5, right), peer)

    with Device(manners) as device:
        outcome = look(prober, device.port, snmp_community="c", expected_value=5)
    assert (outcome.ok, outcome.detail) == (True, "answered")


def test_one_who_floods_is_given_up(prober):
    def manners(device, packet, peer, count):
        for _ in range(2 * snmp.MOST_PASSED_OVER):
            device.sock.sendto(b"\x30\x80" * 20, peer)

    with Device(manners) as device:
        outcome = look(prober, device.port, timeout=LONG_S, snmp_community="c")
    assert outcome.ok is False
    assert outcome.detail.startswith("what comes is no answer: ")


def test_500_devices_that_hang_delay_nobody(prober, device):
    with Device(lambda *_: None) as silent:
        settings = [{"snmp_community": "c"}, by_user("sha", "sha", privacy="aes")] * 250
        hanging = [gevent.spawn(look, prober, silent.port, UPTIME, LONG_S, **asked) for asked in settings]
        gevent.sleep(0)
        outcomes = [look(prober, device, NUMBERS, snmp_community=COMMUNITY) for _ in range(50)]
        assert all(outcome.ok for outcome in outcomes)
        comes_true(lambda: len({peer[1] for peer in silent.heard}) == 500, "a question of each")
        assert not any(asking.ready() for asking in hanging)
        gevent.killall(hanging)
