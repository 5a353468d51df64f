"""GET /api/me of one client while 50 others log in at once: password hashes must not hold anybody else up."""

import tempfile
import threading
import time

from tests.bench import Row
from tests.bench.load import percentile
from tests.support.process import PASSWORD, Serve

LOGINS = 50


def measure():
    generous = {"web": {"login": {"attempts_per_ip": 10_000, "attempts_per_user": 10_000}}}
    with tempfile.TemporaryDirectory() as place, Serve(place, config=generous) as serve:
        yield Row("GET /api/me alone, median", percentile(reads(serve, lambda: False, 200), 50), "ms")
        answers, began = [], time.monotonic()
        threads = [threading.Thread(target=log_in, args=(serve, answers)) for _ in range(LOGINS)]
        for thread in threads:
            thread.start()
        times = reads(serve, lambda: any(thread.is_alive() for thread in threads))
        if answers != [200] * LOGINS:
            raise AssertionError(f"logins answered {answers}")
        yield Row(f"GET /api/me during {LOGINS} logins, median", percentile(times, 50), "ms", "at most 50 more")
        yield Row(f"GET /api/me during {LOGINS} logins, p99", percentile(times, 99), "ms")
        yield Row(f"{LOGINS} logins", time.monotonic() - began, "s")


def log_in(serve, answers):
    body = {"username": "admin", "password": PASSWORD}
    answers.append(serve.client(timeout=60).request("POST", "/api/login", body).status)


def reads(serve, going, at_least=1):
    times = []
    while going() or len(times) < at_least:
        began = time.perf_counter()
        serve.admin.get("/api/me")
        times.append((time.perf_counter() - began) * 1000)
    return times
