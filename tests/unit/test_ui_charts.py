"""Charts: what they draw and say for measured values, gaps, nothing at all, and hostile words."""

import re
from datetime import datetime, timedelta, timezone
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest

from opsapp.ui import charts
from opsapp.ui.charts import (
    ActMark,
    Bar,
    Curve,
    Drop,
    Limit,
    Looks,
    Outlook,
    PhaseTime,
    Plot,
    TimeAxis,
    TrialCount,
    lanes,
)
from opsapp.ui.charts import frame as frame_of

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 11, 21, 14, 30, tzinfo=BERLIN).timestamp()
DAY = 86_400
AXIS = TimeAxis(START, START + DAY, BERLIN)
HALVES = [START + 1800 * number for number in range(48)]
HOSTILE = '<script>alert("1")</script>'


def cells(markup):
    """The table's rows as lists of words."""
    rows = re.findall(r"<tr data-x[^>]*>(.*?)(?=<tr|</table>)", str(markup))
    return [[re.sub("<[^>]+>", "", cell) for cell in row.split("<td>")[1:]] for row in rows]


def label(markup):
    return re.search(r'aria-label="([^"]*)"', str(markup)).group(1)


def paths(markup, look):
    return [d for d in re.findall(rf'<path class="{look}" d="([^"]*)"', str(markup)) if "h14" not in d]  # no legend


def drawn(markup):
    """The SVG alone, parsed: it is well-formed and has no style attribute."""
    found = ElementTree.fromstring(re.search(r"<svg class.*?</svg>(?=</div>|<d|$)", str(markup), re.S).group(0))
    assert all("style" not in element.attrib for element in found.iter())
    return found


def test_bars_are_taller_the_worse_it_was():
    states = ["up", "degraded", "down", "maintenance", "unknown"]
    shown = charts.bars([Bar(state) for state in states], "Checkout, the last 5 checks")
    tops = {look: int(paths(shown, look)[0].split()[1].partition("V")[0]) for look in ("x-ok", "x-warn", "x-bad")}
    assert tops["x-bad"] < tops["x-warn"] < tops["x-ok"] < int(paths(shown, "x-off")[0].split()[1].partition("V")[0])
    assert paths(shown, "x-maint")[0].count("m") == 1, "the bar of maintenance is cut in two"
    assert label(shown) == (
        "Checkout, the last 5 checks: 1 down, 1 degraded, 1 in maintenance, 1 up, 1 unknown; newest unknown"
    )
    assert len(drawn(shown)) == 5, "one element for each look, not for each bar"


def test_the_highest_value_of_a_lane_stands_above_its_plot_and_never_upon_the_line():
    shown = lanes.LaneShown("CPU", charts.PERCENT, (Curve("CPU", [100.0] * 48),), 3600, 100.0)
    lane = drawn(lanes.lane(AXIS, HALVES, shown, 1).drawing)
    top = next(float(line.get("y1")) for line in lane.iter() if line.get("class") == "grid")
    words = next(text for text in lane.iter("text") if text.text == "100 %")
    assert float(words.get("y")) < top
    assert float(words.get("y")) >= 10, "its letters are not cut"


def test_bars_that_are_not_there_yet_are_left_free_at_the_left():
    shown = charts.bars([Bar("up")], "New", slots=30)
    assert paths(shown, "x-ok") == ["M118 7V22"]
    assert 'viewBox="0 0 120 22"' in shown
    assert label(charts.bars([], "New", slots=30)) == "New: nothing was measured yet"


def test_a_strip_says_each_day_in_its_table_and_the_newest_below_it():
    days = [
        Bar("up", "20 Nov", "100 % up"),
        Bar("down", "21 Nov", "99.1 % up, down 13 min"),
        Bar("maintenance", "22 Nov"),
    ]
    shown = charts.strip(days, "Checkout, 3 days", ("20 Nov", "today"))
    assert cells(shown) == [["20 Nov", "100 % up"], ["21 Nov", "99.1 % up, down 13 min"], ["22 Nov", "in maintenance"]]
    assert '<b data-c="0">22 Nov</b><span data-c="1">in maintenance</span>' in shown
    assert "<span>20 Nov</span><span>today</span>" in shown
    assert "nothing was measured yet" in charts.strip([], "Checkout", ("", ""))


def test_a_sparkline_breaks_where_nothing_was_measured():
    shown = charts.sparkline([10, 20, None, 40, 30], "p95, 24 hours")
    assert paths(shown, "ln") == ["M0.0 16.0L22.0 11.0M66.0 1.0L88.0 6.0"]
    assert label(shown) == "p95, 24 hours"
    nothing = charts.sparkline([None, None], "p95")
    assert paths(nothing, "ln") == []
    assert label(nothing) == "p95: nothing was measured"
    assert paths(charts.sparkline([50, 50], "CPU", top=100), "ln") == ["M0.0 11.0L88.0 11.0"]


