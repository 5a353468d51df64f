"""What is wrong: alerts of several rules about one target are one line. What breaks next, as the forecast has it."""

from dataclasses import replace

from opsapp.healing.overview_answers import FleetCount, MonitorCounts, NextBreak, Overview, Trouble, WrongCounts
from opsapp.ui.reader import Reader
from opsapp.ui.sentences import NameBook
from opsapp.ui.shapes.foresight import breaks_next
from opsapp.ui.shapes.overview import gathered, joined, lines_of
from opsapp.wire.records import plain

HOUR = 3600
NOW = 1_800_000_000
NEXT = NextBreak("a1", "db-1", "disk_percent", "/var", 71.0, 90.0, NOW + 20 * HOUR, NOW + 15 * HOUR, None, 0.95)
QUIET = Overview(
    NOW, MonitorCounts(*[0] * 8), FleetCount(0, 0, 0), (), WrongCounts(*[0] * 6), 0, (), 0, (), (), None, {}, {}
)
READER = Reader(NOW, "UTC", "vera", "viewer", {}, lambda api: True)


def foretold(half, metric="disk_percent", hours=range(1, 30)):
    """A forecast of the API, whose inner band is so far from what is expected."""
    fan = [{"at": NOW + hour * HOUR, "expected": 71.0 + hour, "low": 60.0, "half_low": 71.0 + hour - half,
            "half_high": 71.0 + hour + half, "high": 99.0} for hour in hours]  # fmt: skip
    return {**plain(NEXT), "metric": metric, "false_alarms": None, "sudden": False, "fan": fan}


def known(kind, name, **more):
    told = {"status": "unknown" if kind == "monitor" else "down", "since": NOW, "id": name}
    return Trouble(kind=kind, name=name, **told | more)


def test_alerts_about_one_target_are_one_line_the_worst_first():
    worst, other = known("alert", "db-1/orders", rule_id="a"), known("alert", "db-1/orders", rule_id="b")
    monitor, twin = known("monitor", "Shop"), known("monitor", "Shop")
    elsewhere = known("alert", "web-1", rule_id="c")
    assert joined([monitor, worst, twin, other, elsewhere]) == [[monitor], [worst, other], [twin], [elsewhere]]


def test_many_that_are_alike_are_one_line_with_their_names():
    unknown = [known("monitor", f"m{number}") for number in range(3)]
    failed = known("monitor", "Shop", incident_id="i1", cause="connection refused")
    alerts = [known("alert", f"db-1/s{number}", rule_id="failed", cause="x == 1", case_id="c") for number in range(10)]
    elsewhere = known("alert", "db-2/s1", rule_id="failed", cause="x == 1", case_id="c")
    overview = replace(QUIET, troubles=(failed, *alerts, elsewhere, *unknown))
    lines = lines_of(overview, NameBook(hosts={"db-1": "a1"}))
    assert [line.name.text for line in lines] == ["Shop", "10 alerts on db-1", "s1 on db-2", "3 monitors"]
    assert [each.name.text for each in lines[3].under] == ["m0", "m1", "m2"]
    assert (len(lines[1].under), lines[1].more_under) == (8, 2)
    assert lines[1].under[0].name.href == "/healing/cases/c"
    assert "checked lately" in lines[3].cause.text


def test_what_something_hangs_on_or_is_worked_on_is_a_line_of_its_own():
    unknown = joined(known("monitor", f"m{number}") for number in range(4))
    assert [len(alike) for alike in gathered(unknown, {"m0"})] == [1, 3]
    assert [len(alike) for alike in gathered(unknown, {"m0", "m1"})] == [1, 1, 1, 1]
    told = joined(known("monitor", f"m{number}", cause="own network gone") for number in range(4))
    assert [len(alike) for alike in gathered(told, ())] == [1, 1, 1, 1]


def test_the_fan_of_what_breaks_next_is_that_of_the_forecast():
    narrow, wide = (breaks_next(NEXT, [foretold(half)], [], READER).chart for half in (1.0, 4.0))
    assert narrow != wide, "half of all outcomes is no fixed share of the rest"
    assert 'class="fan2"' in narrow
    assert "72 % expected" in narrow
    assert "60 % to 99 %" in narrow
    assert "97 % expected" not in narrow, "the picture ends a quarter after the threshold is met"


def test_without_points_of_the_forecast_nothing_is_drawn_ahead():
    for known in ([], None, [foretold(1.0, hours=())], [foretold(1.0, metric="cpu_percent")]):
        chart = breaks_next(NEXT, known, [], READER).chart
        assert "fan" not in chart
        assert "the truth lay within in 95 % of back-tests" in chart
