"""A body in chunks is read strictly: where its end could be understood differently, it is refused."""

import pytest

from opsapp.lib.problems import Malformed
from opsapp.web.server.body import ChunkedBody
from opsapp.web.server.limits import Limits
from opsapp.web.server.uploads import Pace
from tests.support.bytespeer import BytesPeer

SMUGGLED = b"GET /api/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
SIZES = [1, 7, 65_536]  # of the pieces in which it arrives


def read(raw, size):
    """(the body, what is left behind it)."""
    peer = BytesPeer(raw, lambda: size)
    body, data = ChunkedBody(Pace(peer, Limits())), b""
    while not body.done:
        data += body.read(65_536)
    return data, bytes(peer.buffer) + raw[peer.given :]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("chunks", "code"),
    [
        (b"x\r\n", "bad_chunk"),
        (b"-1\r\n", "bad_chunk"),
        (b"+5\r\nabcde\r\n0\r\n\r\n", "bad_chunk"),
        (b"0x5\r\nabcde\r\n", "bad_chunk"),
        (b"5\nabcde\r\n0\r\n\r\n", "bad_chunk"),
        (b"5\r\nabcdefgh\r\n0\r\n\r\n", "bad_chunk"),
        (b"5;" + b"a" * 300 + b"\r\nabcde\r\n0\r\n\r\n", "bad_chunk"),
        (b"ffffffffffffffffff\r\n", "bad_chunk"),
        (b"\r\n", "bad_chunk"),
        (b"5 \r\nabcde\r\n0\r\n\r\n", "bad_chunk"),
        (b"5 ;a\r\nabcde\r\n0\r\n\r\n", "bad_chunk"),
        (b"5;\r\nabcde\r\n0\r\n\r\n", "bad_chunk"),
        (b"1\r\na\r\n" * 400 + b"0\r\n\r\n", "bad_chunk"),
        (b"0\r\nContent-Length: 3\r\n\r\n", "bad_trailer"),
        (b"0\r\ntransfer-encoding: chunked\r\n\r\n", "bad_trailer"),
        (b"0\r\nbad trailer\r\n\r\n", "bad_trailer"),
        (b"0\r\n" + b"T: x\r\n" * 2100 + b"\r\n", "bad_trailer"),
        (b"0\r\n" + b"T: " + b"x" * 9000 + b"\r\n\r\n", "bad_chunk"),
    ],
)
def test_chunks_that_are_refused(chunks, code, size):
    with pytest.raises(Malformed) as caught:
        read(chunks + SMUGGLED, size)
    assert caught.value.code == code


@pytest.mark.parametrize("size", SIZES)
def test_a_body_ends_where_the_next_request_begins(size):
    raw = b'5;name="v"\r\nabcde\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n'
    assert read(raw + SMUGGLED, size) == (b"abcde0123456789", SMUGGLED)
