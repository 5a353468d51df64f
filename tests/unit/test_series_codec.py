"""The codec: whatever goes in comes out, and what was damaged says so."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.series import codec
from opsapp.series.columns import DEFLATED, ColumnReader, Corrupt, Writer
from opsapp.series.observations import DOWN, FOREVER, MARK, NONE, UP, Row, worst
from opsapp.series.rollup import Rollup
from opsapp.series.sketch import of_one, sketch

times = st.integers(0, codec.LATEST - 1)
values = st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 10**6).map(lambda n: n / 10)
statuses = st.integers(0, 6) | st.integers(0, 6).map(lambda code: code | MARK)
holds = st.integers(0, FOREVER)
rows = st.lists(st.builds(Row, times, values, statuses, holds), max_size=200)
rows = rows.map(lambda found: sorted(found, key=lambda row: row.time))
observations = st.lists(st.tuples(st.integers(0, 2**32 - 1), times, values, statuses, holds), max_size=200)


@given(rows)
def test_any_chunk_comes_back(found):
    assert codec.decode_chunk(codec.encode_chunk(found)) == found


@given(observations)
def test_any_batch_comes_back(found):
    assert codec.decode_batch(codec.encode_batch(found)) == found


rollups = st.builds(
    Rollup,
    start=times,
    checks=st.integers(0, 10**6),
    valued=st.integers(0, 10**6),
    mean=values,
    low=values,
    high=values,
    p95=values,
    worst=st.integers(0, 6),
    spent=st.tuples(*[st.integers(0, 86_400_000)] * 5),
    sketch=st.lists(st.floats(-1e6, 1e6), max_size=20).map(sketch),
)


@given(st.lists(rollups, max_size=50))
def test_any_rollups_come_back(found):
    assert codec.decode_rollups(codec.encode_rollups(found)) == found


@given(st.lists(st.tuples(st.integers(0, 2**32), rollups, st.builds(Row, times, values, statuses, holds)), max_size=50))
def test_any_summary_comes_back(found):
    assert codec.decode_summary(codec.encode_summary(found)) == found


def test_what_was_written_without_sketches_is_read_as_if_all_values_were_at_the_p95(monkeypatch):
    """Roll-ups of a version before there were sketches."""
    plain = [Rollup(0, 5, 4, 2.0, 1.0, 4.0, 4.0, UP, (1, 2, 3, 4, 5)), Rollup(300, 5, 0, *[None] * 4, NONE, (0,) * 5)]
    monkeypatch.setattr(codec, "_write_sketches", lambda *_: None)
    monkeypatch.setattr(codec, "ROLLUP", codec.PLAIN_ROLLUP)
    monkeypatch.setattr(codec, "SUMMARY", codec.PLAIN_SUMMARY)
    rollups, row = codec.encode_rollups(plain), Row(9, 1.0, UP, 60)
    summary = codec.encode_summary([(number, each, row) for number, each in enumerate(plain)])
    monkeypatch.undo()
    wanted = [plain[0]._replace(sketch=of_one(4.0, 4)), plain[1]]
    assert codec.decode_rollups(rollups) == wanted
    assert [each for _, each, _ in codec.decode_summary(summary)] == wanted
    assert [each for _, each, _ in codec.decode_summary(summary, sketches=False)] == plain


def test_a_summary_is_read_without_its_sketches():
    entry = (7, Rollup(0, 2, 2, 1.5, 1.0, 2.0, 2.0, UP, (0,) * 5, sketch([1.0, 2.0])), Row(9, 1.0, UP, 60))
    data = codec.encode_summary([entry])
    assert codec.decode_summary(data) == [entry]
    assert codec.decode_summary(data, sketches=False) == [(7, entry[1]._replace(sketch=b""), entry[2])]


@given(st.lists(st.integers(-(2**62), 2**62), max_size=100))
def test_any_column_of_integers_comes_back(column):
    writer = Writer()
    writer.integers(column)
    writer.deltas(column)
    reader = ColumnReader(writer.done(7), 7)
    assert reader.integers(len(column)) == column
    assert reader.deltas(len(column)) == column


@given(st.lists(st.none() | st.floats(allow_nan=False)))
def test_any_column_of_floats_comes_back(column):
    writer = Writer()
    writer.floats(column)
    assert ColumnReader(writer.done(7), 7).floats(len(column)) == column


@given(rows, st.data())
def test_a_damaged_chunk_is_reported_and_nothing_else_happens(found, data):
    good = bytearray(codec.encode_chunk(found))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(Corrupt):
        codec.decode_chunk(bytes(good))


@given(st.binary(max_size=200))
def test_any_bytes_at_all_are_read_or_reported(data):
    try:
        codec.decode_chunk(data)
    except Corrupt:
        pass


@given(st.binary(max_size=60), st.booleans())
def test_a_body_with_a_right_checksum_and_wrong_content_is_reported(body, floats):
    writer = Writer()
    writer.body += body
    reader = ColumnReader(writer.done(7), 7)
    try:
        (reader.floats if floats else reader.integers)(3)
    except Corrupt:
        pass


@pytest.mark.parametrize("body", [b"\x03", b"\x01\x09\x00", b"\x01", b"\x02"])
def test_unknown_forms_are_corrupt(body):
    for read in ("integers", "floats"):
        writer = Writer()
        writer.body += body
        with pytest.raises(Corrupt):
            getattr(ColumnReader(writer.done(7), 7), read)(3)


def test_a_frame_that_does_not_inflate_is_corrupt():
    import zlib

    body = b"not deflated"
    with pytest.raises(Corrupt):
        ColumnReader(bytes([7 | DEFLATED]) + zlib.crc32(body, 7 | DEFLATED).to_bytes(4, "little") + body, 7)


def test_a_chunk_is_no_batch():
    with pytest.raises(Corrupt):
        codec.decode_batch(codec.encode_chunk([]))


def test_a_day_of_checks_is_small():
    day = [Row(1_700_000_000_000 + i * 60_000 + i * 7919 % 11, 20 + i * 31 % 97 / 10, UP, 80) for i in range(1440)]
    assert len(codec.encode_chunk(day)) < 2.5 * len(day)


@pytest.mark.parametrize(
    "wrong",
    [
        (-1, 1, 1.0, 0, 0),
        (2**32, 1, 1.0, 0, 0),
        (1, -1, 1.0, 0, 0),
        (1, 1.5, 1.0, 0, 0),
        (1, codec.LATEST, 1.0, 0, 0),
        (1, 1, float("nan"), 0, 0),
        (1, 1, float("inf"), 0, 0),
        (1, 1, "7", 0, 0),
        (1, 1, 1.0, 256, 0),
        (1, 1, 1.0, 0, FOREVER + 1),
    ],
)
def test_a_batch_refuses_what_is_no_observation(wrong):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        codec.encode_batch([(1, 1, 1.0, 0, 0), wrong])


def test_the_worst_state_wins():
    assert worst([UP, DOWN]) == DOWN
    assert worst([]) == NONE
    assert Row(1, None, DOWN | MARK, 5).state == DOWN
    assert not Row(1, None, DOWN | MARK, 5).is_check
    assert Row(1, None, DOWN, 5).is_check
