"""SNMP messages: what is read of whatever bytes come, and what is no answer. The counterpart is in
tests/system/test_snmp.py."""

import random

import pytest
from pyasn1.codec.ber import encoder
from pysnmp.proto import rfc1902, rfc1905
from pysnmp.proto.api import v2c

from opsapp.monitoring.probes import snmpmessages
from opsapp.monitoring.probes.snmpmessages import NoSnmpAnswer, SnmpAnswer, SnmpEngine, SnmpNumbers, SnmpSession
from opsapp.wire.typesettings import SnmpSettings

OID, NUMBERS = "1.3.6.1.2.1.1.5.0", SnmpNumbers(11, 22)
ENGINE = SnmpEngine(bytes.fromhex("80001f8880") + bytes(12), 3, 400)
SURE = SnmpSettings(OID, snmp_version="3", snmp_user="u", snmp_auth="sha256", snmp_auth_password="a password")
SEALED = SnmpSettings(
    OID, snmp_version="3", snmp_user="u", snmp_auth="sha", snmp_auth_password="a password",
    snmp_privacy="aes", snmp_privacy_password="another one",
)  # fmt: skip


def response(value, numbers=NUMBERS, error=0):
    pdu = v2c.ResponsePDU()
    v2c.apiPDU.set_defaults(pdu)
    v2c.apiPDU.set_request_id(pdu, numbers.request)
    v2c.apiPDU.set_error_status(pdu, error)
    v2c.apiPDU.set_varbinds(pdu, [(tuple(map(int, OID.split("."))), value)])
    return pdu


def community_message(value, numbers=NUMBERS, error=0):
    message = v2c.Message()
    v2c.apiMessage.set_defaults(message)
    v2c.apiMessage.set_pdu(message, response(value, numbers, error))
    return encoder.encode(message)


def from_device(settings, value=rfc1902.OctetString("rack"), numbers=NUMBERS, engine=ENGINE):
    """An answer as a device with these passwords writes it."""
    device = SnmpSession(settings, engine)
    scoped = snmpmessages._scoped(engine.id, response(value, numbers))
    return device._packed(scoped, numbers, device.flags, device.user)


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        (rfc1902.Integer32(-7), SnmpAnswer(-7)),
        (rfc1902.Counter64(2**64 - 1), SnmpAnswer(2**64 - 1, is_counter=True)),
        (rfc1902.Counter32(5), SnmpAnswer(5, is_counter=True)),
        (rfc1902.TimeTicks(9), SnmpAnswer(9)),
        (rfc1902.IpAddress("192.0.2.7"), SnmpAnswer("192.0.2.7")),
        (rfc1902.OctetString("Büro\n".encode()), SnmpAnswer("Büro\n")),
        (rfc1902.OctetString(hexValue="001122ff"), SnmpAnswer("00:11:22:ff")),
        (rfc1902.OctetString(b"a\0b"), SnmpAnswer("61:00:62")),
        (rfc1902.ObjectIdentifier("1.3.6"), SnmpAnswer("1.3.6")),
        (rfc1905.NoSuchInstance(""), SnmpAnswer(absent="no such instance")),
        (rfc1905.EndOfMibView(""), SnmpAnswer(absent="nothing")),
    ],
)
def test_each_kind_of_value_is_a_number_or_a_text(value, answer):
    assert snmpmessages.read(community_message(value), NUMBERS) == answer


def test_what_a_device_refuses_is_named():
    assert snmpmessages.read(community_message(rfc1902.Integer32(0), error=5), NUMBERS) == SnmpAnswer(error="genErr")


def test_an_answer_to_another_request_is_none():
    with pytest.raises(NoSnmpAnswer, match="another request"):
        snmpmessages.read(community_message(rfc1902.Integer32(1), SnmpNumbers(11, 23)), NUMBERS)
    with pytest.raises(NoSnmpAnswer, match="another request"):
        SnmpSession(SURE, ENGINE).read(from_device(SURE, numbers=SnmpNumbers(12, 22)), NUMBERS)
    with pytest.raises(NoSnmpAnswer):
        snmpmessages.read(snmpmessages.ask(OID, "c", NUMBERS), NUMBERS)  # a question is none either


