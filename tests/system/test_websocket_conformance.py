"""WebSocket conformance, by the sections of the Autobahn suite: 1 framing, 2 pings, 3 reserved bits, 4 opcodes,
5 fragmentation, 6 UTF-8, 7 closing, 10 fragmentation of long messages. (8, 9: none, performance; 12, 13: compression,
which is not offered.) The server echoes; its sessions take messages of up to 64 KiB.
"""

import pytest

from tests.support.frames import BINARY, CLOSE, CONT, PING, PONG, TEXT, Frame, FrameClient, closing, frame

pytestmark = pytest.mark.system


def ends(session, code, *frames):
    """The server closes with this code, and then the connection."""
    got = session.ask(*frames)
    assert (got.opcode, got.code) == (CLOSE, code)
    assert session.ended()


def echoes(session, opcode, payload, *frames):
    assert session.ask(*frames) == Frame(True, opcode, payload)


# 1 framing

SIZES = [0, 1, 125, 126, 127, 128, 65535, 65536]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("opcode", [TEXT, BINARY])
def test_1_sizes(session, opcode, size):
    payload = b"*" * size if opcode == TEXT else bytes(n % 256 for n in range(size))
    echoes(session, opcode, payload, frame(opcode, payload))


@pytest.mark.parametrize("step", [1, 997])
def test_1_a_frame_in_pieces(session, step):
    sent = frame(TEXT, b"*" * (300 if step == 1 else 65536))
    for start in range(0, len(sent), step):
        session.send(sent[start : start + step])
    assert len(session.frame().payload) in {300, 65536}


@pytest.mark.parametrize(("size", "width"), [(5, 2), (125, 2), (5, 8), (65535, 8)])
def test_1_lengths_are_minimal(session, size, width):
    ends(session, 1002, frame(TEXT, b"*" * size, width=width))


def test_1_a_length_with_the_highest_bit(session):
    ends(session, 1002, frame(BINARY, b"", length=1 << 63, width=8))


def test_1_unmasked(session):
    ends(session, 1002, frame(TEXT, b"hello", mask=False))


# 2 pings


@pytest.mark.parametrize("payload", [b"", b"hello", b"\x00\xff\xfe\xfd", b"\xfe" * 125])
def test_2_pings_are_answered(session, payload):
    echoes(session, PONG, payload, frame(PING, payload))


def test_2_a_ping_that_is_too_long(session):
    ends(session, 1002, frame(PING, b"\xfe" * 126))


def test_2_pongs_nobody_asked_for(session):
    session.send(frame(PONG, b"unasked") + frame(PONG))
    echoes(session, PONG, b"now", frame(PING, b"now"))


def test_2_many_pings_in_order(session):
    session.send(b"".join(frame(PING, str(n)) for n in range(100)))
    assert [session.frame() for _ in range(100)] == [Frame(True, PONG, str(n).encode()) for n in range(100)]


def test_2_a_ping_a_byte_at_a_time(session):
    for byte in frame(PING, b"slowly"):
        session.send(bytes([byte]))
    assert session.frame() == Frame(True, PONG, b"slowly")


# 3 reserved bits


@pytest.mark.parametrize("rsv", range(1, 8))
@pytest.mark.parametrize("opcode", [TEXT, BINARY, PING, CLOSE])
def test_3_reserved_bits(session, opcode, rsv):
    ends(session, 1002, frame(opcode, closing(1000) if opcode == CLOSE else b"x", rsv=rsv))


def test_3_what_came_before_is_still_answered(session):
    session.send(frame(TEXT, b"before") + frame(TEXT, b"x", rsv=4) + frame(PING))
    assert session.frame().payload == b"before"
    assert session.frame().code == 1002
    assert session.ended()


# 4 opcodes


@pytest.mark.parametrize("opcode", [3, 4, 5, 6, 7, 0xB, 0xC, 0xD, 0xE, 0xF])
@pytest.mark.parametrize("payload", [b"", b"x"])
def test_4_unknown_opcodes(session, opcode, payload):
    session.send(frame(TEXT, b"before") + frame(opcode, payload) + frame(PING))
    assert session.frame().payload == b"before"
    assert session.frame().code == 1002
    assert session.ended()


