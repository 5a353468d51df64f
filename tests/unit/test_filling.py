"""What is filled in, by the kinds of the fields, as the API is sent it."""

import pytest

from opsapp.lib.durations import from_words, in_words, seconds, written
from opsapp.lib.problems import Invalid
from opsapp.ui.clocks import by_readers_clock
from opsapp.ui.formvalues import body_of, given_to
from opsapp.ui.plan import Act, Field


def sent(field, text, zone=None, service_zone="UTC"):
    act = Act("save", "Save", "POST /api/things", (field,))
    form = {field.name: text} | ({f"{field.name}:zone": zone} if zone else {})
    return body_of(act, form, {}, service_zone)


def wrong(field, text, **more):
    with pytest.raises(Invalid) as caught:
        sent(field, text, **more)
    return caught.value.fields[field.name]


@pytest.mark.parametrize(
    ("text", "value"),
    [("15 min", 900), ("1 h 30 min", 5400), ("90", 90), ("2 Hours", 7200), ("1d", 86400), ("0,5 h", 1800),
     ("1 week", 604800), ("1 h and 5 minutes", 3900), ("1.5 s", 1.5), ("30 sec", 30), ("2 hrs", 7200)],
)  # fmt: skip
def test_a_duration_is_read_as_people_write_it(text, value):
    assert sent(Field("wait", "Wait", "duration"), text) == {"wait": value}


@pytest.mark.parametrize("text", ["soon", "5 parsecs", "-3", "1 h x", "min", "٣ min"])
def test_what_is_no_duration_says_how_to_write_one(text):
    assert "write it like 30 s, 15 min, 2 h or 1 d" in wrong(Field("wait", "Wait", "duration"), text)


@pytest.mark.parametrize("value", [0, 1, 59, 60, 90, 3600, 5400, 86400, 90061])
def test_a_duration_is_shown_as_it_is_read(value):
    assert from_words(in_words(value)) == value
    assert seconds(written(value)) == value


def test_parts_of_a_second_are_kept_where_the_api_takes_a_number():
    assert in_words(1.5) == "1.5 s"
    assert sent(Field("for", "For", "span"), "90 min") == {"for": "1h30m"}
    assert wrong(Field("for", "For", "span"), "0.5 s") == "Write whole seconds."


START = Field("start", "Start", "moment")


def test_a_moment_is_by_the_readers_clock_and_sent_by_the_services():
    assert sent(START, "2027-07-01T22:00", "Asia/Tokyo", "Europe/Berlin") == {"start": "2027-07-01T15:00"}
    assert sent(START, "2027-07-01T22:00", None, "Europe/Berlin") == {"start": "2027-07-01T22:00"}
    assert sent(START, "2027-07-01T22:00", "Nowhere/Else", "UTC") == {"start": "2027-07-01T22:00"}
    assert by_readers_clock("2027-07-01T15:00:00", "Europe/Berlin", "Asia/Tokyo") == "2027-07-01T22:00"


def test_a_time_that_the_clock_skips_is_said():
    said = wrong(START, "2027-03-28T02:30", zone="Europe/Berlin")
    assert said == "The clock of Europe/Berlin skips this time on that day."


@pytest.mark.parametrize("text", ["tomorrow", "0001-01-01T00:00", "2027-13-01T00:00"])
def test_what_is_no_moment_is_for_the_api_to_refuse(text):
    assert sent(START, text, "Asia/Tokyo") == {"start": text}
    assert by_readers_clock(text, "Asia/Tokyo", "UTC")


def test_json_says_the_line_and_the_column_and_shows_the_line():
    said = wrong(Field("rules", "Rules", "json"), '[\n  {"id": "a"},\n  {"id": b}\n]')
    assert said == 'This is not valid JSON: Expecting value, line 3 column 10: {"id": b}'
    assert "nested too deeply" in wrong(Field("rules", "Rules", "json"), "[" * 100_000)


def test_an_empty_field_says_nothing_or_clears():
    assert sent(Field("tags", "Tags", "list"), " ") == {}
    assert sent(Field("tags", "Tags", "list", clears=True), "") == {"tags": []}
    assert sent(Field("note", "Note", clears=True), "") == {"note": None}
    assert sent(Field("tags", "Tags", "list"), "web, , shop") == {"tags": ["web", "shop"]}


def test_flags_numbers_and_texts_keep_their_types():
    assert sent(Field("on", "On", "flag"), "true") == {"on": True}
    assert sent(Field("on", "On", "flag"), "perhaps") == {"on": "perhaps"}
    assert [sent(Field("n", "N", "number"), text)["n"] for text in ("5", "-5", "1.5", "five", "inf")] == [
        5, -5, 1.5, "five", "inf"]  # fmt: skip
    assert sent(Field("text", "Text", "area"), "a\r\nb") == {"text": "a\nb"}
    assert sent(Field("inner.name", "Name"), "x") == {"inner": {"name": "x"}}


def test_no_password_is_given_back():
    act = Act(
        "save",
        "Save",
        "POST /x",
        (Field("name", "Name"), Field("word", "Word", "password"), Field("on", "On", "picks")),
    )
    form = {"name": "a", "word": "secret", "on:x": "on"}
    assert given_to(act, form) == {"name": "a", "on": ["x"]}
    assert body_of(act, form, {}) == {"name": "a", "word": "secret", "on": ["x"]}
