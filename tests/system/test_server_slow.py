"""Clients that are slow, silent or many: each is cut after its time, and nobody else notices. Who is to be cut asks
`serving`, whose times are short; who must not be asks `patient`, whose times are longer than any test."""

import contextlib

import pytest

from tests.support.raw import Raw
from tests.support.serving import Serving
from tests.support.together import repeated
from tests.support.waiting import until

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def serving():
    with Serving(head_timeout=2, body_timeout=0.6, idle_timeout=2) as running:
        yield running


@pytest.fixture(scope="module")
def patient():
    with Serving(head_timeout=600, body_timeout=600, idle_timeout=600, send_timeout=1.0) as running:
        yield running


def test_a_head_that_does_not_end_is_cut(serving):
    with Raw(serving.port) as raw:
        raw.send(b"GET /api/plain HTTP/1.1\r\nHost: x\r\nX: ")

        def drip():
            with contextlib.suppress(OSError):
                raw.send(b"a")

        with repeated(drip, 0.1):
            got = raw.answer()
        assert (got.status, got.json["code"], got.headers["connection"]) == (408, "timeout", "close")


def test_a_head_that_comes_slowly_is_waited_for(patient):
    """Others are answered, and whoever is idle stays, while it comes."""
    with Raw(patient.port) as raw, Raw(patient.port) as other:
        for piece in (b"GET /api/pl", b"ain HTTP/1.1\r\n", b"Host: x\r\nX-Test: ", b"slow\r\n"):
            raw.send(piece)
            assert other.get("/api/plain").status == 200
            assert not raw.is_answered()
        assert raw.send(b"\r\n").answer().json["x"] == "slow"


def test_a_client_that_says_nothing_is_cut_silently(serving):
    with Raw(serving.port) as raw:
        assert raw.ended()


