"""What stands at the edge of every request: hosts for URLs, paths with special bodies, redaction, events, forms."""

import io
import json
import logging
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.lib import problems
from opsapp.web import redact, sse, uploads
from opsapp.web.address import canonical, netloc, same_origin
from opsapp.web.answers import InputBody, PeerLost, Sink
from opsapp.web.paths import Paths
from opsapp.wire.kinds import Anything

LOCAL = ("10.0.0.5", 6543)


@pytest.mark.parametrize(
    ("host", "base_url", "expected"),
    [
        ("10.0.0.5:6543", None, ("http", "10.0.0.5:6543")),
        ("evil.example", None, ("http", "10.0.0.5:6543")),
        ("10.0.0.5", None, ("http", "10.0.0.5:6543")),
        (None, None, ("http", "10.0.0.5:6543")),
        ("ops.example", "https://ops.example", ("https", "ops.example")),
        ("OPS.example.:443", "https://ops.example", ("https", "ops.example")),
        ("ops.example:80", "https://ops.example", ("https", "ops.example")),
        ("evil.example", "https://ops.example", ("https", "ops.example")),
        ("10.0.0.5:6543", "https://ops.example", ("http", "10.0.0.5:6543")),
        (None, "https://ops.example:8443", ("https", "ops.example:8443")),
    ],
)
def test_the_host_that_urls_are_built_from(host, base_url, expected):
    assert canonical(host, base_url, LOCAL) == expected


def test_loopback_has_three_names():
    for name in ("localhost", "127.0.0.1", "[::1]"):
        assert canonical(f"{name}:1", None, ("127.0.0.1", 1)) == ("http", f"{name}:1")
    assert canonical("localhost:1", None, LOCAL)[1] == "10.0.0.5:6543"
    assert canonical("[::1]:1", None, ("::1", 1)) == ("http", "[::1]:1")
    assert netloc("::1", 1) == "[::1]:1"


def test_same_origin():
    assert same_origin("https://ops.example", "https", "ops.example:443")
    wrong = ("null", "", "http://ops.example", "https://ops.example.evil", "https://ops.example:444", "http://[::1")
    no_port = [f"https://ops.example:{port}" for port in ("²", "４４３", "x", "4" * 5000)]
    for origin in (*wrong, *no_port):
        assert not same_origin(origin, "https", "ops.example")


def test_paths():
    paths = Paths()
    paths.add_sink("POST", "/api/agents/*/files")
    paths.add_body_limit("POST", "/api/import", 9)
    assert paths.is_sink("POST", "/api/agents/7/files", 0)
    assert paths.is_sink("POST", "//api/agents//7/files/", None)
    assert not paths.is_sink("GET", "/api/agents/7/files", 1)
    assert not paths.is_sink("POST", "/api/agents/7/8/files", 1)
    paths.add_own_lane("POST", "/api/events/*", "storm")
    assert [paths.lane(*asked) for asked in (("POST", "/api/events/7"), ("GET", "/api/events/7"))] == ["storm", None]
    paths.add_sink("POST", "/api/large", above=10)
    assert [paths.is_sink("POST", "/api/large", length) for length in (10, 11, None)] == [False, True, True]
    assert paths.body_limit("POST", "/api/import", 1) == 9
    assert paths.body_limit("PUT", "/api/import", 1) == 1


@pytest.mark.parametrize(
    "text",
    [
        "GET /api/stream?token=SECRETSECRET HTTP/1.1",
        "GET /x?a=1&key=SECRETSECRET&b=2",
        "/api/auth/oidc/callback?code=SECRETSECRET&state=x",
        "Authorization: Bearer SECRETSECRET",
        "'X-Agent-Key': 'SECRETSECRET'",
        "Cookie: session=SECRETSECRET; b=c",
        '{"password": "SECRET\\"SECRET", "x": 1}',
        "{'new': 'SECRETSECRET'}",
        "POST /api/automations/webhook/SECRETSECRET",
        "GET /api/monitoring/push/SECRETSECRET?status=up",
        "GET /answer/approve.SECRETSECRET HTTP/1.1",
        "ticket=SECRETSECRET",
        "the token " + "5ec2e7" * 10 + "abcd is here",
    ],
)
def test_redaction(text):
    assert "SECRET" not in redact.redact(text)
    assert "5ec2e7" not in redact.redact(text)
    assert redact.HIDDEN in redact.redact(text)


@pytest.mark.parametrize(
    "text", ["state=verifying code=conflict", "monkey=banana", "GET /api/agents?limit=5", "keys are fine"]
)
def test_what_is_no_secret_stays(text):
    assert redact.redact(text) == text


def test_a_target_cannot_break_its_line():
    assert redact.target("/a\nb c", 'x="y"\r') == '/a%0Ab%20c?x="y"%0D'
    assert redact.target("/caf\xc3", "") == "/caf%C3"


