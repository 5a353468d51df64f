"""Checks without a service, to stand beside ours: a bare multi loop of pycurl that opens a connection for each request
and keeps nothing: `python -m tests.bench.bareloop PORT RATE SECONDS` prints what a request costs, in µs.

It begins what is due at the same steps of time as the service does, and its handles are made once.
"""

import sys
import time

import pycurl

STEP_S = 0.02
TIMEOUT_MS = 4000


def handle(port, number):
    easy = pycurl.Curl()
    for option, value in (
        (pycurl.NOSIGNAL, 1),
        (pycurl.FRESH_CONNECT, 1),
        (pycurl.FORBID_REUSE, 1),
        (pycurl.TIMEOUT_MS, TIMEOUT_MS),
        (pycurl.URL, f"http://127.0.0.1:{port}/{number}"),
        (pycurl.WRITEFUNCTION, len),
    ):
        easy.setopt(option, value)
    return easy


def run(port, rate, seconds):
    """µs of processor for each request."""
    multi, idle = pycurl.CurlMulti(), [handle(port, number) for number in range(max(100, rate))]
    made = flying = 0
    began, cpu = time.monotonic(), time.process_time()
    while (passed := time.monotonic() - began) < seconds or flying:
        due = min(int(int(min(passed, seconds) / STEP_S) * STEP_S * rate), made + len(idle))
        for _ in range(due - made):
            multi.add_handle(idle.pop())
        flying, made = flying + due - made, due
        multi.perform()
        left = 1
        while left:
            left, good, bad = multi.info_read()
            assert not bad, bad
            for easy in good:
                assert easy.getinfo(pycurl.RESPONSE_CODE) == 200
                multi.remove_handle(easy)
                idle.append(easy)
                flying -= 1
        wait = STEP_S - passed % STEP_S
        if flying:
            multi.select(wait)
        else:
            time.sleep(wait)
    return (time.process_time() - cpu) / made * 1e6


if __name__ == "__main__":
    print(f"{run(*map(int, sys.argv[1:4])):.0f}")
