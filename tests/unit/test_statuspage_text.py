"""The status page, feed and badge as text: small, whole, readable, and free of whatever the document does not say."""

import itertools
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from opsapp.monitoring.logic import statuspage
from opsapp.monitoring.logic.statuspage import PublicMonitor, PublicWindow
from opsapp.ui import statuspage as ui

NOW = 1_795_000_000
TODAY = NOW // 86_400
VOID = {"meta", "link", "br", "!doctype"}


def incident(**more):
    return {
        "id": "i1",
        "monitor_id": "m3",
        "monitor_name": "Part <3>",
        "started": NOW - 3600,
        "resolved": None,
        "duration_minutes": 60.0,
        "status": "open",
        "updates": [{"time": NOW - 60, "stage": "identified", "message": "A <script>alert(1)</script> & more"}],
        **more,
    }


def document(components=15):
    monitors = [
        PublicMonitor(
            f"m{n}",
            f"Part <{n}>",
            sorted(ui.STATUS)[n % 7],
            {TODAY - d: (86_400_000 - (d * n * 997 % 2_000_000), d * n * 997 % 2_000_000) for d in range(80)},
        )
        for n in range(components)
    ]
    resolved = [
        incident(id=f"r{n}", resolved=NOW - n * 7200 - 60, started=NOW - n * 7200 - 7000, status="resolved")
        for n in range(1, 200)
    ]
    window = PublicWindow("Upgrade & more", NOW - 60, NOW + 60, True, ["Part <1>"])
    planned = PublicWindow("Later", NOW + 9000, NOW + 9060, False, [])
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
    return ui.page(document())


@pytest.fixture(scope="module")
def outline(html):
    outline = Outline()
    outline.feed(html)
    assert outline.open == []
    return outline


def test_the_page_with_15_components_is_under_50_kb(html):
    assert len(html.encode()) + len(ui.stylesheet().encode()) < 50_000


def test_the_page_has_90_bars_a_component_and_says_them_in_words(outline):
    assert sum(tag == "i" for tag, _ in outline.tags) == 15 * 90 + 4
    bars = [attrs for tag, attrs in outline.tags if attrs.get("class") == "bars"]
    assert len(bars) == 15
    assert all(bar["role"] == "img" and "10 without data" in bar["aria-label"] for bar in bars)
    assert sum(attrs.get("class") == "n" for tag, attrs in outline.tags if tag == "i") == 15 * 10 + 1


def test_the_page_has_one_h1_a_title_a_language_landmarks_and_no_script_or_inline_style(html, outline):
    names = [tag for tag, _ in outline.tags]
    assert names.count("h1") == names.count("main") == names.count("title") == names.count("footer") == 1
    assert dict(outline.tags)["html"]["lang"] == "en"
    assert "script" not in names
    assert not any("style" in attrs or any(key.startswith("on") for key in attrs) for _, attrs in outline.tags)
    assert "alert(1)" in html
    assert "<script>" not in html
    headings = [int(name[1]) for name in names if re.fullmatch("h[1-6]", name)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(headings))


def test_incidents_and_maintenance_are_shown_with_their_stage(outline):
    text = " ".join(outline.text)
    for words in (
        "Part <3> is down",
        "Identified",
        "Under way",
        "Planned",
        "Upgrade & more",
        "Part <1>",
        "170 older ones",
    ):
        assert words in text


def test_an_empty_page_says_so():
    text = ui.page(statuspage.document([], [], [], NOW))
    assert "Nothing is published here yet." in text
    assert "No incidents." in text
    assert "No information at the moment" in text


def test_a_component_without_data_claims_nothing():
    found = statuspage.document([PublicMonitor("a", "A", "pending", {})], [], [], NOW)
    text = ui.page(found)
    assert "No data yet" in text
    assert "100 %" not in text


def test_the_feed_is_xml_with_stable_and_unique_ids():
    items = ElementTree.fromstring(ui.feed(document(), "https://status.example")).findall("./channel/item")
    guids = [item.findtext("guid") for item in items]
    assert len(set(guids)) == len(guids) == 202
    assert items[2].findtext("title") == "Part <3>: down"
    assert "Identified: A <script>" in items[2].findtext("description")
    assert {item.findtext("link") for item in items} == {"https://status.example/status"}


@pytest.mark.parametrize("status", sorted(ui.STATUS))
def test_the_badge_is_xml_and_says_the_status(status):
    svg = ElementTree.fromstring(ui.badge({"name": "A <b> & c", "status": status}))
    assert svg.get("aria-label") == f"A <b> & c: {ui.STATUS[status].lower()}"


@pytest.mark.parametrize(
    ("minutes", "text"), [(None, "ongoing"), (0.2, "1 min"), (61, "1 h 1 min"), (1440, "1 d"), (1530, "1 d 1 h")]
)
def test_durations_for_people(minutes, text):
    assert ui.length(minutes) == text


def test_control_characters_in_a_name_or_an_update_do_not_break_feed_and_badge():
    """People paste what they find. XML has no way at all to say these; the page can bear them."""
    raw = "a\x01\x0b\x1b[0m\ufffe\tb\U0001f600"
    about = document(1)
    about["active_incidents"][0]["monitor_name"] = raw
    about["active_incidents"][0]["updates"][0]["message"] = raw
    about["maintenance"][0]["name"] = raw
    titles = [each.text for each in ElementTree.fromstring(ui.feed(about, "https://x.example")).iter("title")]
    assert any("a\ufffd\ufffd\ufffd[0m\ufffd\tb\U0001f600" in title for title in titles)
    ElementTree.fromstring(ui.badge({"name": raw, "status": "up"}))


def test_a_days_title_counts_its_incidents():
    day = {"date": "2026-01-02", "uptime": 99.5, "incidents": 1}
    assert ui.bar_title(day) == "2026-01-02: 99.50 %, 1 incident"
    assert ui.bar_title(day | {"incidents": 2, "uptime": None}) == "2026-01-02: no data, 2 incidents"
    assert ui.bar_title(day | {"incidents": 0}) == "2026-01-02: 99.50 %"


def palette(scheme):
    blocks = re.findall(r":root \{(.*?)\}", ui.stylesheet(), re.S)
    return dict(re.findall(r"--(\w+): (#\w{6})", blocks[scheme]))


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_contrast_is_aa_in_both_schemes(scheme):
    colours = palette(scheme)

    def contrast(one, two):
        low, high = sorted((luminance(colours[one]), luminance(colours[two])))
        return (high + 0.05) / (low + 0.05)

    for text in ("ink", "soft", "link", "up", "warn", "down", "plan"):
        assert contrast(text, "paper") >= 4.5, text
    assert contrast("ink", "card") >= 4.5
    assert contrast("none", "paper") >= 3
