"""SNMP messages by pysnmp's definitions: GET by version 2c, and by version 3 with its user based security (RFC 3414,
3826, 7860). Pure, but for the random salts of encryption.

Loaded with the first check that needs it. Must not: know sockets, time-outs or monitors (`snmp`).
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from pyasn1.codec.ber import decoder, encoder
from pyasn1.error import PyAsn1Error
from pyasn1.type import univ
from pysnmp.proto import rfc1902, rfc1905
from pysnmp.proto.api import v2c
from pysnmp.proto.error import SnmpV3Error
from pysnmp.proto.mpmod.rfc3412 import ScopedPDU, SNMPv3Message
from pysnmp.proto.secmod.rfc3414.service import SnmpUSMSecurityModel, UsmSecurityParameters

from opsapp.wire.probes import ProbeUnavailable
from opsapp.wire.typesettings import NOT_USED, SnmpSettings

LARGEST = 8192  # bytes of a message that is read
USM = 3
AUTHENTIC, ENCRYPTED, REPORTABLE = 1, 2, 4
DIGESTS = {"md5": ("md5", 12), "sha": ("sha1", 12), "sha224": ("sha224", 16), "sha256": ("sha256", 24),
           "sha384": ("sha384", 32), "sha512": ("sha512", 48)}  # fmt: skip
CIPHERS = {"des": (1, 3, 6, 1, 6, 3, 10, 1, 2, 2), "aes": (1, 3, 6, 1, 6, 3, 10, 1, 2, 4)}
STATISTICS = (1, 3, 6, 1, 6, 3, 15, 1, 1)  # usmStats: a report names the counter of what went wrong
REPORTS = ("level", "time", "user", "engine", "digest", "decryption")  # in the order of those counters
ABSENT = {rfc1905.NoSuchObject: "no such object", rfc1905.NoSuchInstance: "no such instance",
          rfc1905.EndOfMibView: "nothing"}  # fmt: skip
# What reading bytes that anybody may have sent can raise, in pyasn1 and in the definitions.
_UNREADABLE = (PyAsn1Error, SnmpV3Error, ValueError, TypeError, LookupError, ArithmeticError, RecursionError)


class NoSnmpAnswer(Exception):
    """These bytes are no message, or not the answer to this request."""


class SnmpAnswer(NamedTuple):
    """`report`: one of REPORTS, or the counter as written, where it is no answer at all. `error`: what the device
    refuses. `absent`: what it has instead of a value."""

    value: Any = None
    is_counter: bool = False
    absent: str = ""
    error: str = ""
    report: str = ""


class SnmpEngine(NamedTuple):
    """Which engine a device is, and its clock, as it says."""

    id: bytes = b""
    boots: int = 0
    time: int = 0


class SnmpNumbers(NamedTuple):
    """An answer is known by these numbers, which are drawn for each request."""

    message: int
    request: int


class SnmpReply(NamedTuple):
    engine: SnmpEngine
    answer: SnmpAnswer


# -- version 2c


def ask(oid: str, community: str, numbers: SnmpNumbers) -> bytes:
    message = v2c.Message()
    v2c.apiMessage.set_defaults(message)
    v2c.apiMessage.set_community(message, community.encode())
    v2c.apiMessage.set_pdu(message, _get(oid, numbers))
    return bytes(encoder.encode(message))


def read(packet: bytes, numbers: SnmpNumbers) -> SnmpAnswer:
    """NoSnmpAnswer: it is not the answer to this request."""
    return _reading(lambda: _read(packet, numbers))


def _read(packet: bytes, numbers: SnmpNumbers) -> SnmpAnswer:
    message, _ = decoder.decode(packet, asn1Spec=v2c.Message())
    return _answer(v2c.apiMessage.get_pdu(message), numbers)


def _get(oid: str, numbers: SnmpNumbers) -> Any:
    pdu = v2c.GetRequestPDU()
    v2c.apiPDU.set_defaults(pdu)
    v2c.apiPDU.set_request_id(pdu, numbers.request)
    if oid:
        v2c.apiPDU.set_varbinds(pdu, [(_numbers_of(oid), v2c.null)])
    return pdu


def _numbers_of(oid: str) -> tuple[int, ...]:
    return tuple(map(int, oid.strip(".").split(".")))


def _reading(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except _UNREADABLE as problem:
        raise NoSnmpAnswer(type(problem).__name__) from None


def _answer(pdu: Any, numbers: SnmpNumbers) -> SnmpAnswer:
    if not pdu.isSameTypeWith(v2c.ResponsePDU()) or int(v2c.apiPDU.get_request_id(pdu)) != numbers.request:
        raise NoSnmpAnswer("it answers another request")
    error = v2c.apiPDU.get_error_status(pdu)
    if int(error):
        return SnmpAnswer(error=str(error.prettyPrint())[:100])
    (_, value), *_ = v2c.apiPDU.get_varbinds(pdu)
    absent = next((words for kind, words in ABSENT.items() if isinstance(value, kind)), "")
    return SnmpAnswer(absent=absent) if absent else SnmpAnswer(_plain(value), _is_counter(value))


def _plain(value: Any) -> Any:
    """A number or a text."""
    if isinstance(value, univ.Integer):
        return int(value)
    if isinstance(value, rfc1902.IpAddress):
        return ".".join(map(str, bytes(value)))
    if isinstance(value, univ.OctetString):
        return _text(bytes(value))
    return str(value.prettyPrint())


def _is_counter(value: Any) -> bool:
    return isinstance(value, rfc1902.Counter32 | rfc1902.Counter64)


def _text(value: bytes) -> str:
    """The value as text, in hexadecimal where no person can read it: addresses of hardware, dates."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return value.hex(":")
    return text if all(sign.isprintable() or sign in "\t\r\n" for sign in text) else value.hex(":")