# 5 fragmentation


@pytest.mark.parametrize("opcode", [PING, PONG, CLOSE])
def test_5_control_frames_are_not_fragmented(session, opcode):
    ends(session, 1002, frame(opcode, b"", fin=False))


@pytest.mark.parametrize("opcode", [TEXT, BINARY])
def test_5_two_and_more_fragments(session, opcode):
    echoes(session, opcode, b"ab", frame(opcode, b"a", fin=False), frame(CONT, b"b"))
    echoes(session, opcode, b"abc", frame(opcode, b"a", fin=False), frame(CONT, b"b", fin=False), frame(CONT, b"c"))
    echoes(session, opcode, b"", frame(opcode, fin=False), frame(CONT, fin=False), frame(CONT))
    echoes(session, opcode, b"x", frame(opcode, fin=False), frame(CONT, b"x", fin=False), frame(CONT))


def test_5_control_frames_between_fragments(session):
    session.send(frame(TEXT, b"a", fin=False) + frame(PING, b"p") + frame(PONG) + frame(CONT, b"b"))
    assert session.frame() == Frame(True, PONG, b"p")
    assert session.frame() == Frame(True, TEXT, b"ab")


def test_5_a_close_between_fragments(session):
    ends(session, 1000, frame(TEXT, b"a", fin=False), frame(CLOSE, closing(1000)))


@pytest.mark.parametrize(
    "frames",
    [
        (frame(CONT, b"x"),),
        (frame(CONT, b"x", fin=False),),
        (frame(CONT),),
        (frame(TEXT, b"a", fin=False), frame(TEXT, b"b")),
        (frame(TEXT, b"a", fin=False), frame(BINARY, b"b")),
        (frame(BINARY, b"a", fin=False), frame(BINARY, b"b", fin=False)),
        (frame(TEXT, b"a", fin=False), frame(TEXT, b"b", fin=False), frame(CONT, b"c")),
    ],
)
def test_5_fragments_out_of_order(session, frames):
    ends(session, 1002, *frames)


def test_5_a_continuation_after_the_end(session):
    session.send(frame(TEXT, b"a", fin=False) + frame(CONT, b"b") + frame(CONT, b"c"))
    assert session.frame().payload == b"ab"
    assert session.frame().code == 1002
    assert session.ended()


# 6 UTF-8

GOOD = [
    "",
    "Hello-µ@ßöäüàá-UTF-8!!",
    "κόσμε",
    "\x00",
    "\x7f\x80\u07ff\u0800\uffff",
    "\U00010000\U0010ffff",
    "\ud7ff\ue000\ufffd",
    "\ufffe\uffff",
    "\U0001fffe\U0010fffe",
]
BAD = [
    b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited",
    b"\xf4\x90\x80\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xfc\x84\x80\x80\x80\x80",
    b"\xf7\xbf\xbf\xbf",
    b"\x80",
    b"\xbf",
    b"\x80\xbf\x80\xbf",
    b"\xc0\xaf",
    b"\xe0\x80\xaf",
    b"\xf0\x80\x80\xaf",
    b"\xc1\xbf",
    b"\xe0\x9f\xbf",
    b"\xf0\x8f\xbf\xbf",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xed\xad\xbf",
    b"\xed\xae\x80",
    b"\xed\xbf\xbf",
    b"\xed\xa0\x80\xed\xb0\x80",
    b"\xfe",
    b"\xff",
    b"\xfe\xfe\xff\xff",
    b"\xc3\x28",
    b"\xc0 ",
    b"\xe0\x80",
    b"\xf0\x80\x80",
]
CUT = [b"\xce", b"\xe1\xbd", b"\xf0\x9f\x98", b"ok\xc3"]


