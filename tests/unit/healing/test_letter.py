"""The day for which a morning letter is due, whatever the clock does; and its words."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from opsapp.healing.logic import letter
from opsapp.healing.logic.letter import CaseEnd, HandledDay, Night, Request, Saved

BERLIN = "Europe/Berlin"
NIGHT = Night(since=1_800_000_000, until=1_800_086_400, head="12.abc.def")


def at(text, zone=BERLIN, fold=0):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def sent(hour, moments, handled=()):
    """The days of the letters that go while the clock shows these moments."""
    days = []
    for now in moments:
        day, _ = letter.latest(hour, BERLIN, now)
        if not letter.is_handled(handled, day, now):
            handled = letter.handle(handled, day, now)
            days.append(day)
    return days


def every_minute(begin, hours):
    return [begin + 60 * minute for minute in range(hours * 60)]


@pytest.mark.parametrize("change", ["2026-03-29", "2026-10-25"])
@pytest.mark.parametrize("hour", ["00:00", "02:00", "02:30", "03:00", "07:00", "23:59"])
def test_a_change_of_the_clocks_gives_one_letter_a_day(change, hour):
    noon = datetime.fromisoformat(f"{change}T12:00") - timedelta(days=2)
    begin = at(noon.isoformat())
    before = letter.handle((), letter.latest(hour, BERLIN, begin)[0], begin)
    days = sent(hour, every_minute(begin, 96), before)
    assert len(days) == len(set(days)) == 4
    assert change in days


def test_it_goes_at_its_hour_by_the_clock_on_the_wall():
    assert letter.latest("07:00", BERLIN, at("2026-03-29T07:00")) == ("2026-03-29", at("2026-03-29T07:00"))
    assert letter.latest("07:00", BERLIN, at("2026-03-29T06:59"))[0] == "2026-03-28"
    assert letter.next_after("07:00", BERLIN, at("2026-03-28T12:00")) == at("2026-03-29T07:00")


def test_a_clock_that_is_set_back_over_the_hour_gives_no_second_letter():
    steps = ["2026-11-26T06:59", "2026-11-26T07:00", "2026-11-26T06:01", "2026-11-26T07:00", "2026-11-27T07:00"]
    before = (HandledDay("2026-11-25", at("2026-11-25T07:00")),)
    assert sent("07:00", map(at, steps), before) == ["2026-11-26", "2026-11-27"]


def test_a_clock_that_is_set_forward_over_the_hour_gives_one_letter():
    steps = ["2026-11-26T06:30", "2026-11-26T09:30", "2026-11-26T10:00", "2026-11-27T07:00"]
    before = (HandledDay("2026-11-25", at("2026-11-25T07:00")),)
    assert sent("07:00", map(at, steps), before) == ["2026-11-26", "2026-11-27"]


def test_a_clock_that_was_wrong_by_months_costs_no_letter_when_it_is_right_again():
    steps = ["2026-11-26T07:00", "2027-03-01T08:00", "2026-11-26T08:00", "2026-11-27T07:00", "2026-11-28T07:00"]
    before = (HandledDay("2026-11-25", at("2026-11-25T07:00")),)
    assert sent("07:00", map(at, steps), before) == ["2026-11-26", "2027-03-01", "2026-11-27", "2026-11-28"]


def test_the_words_are_sentences_with_names_and_reasons():
    night = NIGHT._replace(
        healed=(
            *[CaseEnd("nginx", f"web-{number}", "verified", action="restart_service") for number in range(5)],
            CaseEnd("nginx", "web-1", "verified", action="restart_service"),
        ),
        not_healed=(CaseEnd("disk", "db-1//var", "failed", "condition still true", "temp_cleanup"),),
        left_alone=(CaseEnd("nginx", "web-9", "withdrawn", "condition_gone"), CaseEnd("nginx", "web-8", "")),
        held_back=(CaseEnd("memory", "db-1", "suppressed", "paused"),),
        saved=Saved(42.4, 30.2, 55.0, 4),
        asks=(Request("Approve or reject: heal of db-1", "https://ops.example.org/approvals/1"),),
    )
    assert letter.title(night) == (
        "Morning letter: 6 healed, 1 not healed, 2 left alone to learn, 1 held back, 1 asks for you"
    )
    text = letter.body(night, "UTC", "https://ops.example.org/healing/letter")
    assert text.splitlines() == [
        "From 2027-01-15 08:00 UTC to 2027-01-16 08:00 UTC.",
        "",
        "Healed: 6 cases.",
        "- web-0, web-1, web-2 and 2 more: restart service (rule nginx), 6 times",
        "That saved about 42 minutes of outage (between 30 and 55). Of 2 cases it is not known yet.",
        "",
        "Not healed: 1 case.",
        "- /var on db-1: failed (rule disk): condition still true",
        "",
        "Left alone for a while to learn whether the heal is needed: 2 cases.",
        "- web-9: recovered without a heal (rule nginx)",
        "- web-8: not over yet (rule nginx)",
        "",
        "Held back: 1 case.",
        "- db-1: healing is paused (rule memory)",
        "",
        "What asks for you today:",
        "- Approve or reject: heal of db-1",
        "  https://ops.example.org/approvals/1",
        "",
        "This letter: https://ops.example.org/healing/letter",
    ]
    assert letter.foot(night) == "Signed head of the ledger: 12.abc.def"


def test_what_was_saved_is_unknown_where_nobody_knows():
    night = NIGHT._replace(healed=(CaseEnd("nginx", "web-1", "verified"),))
    assert "What that saved is not known yet." in letter.body(night, "UTC", None)


def test_what_asks_for_somebody_without_a_page_is_a_line_alone_and_the_rest_is_counted():
    requests = (
        Request("Look at rule disk: it is disarmed"),
        Request("Approve or reject: heal of db-1", "https://ops/1"),
    )
    lines = letter.body(NIGHT._replace(asks=requests, asks_more=12), "UTC", None).splitlines()
    assert lines[lines.index("What asks for you today:") :] == [
        "What asks for you today:",
        "- Look at rule disk: it is disarmed",
        "- Approve or reject: heal of db-1",
        "  https://ops/1",
        "- and 12 more",
    ]


def test_a_long_night_is_cut_short_and_says_so():
    held = tuple(CaseEnd("disk", "x" * 300, "skipped", f"reason number {number}") for number in range(20))
    lines = letter.body(NIGHT._replace(held_back=held, more=7), "UTC", None).splitlines()
    assert "- and 14 more kinds" in lines
    assert lines[-1] == "7 older entries of the ledger are not counted here."
    assert {len(line) for line in lines if line.startswith("- x")} == {letter.LONGEST_LINE + 2}