def test_a_line_chart_shows_lines_bands_a_threshold_and_the_newest_figures():
    median, slow = [200.0] * 48, [400.0] * 48
    shown = charts.line_chart(
        "Response time",
        AXIS,
        HALVES,
        [Curve("half within", median), Curve("95 % within", slow, quiet=True)],
        Looks(
            charts.MILLISECONDS,
            step=1800,
            held=[(START - 60, START + 3600), (START + 86_000, START + DAY), (START - 90, START - 60)],
            limits=[Limit(1200, "slow above 1,200 ms")],
            states=["up"] * 47 + ["down"],
            zoom=True,
        ),
    )
    svg = drawn(shown)
    assert svg.get("height") == "248"
    assert svg.find("svg").get("preserveAspectRatio") == "none"
    assert [len(paths(shown, look)) for look in ("ar", "ln", "ln q")] == [0, 1, 1]
    assert paths(shown, "limit")
    assert ">slow above 1,200 ms</text>" in shown
    assert shown.count('<rect class="b-') == 2, "a band outside of the window is not drawn"
    assert 'data-zoom="' + f'{START:.0f} {START + DAY:.0f}"' in shown
    assert label(shown) == (
        "Response time: half within 200 ms, between 200 ms and 200 ms; 95 % within 400 ms, between 400 ms and 400 ms"
    )
    assert cells(shown)[0] == ["Sat 14:30", "200 ms", "400 ms", "up"]
    assert cells(shown)[-1] == ["Sun 14:00", "200 ms", "400 ms", "down"]
    read = re.search(r"<figcaption.*?</figcaption>", shown).group(0)
    assert '<b data-c="0">Sun 14:00</b>' in read
    assert '<b data-c="2">400 ms</b>' in read
    assert '<span data-c="3">down</span>' in read
    words = [text.text for text in svg.iter("text")]
    assert {"500 ms", "1,000 ms"} <= set(words), "the axis has its unit"
    axis = words[words.index("Sat 14:30") :]
    assert axis[:6] == ["Sat 14:30", "00:00", "06:00", "12:00", "now", "slow above 1,200 ms"]


def test_a_line_is_never_joined_over_a_gap():
    times = [START, START + 300, START + 3000, START + 3300, START + 3600, START + 3900]
    values = [1.0, 2.0, 3.0, None, 2.0, None]
    shown = charts.line_chart("Load", AXIS, times, [Curve("Load", values)], Looks(step=300))
    line = paths(shown, "ln")[0]
    assert line.count("M") == 3, "over the hole in time, and over what is None"
    assert len(paths(shown, "ar")) == 3, "the area below is broken as the line is"
    assert cells(shown)[3][1] == "–"
    assert re.findall(r'<circle class="dot"[^>]*visibility="hidden"', shown), "no dot where nothing was measured"
    without = charts.line_chart("Load", AXIS, times, [Curve("Load", [1.0] * 6)])
    assert paths(without, "ln")[0].count("M") == 1, "without a step, times belong together"


def test_a_lone_moment_between_gaps_stays_in_sight():
    shown = charts.line_chart("Load", AXIS, HALVES[:3], [Curve("Load", [None, 1.0, None])])
    assert paths(shown, "ln") == ["M20.8 9.1L22.8 9.1"]


def test_nothing_measured_is_said():
    shown = charts.line_chart("Load", AXIS, [], [Curve("Load", [])])
    assert ">Nothing was measured in this time.</text>" in shown
    assert "<details" not in shown
    assert label(shown) == "Load: nothing was measured in this time"
    assert "<b data-c" not in shown
    assert "cross" not in shown
    drawn(shown)


def test_what_is_above_the_top_stays_at_the_top():
    looks = Looks(charts.unit_of("°C"), top=90)
    shown = charts.line_chart("Heat", AXIS, HALVES[:2], [Curve("Sensor", [30.0, 200.0])], looks)
    assert "L20.8 0" in paths(shown, "ln")[0]


def test_words_from_outside_are_only_words():
    looks = Looks(limits=[Limit(1, HOSTILE)], marks=[ActMark(START, HOSTILE)], states=[HOSTILE])
    shown = [
        charts.line_chart(HOSTILE, AXIS, [START], [Curve(HOSTILE, [1.0])], looks),
        charts.bars([Bar("up")], HOSTILE),
        charts.strip([Bar("up", HOSTILE, HOSTILE)], HOSTILE, (HOSTILE, HOSTILE)),
        charts.sparkline([1], HOSTILE),
        charts.fan(HOSTILE, AXIS, [START], [1], Outlook([], [], [], [], HOSTILE, HOSTILE), Limit(2, HOSTILE)),
        charts.survival([Drop(1, 0.5)], 60, ActMark(2, HOSTILE)),
        charts.lift(TrialCount(HOSTILE, 1, 2), TrialCount(HOSTILE, 0, 0)),
        charts.phases([PhaseTime(HOSTILE, 1)]),
    ]
    assert [each for each in shown if "<script" in each] == []
    assert [each for each in shown if "style=" in each] == []