def test_a_credential_is_taken_out_of_a_target_however_its_name_is_written():
    clean = redact.target("/api/me", "a=%41&%74oken=SECRET&b%20c=d&TOKE%4e=SECRET&kep%74=yes&to%6ben")
    assert clean == "/api/me?a=%41&%74oken=[redacted]&b%20c=d&TOKE%4e=[redacted]&kep%74=yes&to%6ben"


@pytest.mark.parametrize("value", [10**400, [{"deep": -(10**400)}], float("inf"), {"half": "\ud800"}])
def test_a_value_that_nobody_could_reckon_with_or_say_again_is_refused(value):
    assert Anything().problem(value)
    assert Anything().problem([True, -1.5, 10**30, None]) is None


@given(st.text())
def test_any_target_is_one_line(text):
    assert len(redact.target(text, text).splitlines()) <= 1


def test_the_filter_redacts_messages_and_tracebacks():
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(redact.RedactFilter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    try:
        raise ValueError("token=SECRETSECRET")
    except ValueError:
        logger.exception("asked %s", "/x?token=SECRETSECRET")
    assert "SECRET" not in out.getvalue()
    assert "ValueError" in out.getvalue()


def test_events():
    assert sse.encode({"a": 1}, event="run", id=7) == b'id: 7\nevent: run\ndata: {"a":1}\n\n'
    assert sse.encode("two\nlines\r\nthree") == b"data: two\ndata: lines\ndata: three\n\n"
    assert sse.encode("x", event="a\nid: 9", id="1\n\ndata: y") == b"id: 1  data: y\nevent: a id: 9\ndata: x\n\n"


@given(st.text(), st.text())
def test_an_event_is_one_event(text, name):
    written = sse.encode(text, event=name, id=name).decode()
    assert written.count("\n\n") == 1
    assert written.endswith("\n\n")


def test_where_a_reader_left_off():
    assert sse.last_event_id({"Last-Event-ID": "12"}) == "12"
    assert sse.last_event_id({}, {"last_event_id": "13"}) == "13"
    assert sse.last_event_id({"Last-Event-ID": "x" * 201}) is None
    assert sse.last_event_id({"Last-Event-ID": "a\x00"}) is None
    assert sse.last_event_id({}) is None


class Closing:
    def __init__(self):
        self.calls = []

    def __call__(self, feed):
        self.calls.append(feed)


def test_a_feed_in_a_thread():
    closing = Closing()
    feed = sse.Feed(None, opening=lambda it: it.put("missed", id=1), closing=closing, comment_every=0.01)
    feed.open()
    pieces = iter(feed)
    assert next(pieces).startswith(b"retry:")
    assert next(pieces) == b"id: 1\ndata: missed\n\n"
    assert next(pieces) == sse.COMMENT
    feed.put({"n": 1}, event="tick")
    feed.end("done")
    assert list(pieces) == [b'event: tick\ndata: {"n":1}\n\n', b'event: end\ndata: {"reason":"done"}\n\n']
    feed.close()
    feed.close()
    assert closing.calls == [feed]


def test_a_reader_that_falls_behind_is_ended():
    feed = sse.Feed(None, size=3)
    feed.open()
    for n in range(100):
        feed.put(n)
    assert feed.ended
    everything = b"".join(feed)
    assert everything.count(b"data: ") == 4
    assert everything.endswith(b'event: end\ndata: {"reason":"behind"}\n\n')


def test_a_feed_that_cannot_open_closes():
    closing = Closing()

    def refuse(feed):
        raise problems.NotFound("no such run")

    feed = sse.Feed(None, opening=refuse, closing=closing)
    with pytest.raises(problems.NotFound):
        feed.open()
    assert closing.calls == [feed]


class Taken:
    """A receiver that keeps what it gets."""

    def __init__(self, refuse=None):
        self.refuse, self.data, self.state = refuse, b"", "new"

    def open(self, fields, filename):
        if self.refuse:
            raise self.refuse
        self.state, self.fields, self.filename = "open", dict(fields), filename

    def write(self, data):
        self.data += data

    def finish(self):
        self.state = "whole"
        return 200, {}, {"size": len(self.data)}

    def abort(self):
        self.state = "aborted"


def form(*parts, end=True):
    out = b""
    for name, value, filename in parts:
        file = f'; filename="{filename}"' if filename else ""
        out += f'--XX\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + value + b"\r\n"
    return out + (b"--XX--\r\n" if end else b"")


def body(data, content_type="multipart/form-data; boundary=XX", limit=1 << 20, step=7, length=None):
    environ = {
        "wsgi.input": Steps(data, step),
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": str(length or len(data)),
    }
    return InputBody(environ, limit)


class Steps(io.BytesIO):
    def __init__(self, data, step):
        super().__init__(data)
        self.step = step

    def read(self, size=-1):
        return super().read(min(size, self.step))


FILE = ("file", b"content\r\n--X\r\n" * 50, "a.txt")
DEST = ("dest", b"/tmp/x", None)
DESTINED, NOTED = uploads.FileForm(needs=("dest",)), uploads.FileForm(needs=("dest",), optional=("note",))


@pytest.mark.parametrize("parts", [(DEST, FILE), (FILE, DEST), (("note", b"n", None), FILE, DEST)])
@pytest.mark.parametrize("step", [1, 7, 65536])
def test_a_form_arrives_in_any_order(parts, step):
    taken = Taken()
    answer = uploads.receive_form(body(form(*parts), step=step), taken, NOTED)
    assert answer == (200, {}, {"size": len(FILE[1])})
    assert (taken.data, taken.fields["dest"], taken.filename, taken.state) == (FILE[1], "/tmp/x", "a.txt", "whole")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (form(FILE), problems.Invalid),
        (form(DEST), problems.Invalid),
        (form(DEST, FILE, FILE), problems.Invalid),
        (form(DEST, DEST, FILE), problems.Invalid),
        (form(DEST, ("other", b"x", None), FILE), problems.Invalid),
        (form(("dest", b"\xff", None), FILE), problems.Invalid),
        (form(("dest", b"x" * 20_000, None), FILE), problems.TooLarge),
        (form(DEST, FILE, end=False), problems.Malformed),
        (b"not a form at all", problems.Malformed),
        (form(*[("note", b"", None)] * 1, *[(f"f{n}", b"", None) for n in range(20)]), problems.Invalid),
        (form(DEST, ("file", b"x" * 2_000_000, "f")), problems.TooLarge),
    ],
)
def test_forms_that_are_refused(data, problem):
    taken = Taken()
    with pytest.raises(problem):
        uploads.receive_form(body(data, step=65536), taken, NOTED)
    assert taken.state in {"new", "aborted"}


