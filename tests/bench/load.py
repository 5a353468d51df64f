"""A load of HTTP clients on keep-alive connections, greenlets of this process; the server measured is another one.

Where the machine's cores are what limits, `wrk` asks if it is installed: it needs a fifth of the processor.
"""

import re
import shutil
import time
from typing import NamedTuple

import gevent
from gevent import socket, subprocess


class Load(NamedTuple):
    rate: float  # answers a second
    p50: float  # ms
    p99: float
    wrong: int  # answers with another status than 200


def percentile(values, percent):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("nan")


def request(path, token=None, method="GET", body=b"", headers=()):
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", *headers]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def answer(link, buffer):
    """(status, rest of the buffer) of the next answer, which has to have a Content-Length."""
    while b"\r\n\r\n" not in buffer:
        more = link.recv(65536)
        if not more:
            raise ConnectionError("the server closed the connection")
        buffer += more
    head, _, buffer = buffer.partition(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    length = int(fields[b"content-length"])
    while len(buffer) < length:
        more = link.recv(262144)
        if not more:
            raise ConnectionError("the server closed the connection")
        buffer += more
    return int(head.split(None, 2)[1]), buffer[length:]


def load(address, sent, connections=64, seconds=5.0, per_second=None):
    """Every connection sends the same request again and again, or so many a second; the first half does not count."""
    times, wrong = [], 0
    begin = time.perf_counter() + 0.5
    end = begin + seconds

    def client(number):
        nonlocal wrong
        if per_second:  # spread over a period, not all at once
            gevent.sleep(number / connections / per_second)
        link, buffer = socket.create_connection(address), b""
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while (asked := time.perf_counter()) < end:
                link.sendall(sent)
                status, buffer = answer(link, buffer)
                if asked >= begin:
                    times.append((time.perf_counter() - asked) * 1000)
                wrong += status != 200
                if per_second:
                    gevent.sleep(max(0, asked + 1 / per_second - time.perf_counter()))
        finally:
            link.close()

    gevent.joinall([gevent.spawn(client, number) for number in range(connections)], raise_error=True)
    return Load(len(times) / seconds, percentile(times, 50), percentile(times, 99), wrong)


def heavy_load(address, path, token, connections=64, seconds=5.0):
    if not shutil.which("wrk"):
        return load(address, request(path, token), connections, seconds)
    url, known = f"http://{address[0]}:{address[1]}{path}", f"Authorization: Bearer {token}"
    asked = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--latency", "-H", known, url]
    text = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    rate = float(re.search(r"Requests/sec: +([\d.]+)", text)[1])
    return Load(rate, _ms(text, 50), _ms(text, 99), int(wrong[1]) if wrong else 0)


def _ms(text, percent):
    number, unit = re.search(rf" {percent}% +([\d.]+)(us|ms|s)\n", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit]
