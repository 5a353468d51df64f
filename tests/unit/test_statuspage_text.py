"""The status page, feed and badge as text: small, whole, readable, and free of whatever the document does not say."""

import gzip
import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from opsapp.monitoring.logic import statuspage
from opsapp.monitoring.logic.statuspage import PublicMonitor
from opsapp.monitoring.records import IncidentRecord, PublicIncident, PublicWindow, StatusComponent, StatusDocument
from opsapp.statuspages.records import GroupRecord, PublicPage
from opsapp.ui import statuspage as ui
from opsapp.ui import statusshape as shape
from opsapp.wire.records import made, plain

NOW = 1_795_000_000
TODAY = NOW // 86_400
VOID = {"meta", "link", "br", "input", "img", "!doctype"}


LOOKS = PublicPage(name="Lindenhof", footer="a <b>footer</b>", timezone="Europe/Berlin", offered=("mail",))


def incident(**more):
    said = {
        "id": "i1",
        "monitor_id": "m3",
        "monitor_name": "Part <3>",
        "started": NOW - 3600,
        "resolved": None,
        "duration_minutes": 60.0,
        "status": "open",
        "updates": [
            {
                "time": NOW - 60,
                "stage": "identified",
                "message": "A <script>alert(1)</script> & more",
                "public": True,
                "user": "",
            }
        ],
        "cause": "",
        "acknowledged_by": None,
        **more,
    }
    return PublicIncident.of(made(IncidentRecord, said), said["monitor_name"])


def component(**said):
    """What a badge or the bars need."""
    known = {"id": "m", "name": "M", "status": "up", "down_in_window": False, "uptime_90d": None, "incidents": ()}
    return made(StatusComponent, {**known, "days": (), **said})


def document(components=15):
    monitors = [
        PublicMonitor(
            f"m{n}",
            f"Part <{n}>",
            sorted(shape.WORDS)[n % 7],
            {TODAY - d: (86_400_000 - (d * n * 997 % 2_000_000), d * n * 997 % 2_000_000) for d in range(80)},
        )
        for n in range(components)
    ]
    resolved = [
        incident(id=f"r{n}", resolved=NOW - n * 7200 - 60, started=NOW - n * 7200 - 7000, status="resolved")
        for n in range(1, 200)
    ]
    window = PublicWindow("Upgrade & more", NOW - 60, NOW + 60, True, ("Part <1>",))
    planned = PublicWindow("Later", NOW + 9000, NOW + 9060, False, ())
    return statuspage.document(monitors, [incident(), *resolved], [window, planned], NOW)


