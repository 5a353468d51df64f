"""What a sign-in, a list and the public status take beside 1,000 uploads from ten addresses that do not hurry."""

import tempfile
from contextlib import ExitStack, suppress

from tests.bench import Row, seconds_of
from tests.bench.load import percentile
from tests.support.process import PASSWORD, Serve
from tests.support.raw import Raw
from tests.support.together import repeated

UPLOADS, ADDRESSES, ROUNDS = 1000, 10, 50
HEAD = b"POST /api/%b HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def slow_uploads(stack, serve):
    """Half of them small enough to be read before the head is judged."""
    uploads = []
    for number in range(UPLOADS):
        raw = stack.enter_context(Raw(serve.port, source=f"127.0.0.{10 + number % ADDRESSES}"))
        uploads.append(raw.send(HEAD % ((b"automations", 64 << 10) if number % 2 else (b"login", 15_000))))
    return uploads


def taken(serve, rounds):
    """Milliseconds of each round, by what was asked."""
    client = serve.client(token=serve.admin.token)
    asked = {
        "sign-in": lambda: serve.client().login("admin", PASSWORD),
        "list": lambda: client.get("/api/monitoring/endpoints"),
        "public": lambda: client.get("/api/status/public"),
    }
    times = {name: [] for name in asked}
    for _ in range(rounds):
        for name, ask in asked.items():
            times[name].append(seconds_of(ask) * 1000)
    return times


def drip(uploads):
    for raw in uploads:
        with suppress(OSError):
            raw.sock.send(b" ")


def measure():
    limits = {"body_grace_s": 120}
    config = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}, "limits": limits}}
    with tempfile.TemporaryDirectory() as place, Serve(place, config=config) as serve, ExitStack() as stack:
        calm = taken(serve, ROUNDS)
        uploads = slow_uploads(stack, serve)
        with repeated(lambda: drip(uploads), 1.0):
            behind, busy = taken(serve, 1), taken(serve, ROUNDS)
        ended = sum(raw.is_answered() for raw in uploads)
    yield Row("uploads that ended meanwhile", ended, "", "0")
    yield Row("slowest right behind them", max(max(times) for times in behind.values()), "ms", "at most 1,000")
    for name, times in busy.items():
        yield Row(f"{name}: p99 in peace", percentile(calm[name], 99), "ms")
        yield Row(f"{name}: p99 beside them", percentile(times, 99), "ms", "at most 250, or twice that in peace")