def test_two_lines_have_no_area():
    curves = (Curve("in", [5.0, 6.0]), Curve("out", [1.0, 2.0], quiet=True))
    shown = charts.line_chart("Network", AXIS, HALVES[:2], curves, Looks())
    assert [len(paths(shown, look)) for look in ("ar", "ln", "ln q")] == [0, 1, 1]


def test_before_and_after_have_the_act_and_when_the_condition_held():
    plots = [
        Plot("Response time", (Curve("95 % within", [200.0, 2400.0, 210.0]),), charts.MILLISECONDS),
        Plot("Busy workers", (Curve("Busy", [4.0, 32.0, 4.0]),)),
    ]
    axis = TimeAxis(START, START + 720, BERLIN, live=False)
    act = ActMark(START + 360, "restart_service, 14:36:00")
    shown = charts.before_after(
        plots, axis, [START, START + 300, START + 600], [act], [(START + 300, START + 360)], Looks()
    )
    assert [each.count("b-edge-heal") for each in shown] == [1, 1]
    assert [each.count("b-bad") for each in shown] == [1, 1]
    assert ["restart_service" in each for each in shown] == [True, False], "it is named once"
    assert cells(shown[0])[1][0] == "14:35:00"


def test_a_fan_has_what_was_measured_what_is_expected_and_how_far_off_it_may_be():
    axis = TimeAxis(START - 2 * DAY, START + DAY, BERLIN, live=False)
    times = [START - 2 * DAY, START - DAY, START]
    outlook = Outlook(
        [START + DAY / 2, START + DAY], [83, 90], [(82, 85), (87, 93)], [(80, 87), (84, 99)],
        "90 % in 24 h, likely 20 to 31 h", "right in 94 % of back-tests",
    )  # fmt: skip
    shown = charts.fan("Disk /var", axis, times, [60, 68, 77], outlook, Limit(90, "alarm at 90 %"), top=100)
    assert [len(paths(shown, look)) for look in ("ar", "fan1", "fan2", "ln", "ln fan", "limit")] == [1] * 6
    assert paths(shown, "fan1")[0].startswith("M666.7 23L"), "both bands begin at what was measured last"
    assert cells(shown)[2] == ["Sat 14:30", "77 %", ""]
    assert cells(shown)[4][1:] == ["90 % expected", "84 % to 99 %"]
    assert label(shown) == "Disk /var: 77 % now; 90 % in 24 h, likely 20 to 31 h; right in 94 % of back-tests"
    drawn(shown)


def test_a_fan_without_a_forecast_or_without_anything():
    nothing = Outlook([], [], [], [])
    axis = TimeAxis(START - DAY, START + DAY, BERLIN, live=False)
    measured = charts.fan("Disk", axis, [START], [50], nothing)
    assert "half of all outcomes" not in measured
    assert paths(measured, "ln")
    ahead = Outlook([START + DAY], [60], [(55, 65)], [(50, 120)])
    empty = charts.fan("Disk", axis, [], [], ahead)
    assert "<b>–</b> now" in empty
    assert paths(empty, "ln fan")
    assert not paths(empty, "ln")


def test_survival_falls_in_steps_to_the_horizon():
    drops = [Drop(12, 13 / 14), Drop(22, 12 / 14), Drop(38, 11 / 14), Drop(500, 0)]
    shown = charts.survival(drops, 120, ActMark(38, "act at 38 s"))
    line = paths(shown, "ln")[0]
    assert line.endswith("H1000")
    assert line.count("V") == 3, "what is after the horizon is not drawn"
    assert cells(shown) == [["0 s", "100 %"], ["12 s", "93 %"], ["22 s", "86 %"], ["38 s", "79 %"]]
    assert "act at 38 s" in shown
    assert "data-read" in shown, "the crosshair reads it, by mouse, finger and arrow keys"
    assert '<b data-c="0">38 s</b>' in shown
    assert "60 s" in shown
    assert "10 min" in charts.survival([], 600)
    late = charts.survival([], 10, ActMark(9, "late"))
    assert '<text class="heal" x="90%" y="94" text-anchor="end"> late</text>' in late


