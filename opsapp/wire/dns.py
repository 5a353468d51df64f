"""The dns probe: as much of RFC 1035 as a question to one resolver needs. The target is
`dns://resolver[:port]/name?type=A`; `expected_value`, when given, must be among the records."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from typing import Any, List, Optional, Tuple
from urllib.parse import SplitResult, parse_qs, urlsplit

from .probes import Gate, Outcome, ProbeFailed, ProbeTarget, connect
from .typesettings import DnsSettings
from .urls import is_name

TYPES = {"A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28, "SRV": 33, "CAA": 257}
CODES = {1: "FORMERR", 2: "SERVFAIL", 3: "NXDOMAIN", 4: "NOTIMP", 5: "REFUSED"}
WITHOUT_QUESTION = ("FORMERR", "SERVFAIL", "NOTIMP", "REFUSED")
CUT, CODE, ANSWER = 0x0200, 0x000F, 0x8000


def probe(target: ProbeTarget, gate: Gate) -> Outcome:
    parts = urlsplit(target.url)
    name, kind = _question_of(parts)
    server, port = gate.addresses(parts.hostname or "")[0], parts.port or 53
    assert isinstance(target.own, DnsSettings)
    began = gate.elapsed()
    answer = exchange(gate, server, port, question(name, TYPES[kind]))
    took = round(gate.elapsed() - began, 2)
    problem = _problem(answer, name, kind, target.own.expected_value)
    return Outcome(not problem, took, problem or f"{kind} answered")


def _question_of(parts: SplitResult) -> Tuple[str, str]:
    return parts.path.strip("/"), parse_qs(parts.query).get("type", ["A"])[0].upper()


def address_problem(parts: SplitResult) -> Optional[str]:
    """What is wrong with the address beside its host and port."""
    name, kind = _question_of(parts)
    if not name or not is_name(name):
        return "must name what to ask for, as in dns://resolver/name?type=A"
    return None if kind in TYPES else f"type must be one of {', '.join(sorted(TYPES))}"


def question(name: str, kind: int) -> bytes:
    try:
        labels = [label.encode("idna") for label in name.rstrip(".").split(".")]
    except UnicodeError:
        raise ProbeFailed(f"{name} is not a name") from None
    packed = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return os.urandom(2) + struct.pack("!HHHHH", 0x0100, 1, 0, 0, 0) + packed + struct.pack("!HH", kind, 1)


def exchange(gate: Gate, server: str, port: int, query: bytes) -> bytes:
    """Ask over UDP, and again over TCP when the answer was cut."""
    answer = _over_udp(gate, server, port, query)
    cut = struct.unpack("!H", answer[2:4])[0] & CUT
    return _over_tcp(gate, server, port, query) if cut else answer


def _over_udp(gate: Gate, server: str, port: int, query: bytes) -> bytes:
    sock = gate.open(server, socket.SOCK_DGRAM)
    sock.connect((server, port))
    sock.send(query)
    while True:
        sock.settimeout(gate.left())
        answer = sock.recv(65535)
        if _is_answer(answer, query):
            return answer


def _over_tcp(gate: Gate, server: str, port: int, query: bytes) -> bytes:
    sock = connect(gate, [server], port)
    sock.sendall(struct.pack("!H", len(query)) + query)
    (size,) = struct.unpack("!H", _exactly(gate, sock, 2))
    answer = _exactly(gate, sock, size)
    if not _is_answer(answer, query):
        raise ProbeFailed("the name server answered another question")
    return answer


def _exactly(gate: Gate, sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        sock.settimeout(gate.left())
        piece = sock.recv(size - len(data))
        if not piece:
            raise ProbeFailed("the name server closed the connection")
        data += piece
    return data


def _is_answer(answer: bytes, query: bytes) -> bool:
    """Anything else is noise or a forgery. A server that refuses may leave the question out."""
    if len(answer) < 12 or answer[:2] != query[:2]:
        return False
    flags, questions = struct.unpack("!HH", answer[2:6])
    if not flags & ANSWER:
        return False
    if not questions:
        return CODES.get(flags & CODE, "") in WITHOUT_QUESTION
    return answer[12 : 12 + len(query) - 12].lower() == query[12:].lower()


def _bare(text: str) -> str:
    """People leave out the quotes of a text and the dot behind a name."""
    return text.strip('"').rstrip(".")


def _problem(answer: bytes, name: str, kind: str, expected: Any) -> str:
    code = struct.unpack("!H", answer[2:4])[0] & CODE
    if code:
        return f"{name}: {CODES.get(code, f'code {code}')}"
    try:
        values = records(answer, TYPES[kind])
    except (IndexError, ValueError, struct.error):
        return f"{name}: an unreadable answer"
    if not values:
        return f"{name} has no {kind} record"
    if expected is not None and _bare(str(expected)) not in map(_bare, values):
        return f"{name}: {expected} is not among {', '.join(sorted(values))[:200]}"
    return ""


def records(answer: bytes, kind: int) -> List[str]:
    questions, answers = struct.unpack("!HH", answer[4:8])
    position, values = 12, []
    for _ in range(questions):
        position = _name(answer, position)[1] + 4
    for _ in range(answers):
        position = _name(answer, position)[1]
        record_kind, _, _, size = struct.unpack("!HHIH", answer[position : position + 10])
        position += 10
        if record_kind == kind:
            values.append(_text(answer, position, size, kind))
        position += size
    return values


def _text(answer: bytes, at: int, size: int, kind: int) -> str:
    data = answer[at : at + size]
    if kind in (TYPES["A"], TYPES["AAAA"]):
        return str(ipaddress.ip_address(data))
    if kind in (TYPES["NS"], TYPES["CNAME"], TYPES["PTR"]):
        return _name(answer, at)[0]
    if kind == TYPES["MX"]:
        return f"{struct.unpack('!H', data[:2])[0]} {_name(answer, at + 2)[0]}"
    if kind == TYPES["SRV"]:
        return " ".join(map(str, struct.unpack("!HHH", data[:6]))) + " " + _name(answer, at + 6)[0]
    if kind == TYPES["SOA"]:
        first, after = _name(answer, at)
        second, after = _name(answer, after)
        return f"{first} {second} " + " ".join(map(str, struct.unpack("!IIIII", answer[after : after + 20])))
    if kind == TYPES["CAA"]:
        tag = data[2 : 2 + data[1]].decode("ascii")
        return f'{data[0]} {tag} "{data[2 + data[1] :].decode("utf-8", "replace")}"'
    pieces = []
    while data:
        pieces.append(data[1 : 1 + data[0]].decode("utf-8", "replace"))
        data = data[1 + data[0] :]
    return " ".join(f'"{piece}"' for piece in pieces)


def _name(answer: bytes, at: int) -> Tuple[str, int]:
    """A name, and where what follows it begins. Pointers lead back only, so there is an end."""
    labels, end, limit = [], 0, at
    while True:
        size = answer[at]
        if size & 0xC0 == 0xC0:
            end = end or at + 2
            at = struct.unpack("!H", answer[at : at + 2])[0] & 0x3FFF
            if at >= limit:
                raise ValueError("a pointer forward")
            limit = at
        elif size:
            labels.append(answer[at + 1 : at + 1 + size].decode("ascii", "replace"))
            at += 1 + size
        else:
            return ".".join(labels) + ".", end or at + 1
