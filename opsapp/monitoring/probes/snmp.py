"""The snmp probe: one GET to a device over UDP, and what its value says. The server's alone: agents have no library for
it.

A datagram may be lost, so a question is sent again; it may be forged, so only what has the numbers of the question (in
version 3, the digest of who knows the password) is an answer.
"""

from __future__ import annotations

import math
import socket
from collections.abc import Callable
from functools import cache
from importlib import import_module
from secrets import randbelow
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import gevent

from opsapp.wire.jsonpath import shown
from opsapp.wire.probes import Gate, Outcome, ProbeFailed, ProbeTarget
from opsapp.wire.typesettings import COMPARISONS, UNUSED, SnmpSettings
from opsapp.wire.webchecks import compares

if TYPE_CHECKING:
    from .snmpmessages import SnmpAnswer, SnmpEngine, SnmpNumbers, SnmpSession

T = TypeVar("T")
PORT = 161
AGAIN_S, MOST_SENT = 2.0, 5
MOST_PASSED_OVER = 50  # datagrams: reading them costs time
METRIC = "value"
TOLD = {
    "user": "the device knows no such user",
    "digest": "the password for authentication is wrong, or its method",
    "level": "the device does not take this user with this authentication and encryption",
    "decryption": "the password for encryption is wrong, or its method",
    "time": "the device's clock does not fit: it asks to be asked again and again",
}
ERRORS = {"authorizationError": "this user may not read it, or not with so little security (authorizationError)"}
SILENT_2C = "a device does not answer a wrong community either"
SILENT_3 = "the device is there, and does not answer this user"
SILENT_SEALED = f"{SILENT_3}: the password for encryption may be wrong, or its method"


def probe(target: ProbeTarget, gate: Gate) -> Outcome:
    assert isinstance(target.own, SnmpSettings)
    parts = urlsplit(target.url)
    address, began = gate.addresses(parts.hostname or "")[0], gate.elapsed()
    line = DeviceLine(gate, address, parts.port or PORT, target.timeout)
    ask = _by_community if target.own.snmp_version != "3" else _by_user
    return _judged(target.own, ask(target.own, line), round(gate.elapsed() - began, 2))


class DeviceLine:
    """A connected socket to a device; from another address the system hands over nothing."""

    def __init__(self, gate: Gate, address: str, port: int, timeout: float):
        self._gate, self._timeout = gate, timeout
        self._sock = gate.open(address, socket.SOCK_DGRAM)
        self._sock.connect((address, port))
        self._passed_over = 0

    def exchange(self, question: bytes, read: Callable[[bytes], T], silent: str) -> T:
        """What `read` makes of the answer. `silent`: what it may mean if there is none."""
        try:
            for _ in range(MOST_SENT):
                self._sock.send(question)
                answer = self._heard(read)
                if answer is not None:
                    return answer
            raise TimeoutError
        except TimeoutError:
            told = f"no answer within {self._timeout:g} s"
            raise ProbeFailed(f"{told}; {silent}" if silent else told) from None

    def _heard(self, read: Callable[[bytes], T]) -> T | None:
        """None: it is time to ask again."""
        messages = _messages()
        until = self._gate.left() - max(AGAIN_S, self._timeout / MOST_SENT)
        while True:
            left = self._gate.left()
            self._sock.settimeout(left if until <= 0 else max(0.01, left - until))
            try:
                return read(self._sock.recv(messages.LARGEST))
            except TimeoutError:
                self._gate.left()  # raises where the time is over
                return None
            except messages.NoSnmpAnswer as problem:
                self._passed_over += 1
                if self._passed_over > MOST_PASSED_OVER:
                    raise ProbeFailed(f"what comes is no answer: {problem}") from None


@cache
def _messages() -> Any:
    """Loaded in a thread, with the first check: it takes the hub some 40 ms."""
    return gevent.get_hub().threadpool.apply(import_module, (f"{__package__}.snmpmessages",))


def _by_community(own: SnmpSettings, line: DeviceLine) -> SnmpAnswer:
    messages, numbers = _messages(), _drawn()
    question = messages.ask(own.snmp_oid, own.snmp_community or "", numbers)
    answer: SnmpAnswer = line.exchange(question, lambda packet: messages.read(packet, numbers), SILENT_2C)
    return answer


def _by_user(own: SnmpSettings, line: DeviceLine) -> SnmpAnswer:
    """First who the device is, then the question to it; once more if its clock was another."""
    engine = _discovered(own, line)
    silent = SILENT_3 if own.snmp_privacy in UNUSED else SILENT_SEALED
    for _ in range(2):
        session, numbers = _messages().SnmpSession(own, engine), _drawn()
        reply = line.exchange(session.ask(own.snmp_oid, numbers), _reader(session, numbers), silent)
        if reply.answer.report != "time":
            break
        engine = reply.engine
    if reply.answer.report:
        raise ProbeFailed(TOLD.get(reply.answer.report, f"the device reports {reply.answer.report}"))
    answer: SnmpAnswer = reply.answer
    return answer


def _discovered(own: SnmpSettings, line: DeviceLine) -> SnmpEngine:
    session, numbers = _messages().SnmpSession(own), _drawn()
    reply = line.exchange(session.discover(numbers), _reader(session, numbers), "")
    if reply.answer.report != "engine" or not reply.engine.id:
        raise ProbeFailed("the device does not say which engine it is")
    engine: SnmpEngine = reply.engine
    return engine


def _reader(session: SnmpSession, numbers: SnmpNumbers) -> Callable[[bytes], Any]:
    return lambda packet: session.read(packet, numbers)


def _drawn() -> SnmpNumbers:
    numbers: SnmpNumbers = _messages().SnmpNumbers(randbelow(1 << 31), randbelow(1 << 31))
    return numbers


def _judged(own: SnmpSettings, answer: SnmpAnswer, took: float) -> Outcome:
    if answer.error:
        return Outcome(False, took, f"the device refuses it: {ERRORS.get(answer.error, answer.error)}")
    if answer.absent:
        return Outcome(False, took, f"the device has {answer.absent} at {own.snmp_oid}")
    number = _number(answer.value)
    problem = _problem(own, answer.value, number)
    values = {} if number is None else {METRIC: float(number)}
    units = {METRIC: "c" if answer.is_counter else ""} if values else {}
    return Outcome(not problem, took, problem or "answered", metrics=values, units=units)


def _problem(own: SnmpSettings, value: int | str, number: float | None) -> str:
    """What is wrong with a value. Devices write some numbers as text: compared as numbers where a number is
    expected."""
    expected = own.expected_value
    is_number = isinstance(expected, int | float) and not isinstance(expected, bool)
    if expected is None or compares(own.comparison, number if is_number else value, expected):
        return ""
    sign = "" if own.comparison == COMPARISONS[0] else own.comparison + " "
    return f"{own.snmp_oid} is {shown(value)}, expected {sign}{shown(expected)}"


def _number(value: int | str) -> float | None:
    try:
        number = value if isinstance(value, int) else float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