@pytest.mark.parametrize("settings", [SURE, SEALED])
def test_version_3_reads_what_it_writes(settings):
    """The engine's id has a row of zeros as long as the place of a digest."""
    assert SnmpSession(settings, ENGINE).read(from_device(settings), NUMBERS) == (ENGINE, SnmpAnswer("rack"))


def test_an_answer_of_somebody_without_the_password_is_none():
    only_signed = SnmpSettings(OID, snmp_version="3", snmp_user="u", snmp_auth="sha", snmp_auth_password="a password")
    session = SnmpSession(SURE, ENGINE)
    other = SnmpSettings(OID, snmp_version="3", snmp_user="u", snmp_auth="sha256", snmp_auth_password="some other")
    with pytest.raises(NoSnmpAnswer, match="digest is wrong"):
        session.read(from_device(other), NUMBERS)
    with pytest.raises(NoSnmpAnswer, match="not authenticated"):
        session.read(from_device(SnmpSettings(OID, snmp_version="3", snmp_user="u")), NUMBERS)
    with pytest.raises(NoSnmpAnswer, match="not authenticated"):  # authenticated, but not encrypted
        SnmpSession(SEALED, ENGINE).read(from_device(only_signed), NUMBERS)
    with pytest.raises(NoSnmpAnswer):
        session.read(from_device(SURE, engine=ENGINE._replace(id=b"another")), NUMBERS)


def test_one_changed_bit_of_a_signed_message_is_noticed():
    whole, session = from_device(SURE), SnmpSession(SURE, ENGINE)
    for place in range(len(whole)):
        with pytest.raises(NoSnmpAnswer):
            session.read(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :], NUMBERS)


def mutated(packets, count):
    rng = random.Random(20271)
    for _ in range(count):
        packet = bytearray(rng.choice(packets))
        for _ in range(rng.randint(1, 6)):
            where = rng.randrange(len(packet) + 1)
            how = rng.randrange(4)
            if how == 0 and where < len(packet):
                packet[where] = rng.randrange(256)
            elif how == 1:
                packet[where:where] = rng.randbytes(rng.randint(1, 30))
            elif how == 2:
                del packet[where : where + rng.randint(1, 20)]
            elif packet:
                packet[where:where] = packet[: rng.randrange(len(packet))]
        yield bytes(packet)[: snmpmessages.LARGEST]
    yield from (rng.randbytes(rng.randrange(200)) for _ in range(count // 4))


HUGE = [
    b"",
    b"\x30\x80" * 4000,
    b"\x30\x84\xff\xff\xff\xff" * 1000,
    b"\x30\x82\x1f\xfc" + b"\x02\x82\x1f\xf0" + b"\xff" * 8176,
    b"\x24\x80" * 4000,
    b"\xa2" * 8192,
]


@pytest.mark.parametrize("reader", ["community", "unknown", "signed", "sealed"])
def test_no_bytes_make_it_fail_otherwise_than_as_unreadable(reader):
    if reader == "community":
        packets, read = [community_message(rfc1902.OctetString("rack"))], snmpmessages.read
    else:
        settings = {"signed": SURE, "sealed": SEALED, "unknown": SnmpSettings(OID, snmp_version="3")}[reader]
        packets, read = [from_device(settings)], SnmpSession(settings, ENGINE).read
    unreadable = 0
    for packet in [*HUGE, *mutated(packets, 2000)]:
        try:
            answer = read(packet, NUMBERS)
        except NoSnmpAnswer:
            unreadable += 1
        else:
            assert isinstance(getattr(answer, "answer", answer), SnmpAnswer)
    assert unreadable > 2000
