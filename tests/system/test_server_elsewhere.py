"""The same application under waitress and WebTest: everything answers but sessions, which need the hub."""

import pytest
import webtest
from webtest.http import StopableWSGIServer

from tests.support.raw import Raw
from tests.support.serving import TinyNode, application

pytestmark = pytest.mark.system

FORM = "Content-Type: multipart/form-data; boundary=XX"
UPLOAD = (
    b'--XX\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + b"x" * 5000 + b"\r\n"
    b'--XX\r\nContent-Disposition: form-data; name="dest"\r\n\r\n/tmp/a\r\n--XX--\r\n'
)


@pytest.fixture(scope="module")
def app():
    return application(TinyNode())


@pytest.fixture(scope="module")
def port(app):
    server = StopableWSGIServer.create(app, host="127.0.0.1", threads=2)
    yield server.effective_port
    server.shutdown()


@pytest.fixture
def raw(port):
    with Raw(port) as client:
        yield client


def test_everything_under_waitress(raw, port):
    assert raw.get("/api/plain").status == 200
    assert raw.get("/api/body", method="POST", body=b"abc").json["length"] == 3
    assert raw.get("/api/deferred").json == {"on_hub": False, "lane": 7}
    assert raw.get("/api/failing").status == 404
    assert raw.get("/api/refuses").status == 404
    assert raw.get("/api/told").body == b"abcd"
    assert raw.get("/api/ticks?last=3").body == b"1 xxxxxxxxxx2 xxxxxxxxxx3 xxxxxxxxxx"
    with Raw(port) as another:
        assert another.get("/api/sink", FORM, method="POST", body=UPLOAD).json["size"] == 5000
        got = another.get("/api/session")
        assert (got.status, got.json["code"]) == (501, "not_implemented")


def test_a_feed_under_waitress(port):
    with Raw(port) as reader, Raw(port) as other:
        reader.send(b"GET /api/feed HTTP/1.1\r\nHost: x\r\n\r\n")
        assert reader.head()[0] == 200
        reader.until(b"still here")
        assert other.get("/api/publish?n=1&end=1").json["feeds"] == 1
        assert b'event: end\ndata: {"reason":"done"}' in reader.answer_until_end()


def test_everything_under_webtest(app):
    client = webtest.TestApp(app)
    assert client.get("/api/plain").json["path"] == "/api/plain"
    assert client.get("/api/deferred", status=201).json == {"on_hub": False, "lane": 7}
    assert client.get("/api/failing", status=404).json["code"] == "not_found"
    assert client.get("/api/ticks?last=2").body == b"1 xxxxxxxxxx2 xxxxxxxxxx"
    assert client.get("/api/told", status=206).body == b"abcd"
    assert client.get("/api/session", status=501).json["code"] == "not_implemented"
    assert client.post("/api/sink", UPLOAD, {"Content-Type": "multipart/form-data; boundary=XX"}).json["size"] == 5000