# -- version 3


class SnmpSession:
    def __init__(self, settings: SnmpSettings, engine: SnmpEngine = SnmpEngine()):
        self.user, self.engine = (settings.snmp_user or "").encode(), engine
        self.digest, self.digest_length = DIGESTS.get(settings.snmp_auth or NOT_USED, ("", 0))
        self.cipher = _cipher(settings.snmp_privacy or NOT_USED)
        self.flags = (AUTHENTIC if self.digest else 0) | (ENCRYPTED if self.cipher else 0)
        known = bool(self.digest and engine.id)
        self.auth_key = _key(self.digest, settings.snmp_auth_password or "", engine.id) if known else b""
        encrypts = known and self.cipher is not None
        self.privacy_key = _key(self.digest, settings.snmp_privacy_password or "", engine.id)[:16] if encrypts else b""

    def discover(self, numbers: SnmpNumbers) -> bytes:
        """The question who the device is; only a report answers it."""
        return self._packed(_scoped(b"", _get("", numbers)), numbers, flags=0, user=b"")

    def ask(self, oid: str, numbers: SnmpNumbers) -> bytes:
        return self._packed(_scoped(self.engine.id, _get(oid, numbers)), numbers, self.flags, self.user)

    def _packed(self, scoped: Any, numbers: SnmpNumbers, flags: int, user: bytes) -> bytes:
        message, salt = SNMPv3Message(), b""
        message["msgVersion"] = USM
        header = message["msgGlobalData"]
        header["msgID"], header["msgMaxSize"], header["msgSecurityModel"] = numbers.message, LARGEST, USM
        header["msgFlags"] = bytes([flags | REPORTABLE])
        if flags & ENCRYPTED:
            key, clock = univ.OctetString(self.privacy_key), (self.engine.boots, self.engine.time, None)
            sealed, salt = self._crypt(lambda: self.cipher.encrypt_data(key, clock, encoder.encode(scoped)))
            message["msgData"]["encryptedPDU"] = bytes(sealed)
        else:
            message["msgData"]["plaintext"] = scoped
        parameters = encoder.encode(self._parameters(flags, user, bytes(salt)))
        message["msgSecurityParameters"] = parameters
        whole = bytes(encoder.encode(message))
        if not flags & AUTHENTIC:
            return whole
        at = whole.index(parameters) + len(parameters) - len(salt) - 2 - self.digest_length
        return whole[:at] + self._digest(whole) + whole[at + self.digest_length :]

    def _parameters(self, flags: int, user: bytes, salt: bytes) -> Any:
        parameters = UsmSecurityParameters()
        parameters["msgAuthoritativeEngineId"] = self.engine.id
        parameters["msgAuthoritativeEngineBoots"] = self.engine.boots
        parameters["msgAuthoritativeEngineTime"] = self.engine.time
        parameters["msgUserName"] = user
        parameters["msgAuthenticationParameters"] = bytes(self.digest_length if flags & AUTHENTIC else 0)
        parameters["msgPrivacyParameters"] = salt
        return parameters

    def _digest(self, whole: bytes) -> bytes:
        return hmac.digest(self.auth_key, whole, self.digest)[: self.digest_length]

    def _crypt(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except SnmpV3Error:
            raise ProbeUnavailable("this service cannot encrypt for SNMP: its cryptography is too old") from None

    def read(self, packet: bytes, numbers: SnmpNumbers) -> SnmpReply:
        """The reply in a packet; NoSnmpAnswer: not the answer to this request, or not from who knows the passwords."""
        reply: SnmpReply = _reading(lambda: self._read(packet, numbers))
        return reply

    def _read(self, packet: bytes, numbers: SnmpNumbers) -> SnmpReply:
        message, _ = decoder.decode(packet, asn1Spec=SNMPv3Message())
        header, raw = message["msgGlobalData"], bytes(message["msgSecurityParameters"])
        if int(message["msgVersion"]) != USM or int(header["msgID"]) != numbers.message:
            raise NoSnmpAnswer("it answers another request")
        parameters, _ = decoder.decode(raw, asn1Spec=UsmSecurityParameters())
        flags = bytes(header["msgFlags"])[0]
        is_sure = bool(flags & AUTHENTIC) and self._is_authentic(packet, raw, parameters)
        scoped = self._opened(message["msgData"], flags, parameters)
        engine = SnmpEngine(*(kind(parameters[n]) for n, kind in enumerate((bytes, int, int))))
        pdu = scoped["data"].getComponent()
        if pdu.isSameTypeWith(v2c.ReportPDU()):
            return SnmpReply(engine, _report(pdu))
        if (not is_sure and self.flags & AUTHENTIC) or (flags & 3) != self.flags or engine.id != self.engine.id:
            raise NoSnmpAnswer("it is not authenticated as it was asked for")
        return SnmpReply(engine, _answer(pdu, numbers))

    def _is_authentic(self, packet: bytes, raw: bytes, parameters: Any) -> bool:
        told, salt = (bytes(parameters[name]) for name in ("msgAuthenticationParameters", "msgPrivacyParameters"))
        at = packet.index(raw) + len(raw) - len(salt) - 2 - len(told)
        if not self.auth_key or len(told) != self.digest_length or packet[at : at + len(told)] != told:
            raise NoSnmpAnswer("its digest is of another kind")
        if not hmac.compare_digest(told, self._digest(packet[:at] + bytes(len(told)) + packet[at + len(told) :])):
            raise NoSnmpAnswer("its digest is wrong")
        return True

    def _opened(self, data: Any, flags: int, parameters: Any) -> Any:
        if not flags & ENCRYPTED:
            return data["plaintext"]
        if self.cipher is None or not flags & AUTHENTIC:
            raise NoSnmpAnswer("it is encrypted, and was not asked to be")
        boots, time = (int(parameters[f"msgAuthoritativeEngine{name}"]) for name in ("Boots", "Time"))
        salt, key = parameters["msgPrivacyParameters"], univ.OctetString(self.privacy_key)
        scoped, _ = decoder.decode(
            self.cipher.decrypt_data(key, (boots, time, salt), data["encryptedPDU"]), asn1Spec=ScopedPDU()
        )
        return scoped


def _scoped(engine_id: bytes, pdu: Any) -> Any:
    scoped = ScopedPDU()
    scoped["contextEngineId"], scoped["contextName"] = engine_id, b""
    scoped["data"].setComponentByType(pdu.tagSet, pdu)
    return scoped


def _report(pdu: Any) -> SnmpAnswer:
    (name, _), *_ = v2c.apiPDU.get_varbinds(pdu)
    numbers = tuple(name)
    known = numbers[:-2] == STATISTICS and 1 <= numbers[-2] <= len(REPORTS)
    return SnmpAnswer(report=REPORTS[numbers[-2] - 1] if known else str(name.prettyPrint())[:100])


def _cipher(name: str) -> Any:
    return None if name == NOT_USED else SnmpUSMSecurityModel.PRIV_SERVICES[CIPHERS[name]]


def _key(digest: str, password: str, engine_id: bytes) -> bytes:
    whole = _stretched(digest, password)
    return hashlib.new(digest, whole + engine_id + whole).digest()


@lru_cache(maxsize=512)
def _stretched(digest: str, password: str) -> bytes:
    """A megabyte of the password over and over: some milliseconds, so they are kept."""
    word = password.encode()
    return hashlib.new(digest, (word * ((1 << 20) // len(word) + 1))[: 1 << 20]).digest()