class Outline(HTMLParser):
    """Checks that elements nest, and keeps what a test wants to count."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def html():
    return ui.page(LOOKS, document())


@pytest.fixture(scope="module")
def outline(html):
    outline = Outline()
    outline.feed(html)
    assert outline.open == []
    return outline


def test_the_page_with_250_components_and_500_windows_is_small():
    """500 windows over 250 components made it 8.9 MB."""
    about = document(250)
    names = [monitor.name for monitor in about.monitors]
    windows = [PublicWindow(f"Window {n}", NOW + n, NOW + n + 60, False, tuple(names)) for n in range(500)]
    text = ui.page(LOOKS, replace(about, maintenance=tuple(windows)))
    files = sum(len(gzip.compress(ui.file_text(name).encode())) for name in ui.FILES)
    assert len(gzip.compress(text.encode(), 5)) + files < 60_000
    assert len(re.findall("<[a-z]", text)) < 3_000
    assert "And 490 more" in text


def test_the_page_has_bars_of_90_days_and_says_them_in_words(html, outline):
    bars = [attrs for tag, attrs in outline.tags if attrs.get("class") == "bars d"]
    assert len(bars) == 15
    assert all(bar["role"] == "img" and "10 without data" in bar["aria-label"] for bar in bars)
    assert (
        sum(len(re.findall("M", attrs["d"])) for tag, attrs in outline.tags if "x-off" in attrs.get("class", "")) == 150
    )


def test_days_that_were_not_wholly_up_are_there_for_the_script():
    days = [{"date": "d", "uptime": value, "incidents": 0} for value in (None, None, 100.0, 99.93, None)]
    assert shape.odd_days(component(days=days)) == "0-1,3:99.93:0,4"
    assert shape.odd_days(component(days=days), 1) == "0-3:?,4"


def test_groups_come_in_their_order_and_hide_nothing_that_is_not_well():
    about = plain(document(6))
    ids = [monitor["id"] for monitor in about["monitors"]]
    second = GroupRecord(id="b", name="Second", collapsed=True, monitors=(ids[2], ids[0]))
    looks = replace(LOOKS, groups=(second, GroupRecord(id="a", name="First", collapsed=True)))
    for monitor, status in zip(about["monitors"], ("up", "up", "up", "down", "up", "up"), strict=True):
        monitor["status"] = status
    found = shape.groups(looks, made(StatusDocument, about))
    assert [(group.name, group.collapsed, group.words) for group in found] == [
        ("Second", True, "Operational"),
        ("Other services", False, "Partly down"),
    ]
    assert [line.id for line in found[0].monitors] == [ids[2], ids[0]]
    about["monitors"][0]["status"] = "unknown"
    assert not shape.groups(looks, made(StatusDocument, about))[0].collapsed


@pytest.mark.parametrize(
    ("statuses", "title", "words"),
    [
        (["down", "up", "up"], "P0 is down", "Partial outage"),
        (["down"] * 5, "P0, P1, P2 and 2 more are down", "Major outage"),
        (["degraded", "up"], "Degraded performance", "P0 is slow or near a limit, or a certificate ends soon"),
        (["up"], "All systems operational", "1 service watched"),
        (["unknown", "up"], "Some systems cannot be seen at the moment", "2 services watched"),
        (["maintenance"], "Under maintenance", "Work that was planned is under way"),
        ([], "No information at the moment", "Nothing is published"),
    ],
)
def test_the_sentence_over_everything(statuses, title, words):
    monitors = [PublicMonitor(f"m{n}", f"P{n}", status, {}) for n, status in enumerate(statuses)]
    found = shape.verdict(statuspage.document(monitors, [], [], NOW))
    assert (found.title, found.words) == (title, words)


@pytest.mark.parametrize(
    ("statuses", "rest"),
    [
        (["down", "up", "up"], "The other 2 work."),
        (["down", "up"], "The other one works."),
        (["down", "up", "unknown", "unknown"], "1 of the other 3 works, 2 cannot be seen at the moment."),
        (["down", "up", "up", "maintenance"], "2 of the other 3 work."),
        (["down", "unknown"], ""),
    ],
)
def test_of_the_others_no_more_is_said_than_is_known(statuses, rest):
    monitors = [PublicMonitor(f"m{n}", f"P{n}", status, {}) for n, status in enumerate(statuses)]
    assert shape.verdict(statuspage.document(monitors, [], [], NOW)).rest == rest


def test_as_a_file_the_page_leads_to_nothing_that_is_not_there():
    text = ui.page(LOOKS, document(), ui.FILE)
    places = re.findall(r'(?:href|src)="([^"]+)"', text)
    assert {place for place in places if not place.startswith("#")} == {
        "data:,", "face.css", "status.css", "status.js", "status.rss", "index.html"}  # fmt: skip


def test_a_month_has_its_neighbours_and_its_edges():
    assert (shape.stepped("2026-01", -1), shape.stepped("2026-12", 1)) == ("2025-12", "2027-01")
    start, end = shape.month_edges("2026-10", "Europe/Berlin")
    assert end - start == (31 * 24 + 1) * 3600  # the clock goes back in it


def test_the_page_has_one_h1_a_title_a_language_landmarks_and_no_script_or_inline_style(html, outline):
    names = [tag for tag, _ in outline.tags]
    assert names.count("h1") == names.count("main") == names.count("title") == names.count("footer") == 1
    assert dict(outline.tags)["html"]["lang"] == "en"
    assert [attrs for tag, attrs in outline.tags if tag == "script"] == [{"type": "module", "src": ui.LIVE.script}]
    assert not any("style" in attrs or any(key.startswith("on") for key in attrs) for _, attrs in outline.tags)
    assert "alert(1)" in html
    assert "<script>" not in html
    headings = [int(name[1]) for name in names if re.fullmatch("h[1-6]", name)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(headings))


def test_incidents_and_maintenance_are_shown_with_their_stage(outline):
    text = " ".join(outline.text)
    for words in ("Part <3> is down", "Identified", "Under way", "Upgrade & more", "Part <1>"):
        assert words in text


def test_an_empty_page_says_so():
    text = ui.page(LOOKS, statuspage.document([], [], [], NOW))
    assert "Nothing is published here yet." in text
    assert "No incidents." in text
    assert "No information at the moment" in text


def test_a_component_without_data_claims_nothing():
    found = statuspage.document([PublicMonitor("a", "A", "pending", {})], [], [], NOW)
    text = ui.page(LOOKS, found)
    assert "uptime unknown" in text
    assert "100 %" not in text


def test_many_open_incidents_without_a_word_are_one_line_below_their_cause():
    took = [incident(id=f"i{n}", monitor_name=f"Part {n}", started=NOW - n, updates=[]) for n in range(12)]
    took = [replace(row, part_of="Shop database") for row in took]
    text = ui.page(LOOKS, statuspage.document([], [*took, incident(monitor_name="Shop database")], [], NOW))
    assert text.count('<article class="story open">') == 2
    assert text.index("Shop database is down</a></h3>") < text.index("12 services are down</h3>")
    assert "Part 0, Part 1, Part 10, Part 11, Part 2, Part 3 and 6 more" in text
    assert text.count('href="/status/incidents/i') >= 12, "each is reached"


def test_days_without_data_are_one_row_of_a_service():
    known = statuspage.document([PublicMonitor("a", "A", "up", {TODAY: (86_000_000, 0)})], [], [], NOW).monitors[0]
    first, rest = shape.day_rows(known)
    assert (first.date, first.words) == (known.days[-1].date, "Up")
    assert (rest.date, rest.words) == (f"{known.days[0].date} to {known.days[-2].date}", "No data")


def test_the_feed_is_xml_with_stable_and_unique_ids():
    items = ElementTree.fromstring(ui.feed(document(), "https://status.example")).findall("./channel/item")
    guids = [item.findtext("guid") for item in items]
    assert len(set(guids)) == len(guids) == 202
    assert items[2].findtext("title") == "Part <3>: down"
    assert "Identified: A <script>" in items[2].findtext("description")
    assert items[2].findtext("link") == "https://status.example/status/incidents/i1"


@pytest.mark.parametrize("status", sorted(shape.WORDS))
def test_the_badge_is_xml_and_says_the_status(status):
    svg = ElementTree.fromstring(ui.badge(component(name="A <b> & c", status=status)))
    assert svg.get("aria-label") == f"A <b> & c: {shape.WORDS[status].lower()}"


def test_control_characters_in_a_name_or_an_update_do_not_break_feed_and_badge():
    """People paste what they find. XML has no way at all to say these; the page can bear them."""
    raw = "a\x01\x0b\x1b[0m\ufffe\tb\U0001f600"
    about = plain(document(1))
    about["active_incidents"][0]["monitor_name"] = raw
    about["active_incidents"][0]["updates"][0]["message"] = raw
    about["maintenance"][0]["name"] = raw
    titles = [
        each.text
        for each in ElementTree.fromstring(ui.feed(made(StatusDocument, about), "https://x.example")).iter("title")
    ]
    assert any("a\ufffd\ufffd\ufffd[0m\ufffd\tb\U0001f600" in title for title in titles)
    ElementTree.fromstring(ui.badge(component(name=raw)))
