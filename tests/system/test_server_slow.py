"""Clients that are slow, silent or many: each is cut after its time, and nobody else notices."""

import threading
import time

import pytest

from tests.support.raw import Raw
from tests.support.serving import Serving
from tests.support.waiting import until

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def serving():
    with Serving(head_timeout=0.6, body_timeout=0.6, idle_timeout=1.5, send_timeout=1.0) as running:
        yield running


def test_a_head_that_does_not_end_is_cut(serving):
    with Raw(serving.port) as raw:
        began = time.monotonic()
        raw.send(b"GET /api/plain HTTP/1.1\r\nHost: x\r\nX: ")
        stop = threading.Event()

        def drip():
            while not stop.wait(0.1):
                try:
                    raw.send(b"a")
                except OSError:
                    return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            got = raw.answer()
        finally:
            stop.set()
            dripping.join()
        assert (got.status, got.json["code"], got.headers["connection"]) == (408, "timeout", "close")
        assert 0.5 <= time.monotonic() - began < 3


def test_a_client_that_says_nothing_is_cut_silently(serving):
    with Raw(serving.port) as raw:
        assert raw.closed_within(2)


def test_a_body_without_progress_is_cut(serving):
    with Raw(serving.port) as raw:
        raw.send(b"POST /api/body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        got = raw.answer()
        assert (got.status, got.json["code"], got.headers["connection"]) == (408, "timeout", "close")


def test_a_slow_body_that_makes_progress_is_taken(serving):
    with Raw(serving.port) as raw:
        raw.send(b"POST /api/body HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n")
        pause = threading.Event()
        for _ in range(6):
            raw.send(b"a")
            pause.wait(0.25)
        assert raw.answer().json["length"] == 6


def test_a_sink_without_progress_is_cut(serving):
    with Raw(serving.port) as raw:
        raw.send(b"POST /api/sink HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=X\r\n"
                 b"Content-Length: 1000\r\n\r\n--X\r\n")  # fmt: skip
        assert raw.answer().status == 408


def test_an_idle_connection_is_closed(serving):
    with Raw(serving.port) as raw:
        assert raw.get("/api/plain").status == 200
        assert not raw.closed_within(0.9)
    with Raw(serving.port) as raw:
        assert raw.get("/api/plain").status == 200
        assert raw.closed_within(3)


def test_a_client_that_does_not_read_is_cut(serving):
    with Raw(serving.port) as watcher, Raw(serving.port) as raw:
        before = watcher.get("/api/counts").json
        raw.send(b"GET /api/ticks?size=100000 HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: watcher.get("/api/counts").json["closed"] > before["closed"], 15, what="the stream's end")


def test_half_open_connections_lock_nobody_out(serving):
    half = [Raw(serving.port) for _ in range(300)]
    try:
        for number, raw in enumerate(half):
            raw.send(b"GET /api/plain HT" if number % 2 else b"")
        began = time.monotonic()
        with Raw(serving.port) as honest:
            assert honest.get("/api/plain").status == 200
        assert time.monotonic() - began < 0.5
        for raw in half:
            assert raw.rest()[:12] in {b"", b"HTTP/1.1 408"}
    finally:
        for raw in half:
            raw.close()


def test_a_body_that_ends_early_is_no_request(serving):
    with Raw(serving.port) as watcher:
        with Raw(serving.port) as raw:
            raw.send(b"POST /api/body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        assert watcher.get("/api/plain").status == 200
    assert "Traceback" not in serving.output()


def test_too_many_connections_end_the_one_that_waits_longest():
    with Serving(max_connections=70) as serving:
        idle = [Raw(serving.port) for _ in range(100)]
        try:
            with Raw(serving.port) as honest:
                assert honest.get("/api/plain").status == 200
            assert idle[0].closed_within(2)
            assert idle[-1].get("/api/plain").status == 200
        finally:
            for raw in idle:
                raw.close()


def test_streams_leave_room_for_others():
    with Serving(max_connections=70) as serving:
        streams = []
        try:
            refused = 0
            for _ in range(68):
                raw = Raw(serving.port)
                streams.append(raw)
                raw.send(b"GET /api/silent HTTP/1.1\r\nHost: x\r\n\r\n")
                status, headers = raw.head()
                if status == 503:
                    refused += 1
                    assert headers["retry-after"] == "5"
            assert refused
            with Raw(serving.port) as honest:
                assert honest.get("/api/plain").status == 200
        finally:
            for raw in streams:
                raw.close()


def test_too_many_waiting_requests_are_told_so():
    with Serving(max_waiting=4) as serving:
        raws = [Raw(serving.port) for _ in range(8)]
        try:
            for raw in raws:
                raw.send(b"GET /api/slow?s=0.5 HTTP/1.1\r\nHost: x\r\n\r\n")
            got = [raw.answer() for raw in raws]
            assert sorted({one.status for one in got}) == [200, 503]
            assert sum(one.status == 200 for one in got) == 4
            assert next(one for one in got if one.status == 503).headers["retry-after"] == "1"
            assert raws[-1].get("/api/plain").status == 200
        finally:
            for raw in raws:
                raw.close()