def test_lift_has_a_disc_for_each_case():
    shown = charts.lift(TrialCount("Healed", 13, 14), TrialCount("Nothing done", 3, 14))
    assert shown.count("d-on") == 16
    assert shown.count("d-off") == 12
    assert shown.index("Nothing done") < shown.index("Healed")
    assert "<b>13 of 14</b>" in shown
    assert 'aria-label="3 of 14 recovered in time"' in shown
    many = charts.lift(TrialCount("Healed", 90, 100), TrialCount("Nothing done", 0, 0))
    assert "<circle" not in many
    assert 'width="90.0%"' in many
    assert "no case yet" in many


def test_phases_are_parts_of_a_whole():
    shown = charts.phases([PhaseTime("Name", 4), PhaseTime("Connect", 16), PhaseTime("Wait", 80)])
    assert 'aria-label="Name 4 ms, Connect 16 ms, Wait 80 ms"' in shown
    assert [float(width) for width in re.findall(r'%" width="([\d.]+)%', shown)] == pytest.approx([3.7, 15.7, 79.7])
    assert charts.phases([]) == ""
    assert charts.phases([PhaseTime("Name", 0)]) == ""


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (3600, ["14:45", "15:00", "15:15"]),
        (DAY, ["18:00", "00:00", "06:00", "12:00"]),
        (7 * DAY, ["Mon 23", "Tue 24", "Wed 25", "Thu 26", "Fri 27"]),
        (30 * DAY, ["28 Nov", "5 Dec", "12 Dec"]),
        (200 * DAY, ["Jan 2027", "Feb", "Mar", "Apr", "May"]),
        (365 * DAY, ["Feb", "Apr", "Jun", "Aug", "Oct"]),
    ],
)
def test_the_time_axis_is_written_in_round_times_of_the_reader(length, words):
    assert [each for _, each in frame_of.time_ticks(TimeAxis(START, START + length, BERLIN))] == words


def test_the_time_axis_follows_a_change_of_the_clock():
    start = datetime(2026, 10, 24, 12, tzinfo=BERLIN).timestamp()
    axis = TimeAxis(start, start + DAY, BERLIN)
    at = {words: x for x, words in frame_of.time_ticks(axis)}
    assert at["06:00"] - at["00:00"] == pytest.approx(7 * 100 / 24, abs=0.2), "that night has an hour more"


def test_the_ends_of_the_axis():
    assert frame_of.edges(AXIS) == ("Sat 14:30", "now")
    assert frame_of.edges(AXIS._replace(live=False)) == ("Sat 14:30", "Sun 14:30")
    year = TimeAxis(START - 365 * DAY, START, BERLIN, live=False)
    assert frame_of.edges(year) == ("21 Nov 2025", "21 Nov")
    zone = timezone(timedelta(hours=5, minutes=45))
    assert frame_of.edges(TimeAxis(START, START + DAY, zone))[0] == "Sat 19:15"


@pytest.mark.parametrize(
    ("unit", "value", "words"),
    [
        (charts.MILLISECONDS, 0.4, "0 ms"),
        (charts.MILLISECONDS, 1240, "1,240 ms"),
        (charts.MILLISECONDS, 12_400, "12.4 s"),
        (charts.PERCENT, 99.5, "99.5 %"),
        (charts.PERCENT, 100, "100 %"),
        (charts.BYTES, 512, "512 B"),
        (charts.BYTES, 5.4 * 1024**3, "5.4 GiB"),
        (charts.BYTES, 2.0**60, "1,048,576 TiB"),
        (charts.PLAIN, 0.344, "0.34"),
        (charts.PLAIN, -7, "-7"),
        (charts.unit_of("req/s"), 1234.5, "1,234 req/s"),
    ],
)
def test_values_are_written_with_their_unit(unit, value, words):
    assert unit.words(value) == words


def test_ticks_are_round():
    def of(top, **more):
        return frame_of.ticks(frame_of.Scale(top, 200), **more)

    assert of(1320) == [500, 1000]
    assert of(100) == [50, 100]
    assert of(0.1) == pytest.approx([0.05, 0.1])
    assert of(9 * 1024**3, binary=True) == [4 * 1024**3, 8 * 1024**3]
    assert frame_of.scale_of([], 100, None) == (1, 100), "a chart of nothing has a scale too"


@pytest.mark.parametrize(
    ("length", "step", "words"),
    [
        (600, 0, "14:30:00"), (3600, 0, "14:30"), (DAY, 0, "Sat 14:30"),
        (7 * DAY, 3600, "Sat 21 Nov, 14:30"), (365 * DAY, DAY, "21 Nov 2026"),
    ],
)  # fmt: skip
def test_a_moment_is_as_exact_as_the_chart_is_long(length, step, words):
    assert frame_of.clock_words(START, TimeAxis(START, START + length, BERLIN), step) == words
