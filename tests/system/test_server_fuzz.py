"""Mutilated requests, seeded: the server answers or closes each, logs no traceback, and goes on."""

import random

import pytest

from tests.support.raw import Raw
from tests.support.serving import Serving

pytestmark = [pytest.mark.system, pytest.mark.nightly("tests/unit/test_attack_parser.py reads more such requests")]

SEEDS = range(20)
REQUESTS = [
    b"GET /api/plain HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /api/body HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde",
    b"POST /api/body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
    b"POST /api/sink HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=X\r\nContent-Length: 90\r\n\r\n"
    b'--X\r\nContent-Disposition: form-data; name="dest"\r\n\r\n/a\r\n--X--\r\n',
    b"GET /api/session HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x81\x85abcdabcde",
    b"GET /api/told HTTP/1.0\r\n\r\n",
]
SPICES = [
    b"\r\n",
    b"\n",
    b"\0",
    b"\xff",
    b" ",
    b":",
    b"%",
    b"..",
    b"\r\n\r\n",
    b"chunked",
    b"0",
    b"-1",
    b"99999999999999999999",
]


def mutilated(chance, request):
    data = bytearray(request)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                del data[at : at + chance.randint(1, 8)]
            case 2:
                data[at:at] = chance.choice(SPICES)
            case _:
                data[at:at] = data[: chance.randint(1, 40)]
        if not data:
            return b"\0"
    return bytes(data)


def test_mutilated_requests():
    with Serving(head_timeout=0.5, body_timeout=0.5, idle_timeout=0.5) as serving:
        for seed in SEEDS:
            chance = random.Random(seed)
            batch = [Raw(serving.port) for _ in range(100)]
            for raw in batch:
                raw.send(mutilated(chance, chance.choice(REQUESTS)))
            for raw in batch:
                with raw:
                    raw.sock.shutdown(1)
                    got = raw.rest()
                    assert not got or got.startswith(b"HTTP/1.1 "), (seed, got[:100])
                    assert b"HTTP/1.1 500" not in got, (seed, serving.output()[-3000:])
            with Raw(serving.port) as honest:
                assert honest.get("/api/plain").status == 200
        assert "Traceback" not in serving.output(), serving.output()[-3000:]