def damaged(rng, data):
    """With one to four bytes changed, left out or put in, or a piece of it twice."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        noise = rng.choice([b"\r\n", b"\0", b"\xff", b"--XX", b'"', b";", b"", data[: at % 40]])
        data[at : at + rng.randrange(3)] = noise
    return bytes(data)


def test_a_damaged_form_is_whole_or_refused_and_leaves_nothing_open():
    rng = random.Random(20261126)
    states = set()
    for _ in range(500):
        taken = Taken()
        try:
            uploads.receive_form(body(damaged(rng, form(DEST, FILE)), step=65536), taken, DESTINED)
        except (problems.Problem, PeerLost):
            assert taken.state in {"new", "aborted"}
        states.add(taken.state)
    assert states == {"new", "aborted", "whole"}


def test_missing_parts_are_named_at_once():
    with pytest.raises(problems.Invalid) as caught:
        uploads.receive_form(body(form()), Taken(), DESTINED)
    assert set(caught.value.fields) == {"dest", "file"}


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ((DEST,), {"file"}),
        ((DEST, ("upload", b"content", "a.txt")), {"upload", "file"}),
        ((("upload", b"content", "a.txt"), FILE), {"upload", "dest"}),
        ((("upload", b"x" * 100_000, "a.txt"),), {"upload"}),  # no more is read to see what else is wrong
        ((DEST, DEST), {"dest", "file"}),
        ((("dest", b"\xff", None), ("note", b"\xff", None)), {"dest", "note", "file"}),
        ((DEST, FILE, ("upload", b"", None)), {"upload"}),
    ],
)
def test_everything_that_is_wrong_with_a_form_is_named(parts, named):
    taken = Taken()
    with pytest.raises(problems.Invalid) as caught:
        uploads.receive_form(body(form(*parts), step=65536), taken, NOTED)
    assert set(caught.value.fields) == named
    assert taken.state in {"new", "aborted"}


def test_a_receiver_may_refuse_and_is_not_aborted_then():
    taken = Taken(refuse=problems.NotFound("no such directory"))
    with pytest.raises(problems.NotFound):
        uploads.receive_form(body(form(FILE, DEST)), taken, DESTINED)
    assert taken.state == "new"


@pytest.mark.parametrize(
    ("content_type", "problem"),
    [
        ("application/json", problems.UnsupportedType),
        ("", problems.UnsupportedType),
        ("multipart/form-data", problems.Malformed),
        ("multipart/form-data; boundary=" + "x" * 71, problems.Malformed),
    ],
)
def test_bodies_that_are_no_forms(content_type, problem):
    with pytest.raises(problem):
        uploads.receive_form(body(form(FILE), content_type), Taken(), uploads.FileForm())


def test_a_client_that_leaves_in_the_middle():
    taken = Taken()
    data = form(DEST, FILE)
    with pytest.raises(PeerLost):
        uploads.receive_form(body(data[:200], length=len(data)), taken, DESTINED)
    assert taken.state == "aborted"


def test_a_sink_without_a_hub():
    from webob import Request

    sink = Sink(lambda taken: uploads.receive_form(taken, Taken(), DESTINED))
    request = Request.blank(
        "/up", method="POST", body=form(DEST, FILE), content_type="multipart/form-data; boundary=XX"
    )
    assert json.loads(request.get_response(sink).body) == {"size": len(FILE[1])}