def test_a_body_without_progress_is_cut(serving):
    with Raw(serving.port) as raw:
        raw.send(b"POST /api/body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        got = raw.answer()
        assert (got.status, got.json["code"], got.headers["connection"]) == (408, "timeout", "close")


def test_a_slow_body_that_makes_progress_is_taken(patient):
    """That each piece is waited for anew is told in tests/unit/test_server_pace.py, where the time is the test's."""
    with Raw(patient.port) as raw, Raw(patient.port) as other:
        raw.send(b"POST /api/body HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n")
        for _ in range(6):
            assert other.get("/api/plain").status == 200
            assert not raw.is_answered()
            raw.send(b"a")
        assert raw.answer().json["length"] == 6


def test_a_sink_without_progress_is_cut(serving):
    with Raw(serving.port) as raw:
        raw.send(b"POST /api/sink HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=X\r\n"
                 b"Content-Length: 1000\r\n\r\n--X\r\n")  # fmt: skip
        assert raw.answer().status == 408


def test_an_idle_connection_is_closed(serving):
    with Raw(serving.port) as raw:
        assert raw.get("/api/plain").status == 200
        assert raw.ended()


def test_an_idle_connection_has_a_time_of_its_own():
    """It is there when one that has said nothing yet, and came later, has been cut."""
    with Serving(head_timeout=2, body_timeout=2, idle_timeout=600) as serving, Raw(serving.port) as idle:
        assert idle.get("/api/plain").status == 200
        with Raw(serving.port) as silent:
            assert silent.ended()
        assert not idle.is_answered()
        assert idle.get("/api/plain").status == 200


def test_a_client_that_does_not_read_is_cut(patient):
    with Raw(patient.port) as watcher, Raw(patient.port) as raw:
        before = watcher.get("/api/counts").json
        raw.send(b"GET /api/ticks?size=100000 HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: watcher.get("/api/counts").json["closed"] > before["closed"], 15, what="the stream's end")


@contextlib.contextmanager
def half_open(serving):
    """300 connections: half of them say nothing, half begin a request."""
    half = [Raw(serving.port) for _ in range(300)]
    try:
        for number, raw in enumerate(half):
            with contextlib.suppress(ConnectionError):  # where the machine is so slow that its time is over
                raw.send(b"GET /api/plain HT" if number % 2 else b"")
        yield half
    finally:
        for raw in half:
            raw.close()


def test_half_open_connections_lock_nobody_out(patient):
    with half_open(patient) as half, Raw(patient.port) as honest:
        assert honest.get("/api/plain").status == 200
        assert not any(raw.is_answered() for raw in half)


def test_half_open_connections_are_cut(serving):
    with half_open(serving) as half:
        assert {last_word(raw)[:12] for raw in half} <= {b"", b"HTTP/1.1 408"}


def last_word(raw):
    """What it is told before the end; nothing where it was cut before it had begun its request."""
    try:
        return raw.rest()
    except ConnectionError:
        return b""


def test_a_body_that_ends_early_is_no_request(patient):
    with Raw(patient.port) as watcher:
        with Raw(patient.port) as raw:
            raw.send(b"POST /api/body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        assert watcher.get("/api/plain").status == 200
    assert "Traceback" not in patient.output()


def test_too_many_connections_end_the_one_that_waits_longest():
    with Serving(max_connections=70) as serving:
        idle = [Raw(serving.port) for _ in range(100)]
        try:
            with Raw(serving.port) as honest:
                assert honest.get("/api/plain").status == 200
            assert idle[0].ended()
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
    """Before those that wait are answered."""
    with Serving(max_waiting=4) as serving:
        raws = [Raw(serving.port) for _ in range(8)]
        try:
            for raw in raws:
                raw.send(b"GET /api/held?gate=full HTTP/1.1\r\nHost: x\r\n\r\n")
            until(lambda: sum(raw.is_answered() for raw in raws) == 4, what="four refusals")
            refused = [raw.answer() for raw in raws if raw.is_answered()]
            assert {(answer.status, answer.headers["retry-after"]) for answer in refused} == {(503, "1")}
            serving.let_go("full")
            until(lambda: sum(raw.is_answered() for raw in raws) == 4, what="four answers")
            assert {raw.answer().status for raw in raws if raw.is_answered()} == {200}
            assert raws[-1].get("/api/plain").status == 200
        finally:
            for raw in raws:
                raw.close()


def test_a_storm_by_a_path_with_a_lane_of_its_own_lets_everybody_else_be_answered():
    with Serving(max_waiting=4) as serving:
        raws = [Raw(serving.port) for _ in range(12)]
        try:
            for raw in raws:
                raw.send(b"GET /api/stormy?gate=storm HTTP/1.1\r\nHost: x\r\n\r\n")
            with Raw(serving.port) as other:
                until(lambda: other.get("/api/counts").json["held"] == 1, what="the storm being there")
                assert other.get("/api/plain").status == 200
            assert not any(raw.is_answered() for raw in raws)
            serving.let_go("storm")
            assert {raw.answer().status for raw in raws} == {200}, "all of them are taken"
        finally:
            for raw in raws:
                raw.close()


def test_a_storm_leaves_connections_to_others():
    with Serving(max_connections=16) as serving:
        raws = [Raw(serving.port) for _ in range(12)]
        try:
            for raw in raws:
                raw.send(b"GET /api/stormy?gate=storm HTTP/1.1\r\nHost: x\r\n\r\n")
            until(lambda: sum(raw.is_answered() for raw in raws) == 4, what="four refusals")
            assert {raw.answer().status for raw in raws if raw.is_answered()} == {503}
            with Raw(serving.port) as other:
                assert other.get("/api/plain").status == 200
            serving.let_go("storm")
            until(lambda: sum(raw.is_answered() for raw in raws) == 8, what="eight answers")
        finally:
            for raw in raws:
                raw.close()


@pytest.mark.parametrize("path", ["/api/held", "/api/stormy"])
def test_a_request_whose_client_has_gone_is_dropped_before_its_work_begins(path):
    with Serving(threads=1, missed_after=0) as serving, Raw(serving.port) as first, Raw(serving.port) as last:
        first.send(f"GET {path}?gate=first HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        until(lambda: last.get("/api/beside").json["held"] == 1, what="the only thread being held")
        for _ in range(5):
            with Raw(serving.port) as gone:
                gone.send(f"GET {path}?gate=gone HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        last.send(f"GET {path}?gate=gone HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        serving.let_go("first")
        serving.let_go("gone")
        assert [first.answer().status, last.answer().status] == [200, 200]
        assert last.get("/api/beside").json["held"] == 2