@pytest.mark.parametrize("text", GOOD)
def test_6_good_text(session, text):
    payload = text.encode()
    echoes(session, TEXT, payload, frame(TEXT, payload))
    pieces = [payload[n : n + 1] for n in range(len(payload))] or [b""]
    frames = [frame(TEXT if n == 0 else CONT, piece, fin=n == len(pieces) - 1) for n, piece in enumerate(pieces)]
    echoes(session, TEXT, payload, *frames)


@pytest.mark.parametrize("payload", BAD)
def test_6_bad_text(session, payload):
    ends(session, 1007, frame(TEXT, b"x" + payload + b"y"))


@pytest.mark.parametrize("payload", BAD)
def test_6_bad_text_fails_at_once(session, payload):
    """Before the message is whole: the rest is never sent."""
    ends(session, 1007, frame(TEXT, b"x", fin=False), frame(CONT, payload + b"yyyy", fin=False))


@pytest.mark.parametrize("payload", CUT)
def test_6_text_that_ends_within_a_character(session, payload):
    ends(session, 1007, frame(TEXT, payload))


def test_6_binary_is_not_text(session):
    echoes(session, BINARY, b"\xff\xfe\x80", frame(BINARY, b"\xff\xfe\x80"))


# 7 closing


def test_7_a_message_then_a_close(session):
    session.send(frame(TEXT, b"last") + frame(CLOSE, closing(1000)))
    assert session.frame().payload == b"last"
    assert session.frame() == Frame(True, CLOSE, closing(1000))
    assert session.ended()


def test_7_two_closes_and_what_follows_a_close(session):
    ends(session, 1000, frame(CLOSE, closing(1000)), frame(CLOSE, closing(1000)), frame(PING), frame(TEXT, b"late"))


def test_7_a_close_without_a_code(session):
    got = session.ask(frame(CLOSE))
    assert got.opcode == CLOSE
    assert got.code in {1000, 1005}
    assert session.ended()


def test_7_a_close_of_one_byte(session):
    ends(session, 1002, frame(CLOSE, b"\x03"))


@pytest.mark.parametrize("reason", ["", "Hello", "x" * 123])
def test_7_reasons(session, reason):
    ends(session, 1000, frame(CLOSE, closing(1000, reason)))


def test_7_a_reason_that_is_too_long(session):
    ends(session, 1002, frame(CLOSE, closing(1000, "x" * 124)))


def test_7_a_reason_that_is_no_text(session):
    ends(session, 1007, frame(CLOSE, closing(1000, b"\xce\xba\xed\xa0\x80")))


@pytest.mark.parametrize("code", [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999])
def test_7_valid_codes_are_echoed(session, code):
    ends(session, code, frame(CLOSE, closing(code)))


@pytest.mark.parametrize("code", [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535])
def test_7_invalid_codes(session, code):
    ends(session, 1002, frame(CLOSE, closing(code)))


def test_7_a_close_that_the_server_begins(session):
    got = session.ask(frame(TEXT, b"close me"))
    assert (got.opcode, got.payload) == (CLOSE, closing(4000, "as you wish"))
    session.send(frame(TEXT, b"still talking") + frame(CLOSE, got.payload))
    assert session.ended()


def test_7_a_client_that_does_not_answer_the_close_is_left(session):
    assert session.ask(frame(TEXT, b"close me")).code == 4000
    assert session.ended()


def test_7_a_client_that_just_leaves(serving):
    with FrameClient(serving.port) as leaving:
        leaving.send(frame(TEXT, b"a", fin=False))
    with FrameClient(serving.port) as next_one:
        echoes(next_one, TEXT, b"b", frame(TEXT, b"b"))
    assert "Traceback" not in serving.output()


# 10 fragmentation of long messages


@pytest.mark.parametrize("size", [64, 256, 1000, 4096, 65536])
@pytest.mark.parametrize("opcode", [TEXT, BINARY])
def test_10_a_long_message_in_fragments(session, opcode, size):
    payload = b"*" * 65536
    pieces = [payload[start : start + size] for start in range(0, len(payload), size)]
    frames = [frame(CONT if n else opcode, piece, fin=n == len(pieces) - 1) for n, piece in enumerate(pieces)]
    echoes(session, opcode, payload, *frames)
