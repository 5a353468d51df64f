"""What a sign-in takes while 5,000 single events from elsewhere wait, and how long until all of them are taken."""

import json
import tempfile
import time
from contextlib import ExitStack

from tests.bench import Row, seconds_of
from tests.bench.load import percentile
from tests.support.process import PASSWORD, Serve
from tests.support.raw import Raw

POSTS, ROUNDS = 5000, 30
HEAD = b"POST %b HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


def storm(stack, serve, path):
    posts = []
    for number in range(POSTS):
        event = {"id": str(number), "status": "firing", "name": "Down", "target": f"h{number}", "summary": "x" * 200}
        body = json.dumps(event).encode()
        posts.append(stack.enter_context(Raw(serve.port)).send(HEAD % (path.encode(), len(body)) + body))
    return posts


def sign_ins(serve, rounds):
    """Milliseconds of each."""
    return [seconds_of(lambda: serve.client().login("admin", PASSWORD)) * 1000 for _ in range(rounds)]


def measure():
    config = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}}}
    with tempfile.TemporaryDirectory() as place, Serve(place, config=config) as serve, ExitStack() as stack:
        inlet = serve.admin.post("/api/healing/inlets", {"name": "Alertmanager"})
        calm = sign_ins(serve, ROUNDS)
        began = time.monotonic()
        posts = storm(stack, serve, inlet["url"])
        busy = sign_ins(serve, ROUNDS)
        waiting = sum(not raw.is_answered() for raw in posts)
        taken = sum(raw.answer().status == 200 for raw in posts)
        took = time.monotonic() - began
    yield Row("events that were taken", taken, "", f"at least {POSTS:,}")
    yield Row("until the last of them", took, "s", "at most 120")
    yield Row("events that still waited after the sign-ins", waiting, "")
    yield Row("sign-in: p99 in peace", percentile(calm, 99), "ms")
    yield Row("sign-in: p99 beside them", percentile(busy, 99), "ms", "at most 250")
