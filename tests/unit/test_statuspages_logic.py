"""The public page's decisions on plain values: contrast, pictures, addresses, groups, the calendar, dates, letters."""

import struct

import pytest

from opsapp.lib.networks import PublicPolicy
from opsapp.statuspages.logic import addresses, calendar, colours, dates, groups, letters, mailserver, pictures
from opsapp.statuspages.logic.calendar import PlannedTime
from opsapp.statuspages.logic.groups import GroupRecord
from opsapp.statuspages.logic.letters import NewsItem

NOW = 1_795_000_000


def test_contrast_is_that_of_wcag():
    assert colours.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert colours.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert colours.colour_problem("#1a5fb4", dark=False) is None
    assert "darker" in colours.colour_problem("#ffff00", dark=False)
    assert "lighter" in colours.colour_problem("#000080", dark=True)


def jpeg(*segments):
    return b"\xff\xd8" + b"".join(segments)


def frame(kind=0xC0, height=16, width=32):
    return bytes((0xFF, kind, 0, 17, 8)) + struct.pack(">HH", height, width) + b"\0" * 10


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (jpeg(b"\xff\xe0\x00\x04ab", frame()), ("image/jpeg", 32, 16)),
        (jpeg(frame(0xC4), frame(0xC2)), ("image/jpeg", 32, 16)),
        (jpeg(b"\xff\xe0\xff\xff"), None),
        (jpeg(b"\xff\xe0\x00\x00" * 40), None),
        (b"\xff\xd8\xff", None),
        (b"", None),
    ],
)
def test_a_picture_is_known_by_its_bytes(data, wanted):
    found = pictures.picture_of(data)
    assert (found and tuple(found)) == wanted


def test_a_picture_has_limits():
    assert "200 kB" in pictures.picture_problem(b"x" * 200_001)
    assert "PNG or JPEG" in pictures.picture_problem(b"<svg>")
    assert "pixels" in pictures.picture_problem(jpeg(frame(width=3000)))
    assert pictures.picture_problem(jpeg(frame())) is None


def test_addresses_have_one_form_and_are_shown_in_part():
    assert addresses.address_problem("mail", "ada@example.org") is None
    assert addresses.address_problem("webhook", "https://hooks.example/x?y=1") is None
    assert "https" in addresses.address_problem("webhook", "ftp://hooks.example/")
    assert "254" in addresses.address_problem("mail", "a" * 300)
    assert addresses.normalised("mail", "Ada@Example.org") == "ada@example.org"
    assert addresses.normalised("webhook", "https://x.example/A") == "https://x.example/A"
    assert addresses.shown("mail", "ada@example.org") == "a…@example.org"
    assert addresses.shown("webhook", "https://x.example/secret?token=1") == "https://x.example/…"


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("smtps://u:p%40@mail.example", ("smtps", "mail.example", 465, "u", "p@")),
        ("smtp+starttls://mail.example", ("smtp+starttls", "mail.example", 587, "", "")),
        ("smtp://127.0.0.1:2525", ("smtp", "127.0.0.1", 2525, "", "")),
    ],
)
def test_a_mail_server_is_read_from_its_address(url, wanted):
    assert mailserver.mail_server(url) == wanted
    assert mailserver.server_problem(url) is None


@pytest.mark.parametrize("url", ["smtp://", "imap://x", "smtp://x:port", "smtp://x y", "smtp://x/p", "smtp://x?y=1"])
def test_other_addresses_are_no_mail_server(url):
    assert "must be like" in mailserver.server_problem(url)
    assert "smtps" in mailserver.server_problem("smtp://u:p@x")


def group(name, group_id="", monitors=()):
    return GroupRecord(id=group_id, name=name, monitors=monitors)


def test_groups_keep_their_ids():
    before = [group("A", "a"), group("B", "b")]
    named = groups.with_ids([group("A"), group("B2", "b"), group("C", "x")], before)
    assert [record.id for record in named[:2]] == ["a", "b"]
    assert named[2].id not in ("a", "b", "x")
    twice = groups.with_ids([group("Z", "a"), group("A")], before)
    assert len({record.id for record in twice}) == 2
    assert groups.groups_problem([group("A", monitors=("m",)), group("B", monitors=("m",))])
    assert groups.groups_problem([group("A"), group("A")])
    assert groups.groups_problem([group("A", monitors=("m",))]) is None


def test_who_chose_groups_is_told_of_them_alone():
    known = [group("A", "a", ("m",)), group("B", "b", ("n",))]
    assert groups.chosen((), ["n"], known)
    assert groups.chosen(("a",), ["m", "n"], known)
    assert not groups.chosen(("a",), ["n"], known)
    assert groups.chosen(("gone",), ["n"], known)


PLANNED = PlannedTime("w1", "New disks", NOW + 100, NOW + 200, ("m",))


