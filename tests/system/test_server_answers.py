"""Streams, deferred answers and large uploads over a real socket, and what happens to them when the client leaves."""

import pytest

from tests.support.raw import Raw
from tests.support.waiting import until

pytestmark = pytest.mark.system


def counts(raw):
    return raw.get("/api/counts").json


def test_a_deferred_runs_on_the_hub_and_may_use_lanes(raw):
    got = raw.get("/api/deferred")
    assert (got.status, got.headers["x-made"]) == (201, "yes")
    assert got.json == {"on_hub": True, "lane": 7}
    assert len(got.headers["x-request-id"]) == 16


def test_a_deferred_that_fails_has_its_status(raw):
    got = raw.get("/api/failing")
    assert (got.status, got.json) == (404, {"error": "nobody there", "code": "not_found"})


def test_a_deferred_whose_response_cannot_be_read_is_a_500(serving, raw):
    got = raw.get("/api/broken")
    assert (got.status, got.json["code"]) == (500, "internal")
    until(lambda: "ZeroDivisionError" in serving.output(), what="the log line")


def test_slow_deferred_answers_hold_no_thread(serving, raw):
    """Others are answered before any of them is."""
    before = counts(raw)["held"]
    slow = [Raw(serving.port) for _ in range(50)]
    try:
        for client in slow:
            client.send(b"GET /api/deferred?gate=slow HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: counts(raw)["held"] == before + 50, what="all of them being held")
        assert raw.get("/api/plain").status == 200
        assert not any(client.is_answered() for client in slow)
        serving.let_go("slow")
        assert all(client.answer().status == 201 for client in slow)
    finally:
        for client in slow:
            client.close()


def test_a_stream_is_chunked_and_the_connection_goes_on(raw):
    got = raw.get("/api/ticks?last=3")
    assert got.body == b"1 xxxxxxxxxx2 xxxxxxxxxx3 xxxxxxxxxx"
    assert raw.get("/api/plain").status == 200


def test_a_stream_of_known_length(raw):
    got = raw.get("/api/told")
    assert (got.status, got.headers["content-range"], got.body) == (206, "bytes 0-3/9", b"abcd")
    assert "transfer-encoding" not in got.headers
    assert raw.get("/api/plain").status == 200


def test_a_stream_that_falls_short_closes_so_that_the_client_knows(raw):
    raw.send(b"GET /api/short HTTP/1.1\r\nHost: x\r\n\r\n")
    assert raw.head()[0] == 206
    assert raw.rest() == b"a"


def test_a_stream_that_breaks_off_does_not_look_whole(serving, raw):
    raw.send(b"GET /api/breaks HTTP/1.1\r\nHost: x\r\n\r\n")
    raw.head()
    assert raw.rest() == b"5\r\nbegin\r\n"
    until(lambda: "stream broke off" in serving.output(), 5, what="the log line")


def test_a_source_that_refuses_is_a_status(raw):
    got = raw.get("/api/refuses")
    assert (got.status, got.json["code"]) == (404, "not_found")
    assert raw.get("/api/plain").status == 200


def test_a_gone_reader_is_noticed_although_it_is_sent_nothing(serving, raw):
    """Such a stream has nothing to say, so no failed sending can tell that nobody reads it."""
    before = counts(raw)
    readers = [Raw(serving.port) for _ in range(200)]
    for reader in readers:
        reader.send(b"GET /api/silent HTTP/1.1\r\nHost: x\r\n\r\n")
        assert reader.head()[0] == 200
    assert counts(raw)["opened"] == before["opened"] + 200
    for reader in readers:
        reader.close()
    until(lambda: counts(raw)["closed"] == before["closed"] + 200, 5, what="the streams' ends")
    until(lambda: counts(raw)["files"] <= before["files"] + 5, what="the files being closed")


def test_pipelined_bytes_behind_a_stream_are_no_farewell(serving, raw):
    with Raw(serving.port) as reader:
        reader.send(b"GET /api/ticks?last=30 HTTP/1.1\r\nHost: x\r\n\r\nGET /api/plain HTTP/1.1\r\nHost: x\r\n\r\n")
        assert reader.answer().body.startswith(b"1 x")
        assert reader.answer().json["path"] == "/api/plain"
    before = counts(raw)
    with Raw(serving.port) as reader:
        reader.send(b"GET /api/silent HTTP/1.1\r\nHost: x\r\n\r\nGET /")
        reader.until(b"hello")
    until(lambda: counts(raw)["closed"] == before["closed"] + 1, 5, what="the stream's end behind early bytes")


def test_a_flood_behind_a_stream_ends_it(serving, raw):
    before = counts(raw)
    with Raw(serving.port) as reader:
        reader.send(b"GET /api/silent HTTP/1.1\r\nHost: x\r\n\r\n")
        reader.until(b"hello")
        flood = b"x" * (64 << 20)
        with pytest.raises(ConnectionError):
            reader.send(flood)
    until(lambda: counts(raw)["closed"] == before["closed"] + 1, 5, what="the stream's end")


def events(raw, size):
    """The next `size` events, comments left out."""
    found, data = [], ""
    while len(found) < size:
        data += raw.chunk().decode()
        *whole, data = data.split("\n\n")
        found += [event for event in whole if not event.startswith(":")]
    return found


def test_events_comments_and_the_end(serving, raw):
    with Raw(serving.port) as reader:
        reader.send(b"GET /api/feed HTTP/1.1\r\nHost: x\r\n\r\n")
        status, headers = reader.head()
        assert (status, headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        assert headers["cache-control"] == "no-store"
        assert (reader.chunk(), reader.chunk()) == (b"retry: 2000\n\n", b": still here\n\n")
        raw.get("/api/publish?n=2&end=1")
        got = events(reader, 3)
        assert got[0] == 'id: 0\nevent: tick\ndata: {"n":0}'
        assert got[1] == 'id: 1\nevent: tick\ndata: {"n":1}'
        assert got[2] == 'event: end\ndata: {"reason":"done"}'
        assert reader.chunk() == b""


def test_a_reader_that_stops_is_dropped_and_costs_a_bounded_queue(serving, raw):
    with Raw(serving.port) as reader:
        reader.send(b"GET /api/feed HTTP/1.1\r\nHost: x\r\n\r\n")
        assert reader.head()[0] == 200
        until(lambda: raw.get("/api/publish?n=500").json["feeds"] == 0, 15, what="the slow reader's end")
        everything = b""
        while piece := reader.chunk():
            everything += piece
        assert b'event: end\ndata: {"reason":"behind"}' in everything


def form(*parts):
    out = b""
    for name, value in parts:
        file = '; filename="a.bin"' if name == "file" else ""
        out += f'--XX\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + value + b"\r\n"
    return out + b"--XX--\r\n"


FORM = "Content-Type: multipart/form-data; boundary=XX"
CONTENT = bytes(range(256)) * 16_000


@pytest.mark.parametrize("order", [1, -1])
def test_an_upload_is_passed_on_piece_by_piece(raw, order):
    body = form(*[("dest", b"/tmp/a"), ("file", CONTENT)][::order])
    got = raw.get("/api/sink", FORM, method="POST", body=body)
    assert got.status == 200
    assert (got.json["dest"], got.json["size"], got.json["name"]) == ("/tmp/a", len(CONTENT), "a.bin")
    assert got.json["pieces"] > 10
    assert raw.get("/api/plain").status == 200


def test_an_upload_in_chunks(raw):
    body = form(("dest", b"/tmp/a"), ("file", b"x" * 10_000))
    raw.send(f"POST /api/sink HTTP/1.1\r\nHost: x\r\n{FORM}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    for start in range(0, len(body), 1000):
        piece = body[start : start + 1000]
        raw.send(b"%x\r\n%b\r\n" % (len(piece), piece))
    assert raw.send(b"0\r\n\r\n").answer().json["size"] == 10_000
    assert raw.get("/api/plain").status == 200


def test_uploads_that_are_refused(serving):
    cases = [
        (form(("dest", b"/forbidden"), ("file", CONTENT)), 404, "not_found"),
        (form(("file", b"x")), 422, "invalid"),
        (form(("dest", b"/x"), ("file", b"x" * (9 << 20))), 413, "too_large"),
        (b"nonsense", 400, "malformed"),
    ]
    for body, status, code in cases:
        with Raw(serving.port) as raw:
            got = raw.get("/api/sink", FORM, method="POST", body=body)
            assert (got.status, got.json["code"]) == (status, code)


def test_a_view_may_refuse_before_the_body_is_read(raw):
    raw.send(f"POST /api/sink-refused HTTP/1.1\r\nHost: x\r\n{FORM}\r\nContent-Length: 50000000\r\n\r\n".encode())
    got = raw.answer()
    assert (got.status, got.headers["connection"]) == (403, "close")


def test_a_client_that_waits_sends_nothing_to_a_view_that_refuses(raw):
    raw.send(f"POST /api/sink-refused HTTP/1.1\r\nHost: x\r\n{FORM}\r\nContent-Length: 500\r\n"
             "Expect: 100-continue\r\n\r\n".encode())  # fmt: skip
    assert raw.answer().status == 403


def test_a_view_that_reads_a_sink_is_told_that_it_may_not(raw):
    got = raw.get("/api/sink-read", method="POST", body=b"abc")
    assert (got.status, got.json["code"]) == (413, "too_large")


def test_a_client_that_leaves_in_the_middle_of_an_upload(serving, raw):
    before = counts(raw)
    body = form(("dest", b"/tmp/a"), ("file", CONTENT))
    with Raw(serving.port) as leaving:
        leaving.send(f"POST /api/sink HTTP/1.1\r\nHost: x\r\n{FORM}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        leaving.send(body[: len(body) // 2])
    until(lambda: counts(raw)["ended"] == before["ended"] + 1, 5, what="the receiver's abort")


def test_a_large_plain_answer_to_a_slow_reader(serving):
    """Slow: others are answered between any two pieces that it takes of the first 3 MB."""
    with Raw(serving.port) as raw, Raw(serving.port) as other:
        raw.send(b"GET /api/big?n=20000000 HTTP/1.1\r\nHost: x\r\n\r\n")
        status, headers = raw.head()
        assert (status, headers["content-length"]) == (200, "20000000")
        size = len(raw.buffer)
        raw.buffer = b""
        while size < 20_000_000:
            data = raw.sock.recv(1 << 20)
            assert data
            size += len(data)
            if size < 3_000_000:
                assert other.get("/api/plain").status == 200
        assert size == 20_000_000


def test_memory_comes_back_after_many_streams(serving, raw):
    def hundred():
        readers = [Raw(serving.port) for _ in range(100)]
        for one in readers:
            one.send(b"GET /api/silent HTTP/1.1\r\nHost: x\r\n\r\n")
            one.head()
        for one in readers:
            one.close()
        until(lambda: _all_closed(raw), 5, what="the streams' ends")

    for _ in range(3):
        hundred()
    before = counts(raw)["rss"]
    for _ in range(5):
        hundred()
    assert counts(raw)["rss"] - before < 8 << 20


def _all_closed(raw):
    now = counts(raw)
    return now["opened"] == now["closed"]