def test_the_calendar_says_what_is_new_moved_or_cancelled():
    stored, told = calendar.compared({}, [PLANNED], NOW)
    assert [what for what, _ in told] == ["planned"]
    known = {"w1": stored[0]}
    assert calendar.compared(known, [PLANNED], NOW + 1) == ([], [])
    stored, told = calendar.compared(known, [PLANNED._replace(start=NOW + 150)], NOW + 2)
    assert [(what, entry.sequence) for what, entry in told] == [("moved", 1)]
    stored, told = calendar.compared(known, [PLANNED._replace(name="Newer disks")], NOW + 2)
    assert (told, stored[0].sequence) == ([], 1)
    stored, told = calendar.compared(known, [], NOW + 3)
    assert [(what, entry.state) for what, entry in told] == [("cancelled", "cancelled")]
    gone = {"w1": stored[0]}
    assert calendar.compared(gone, [], NOW + 4) == ([], [])
    assert [what for what, _ in calendar.compared(gone, [PLANNED], NOW + 4)[1]] == ["planned"]
    stored, told = calendar.compared(known, [], NOW + 150)
    assert (told, stored[0].state, stored[0].end) == ([], "planned", NOW + 150)
    assert calendar.compared(known, [], NOW + 300) == ([], [])


def test_the_calendars_lines_are_folded_and_escaped():
    long = PLANNED._replace(name="Ä" * 60 + "; a, b\\c\nEND:VEVENT\x07", state="cancelled", monitors=("m", "gone"))
    text = calendar.text(
        "Shop, 1", [long, PLANNED._replace(monitors=())], {"m": "Checkout"}, "https://s.example/status"
    )
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    whole = text.replace("\r\n ", "")
    assert "SUMMARY:" + "Ä" * 60 + "\\; a\\, b\\\\c\\nEND:VEVENT\r\n" in whole
    assert whole.count("END:VEVENT\r\n") == 2 + 1
    for line in ("UID:w1@opsapp", "STATUS:CANCELLED", "DESCRIPTION:Checkout", "X-WR-CALNAME:Shop\\, 1", "SEQUENCE:0"):
        assert f"\r\n{line}\r\n" in whole
    names = {f"m{n}": f"Part {n:02}" for n in range(25)}
    many = calendar.text("x", [PLANNED._replace(monitors=tuple(names))], names, "")
    assert "and 5 more" in many.replace("\r\n ", "")
    assert "URL:" not in many


def test_dates_are_in_the_pages_language():
    at = 1_795_353_040  # 2026-11-22 14:10:40 in Berlin
    assert dates.clock(at, "Europe/Berlin", "de") == "22 November 2026, 14:10"
    assert dates.day_name(at, "Europe/Berlin", "en") == "Sun 22"
    assert dates.exact(at, "Europe/Berlin", "fr") == "dim. 22 novembre 2026, 14:10:40 (Europe/Berlin)"
    assert dates.month_name(2026, 11, "es") == "noviembre 2026"
    for language in dates.LANGUAGES:
        assert (len(dates.words_of(language).months), len(dates.words_of(language).days)) == (12, 7)


def item(**more):
    return NewsItem(**{"at": NOW, "what": letters.BEGINS, "story": "i1", "name": "Shop", "monitors": ("m",), **more})


def test_letters_say_what_happened_in_one_line_and_whole():
    words = letters.news("Lindenhof", [item()], "https://s.example/status", "UTC")
    assert words.subject == "[Lindenhof] Shop is down"
    assert words.text.endswith("https://s.example/status/incidents/i1")
    update = item(what=letters.UPDATE, stage="identified", message="A disk is full.")
    assert "A disk is full." in letters.news("L", [update], "https://s.example/status", "UTC").text
    many = letters.news("L", [item(name=f"P{n}") for n in range(25)], "https://s.example/status", "UTC")
    assert many.subject == "[L] P0 is down and 24 more"
    assert "And 5 more" in many.text
    planned = letters.news(
        "L", [item(what=letters.PLANNED, start=NOW, end=NOW + 60)], "https://s.example/status", "UTC"
    )
    assert planned.subject == "[L] Maintenance: Shop is planned"
    assert "24 hours" in letters.confirmation("L", "https://s.example/x").text
    assert "already" in letters.known_already("L").subject
    assert letters.one_line("a\r\nBcc: b\x00c" + "x" * 300).startswith("a Bcc: b cxxx")
    assert len(letters.one_line("x" * 300)) == 200


def test_strangers_addresses_are_public_ones():
    policy = PublicPolicy(("10.1.0.0/16",), ("10.1.2.0/24",))
    for inside in ("127.0.0.1", "::1", "169.254.169.254", "192.168.0.1", "10.2.0.1", "::ffff:127.0.0.1", "0.0.0.0",
                   "fd00::1", "224.0.0.1", "10.1.2.3", "100.64.0.1", "nonsense"):  # fmt: skip
        assert not policy.allows(inside), inside
    assert policy.allows("10.1.3.4")
    assert policy.allows("93.184.216.34")
    assert policy.allows("2606:4700::1111")


def test_the_end_of_a_notice_says_its_title_and_where_the_page_is():
    item = NewsItem(1_700_000_000, letters.NOTICE_OVER, "n1", "The phones move", ())
    told = letters.news("Lindenhof", [item], "https://status.example/status", "UTC")
    assert "The phones move" in told.subject
    assert told.text.splitlines()[-1] == "https://status.example/status"
