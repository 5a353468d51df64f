"""What is wrong: alerts of several rules about one target are one line. What breaks next, as the forecast has it."""

from opsapp.ui.reader import Reader
from opsapp.ui.shapes.foresight import breaks_next
from opsapp.ui.shapes.overview import joined

HOUR = 3600
NOW = 1_800_000_000
NEXT = {"agent_id": "a1", "hostname": "db-1", "metric": "disk_percent", "mount": "/var", "now": 71.0, "threshold": 90.0,
        "hits_at": NOW + 20 * HOUR, "low": NOW + 15 * HOUR, "high": None, "coverage": 0.95}  # fmt: skip
READER = Reader(NOW, "UTC", "vera", "viewer", {}, lambda api: True)


def foretold(half, metric="disk_percent", hours=range(1, 30)):
    """A forecast of the API, whose inner band is so far from what is expected."""
    fan = [{"at": NOW + hour * HOUR, "expected": 71.0 + hour, "low": 60.0, "half_low": 71.0 + hour - half,
            "half_high": 71.0 + hour + half, "high": 99.0} for hour in hours]  # fmt: skip
    return {**NEXT, "metric": metric, "false_alarms": None, "sudden": False, "fan": fan}


def trouble(kind, name, **more):
    return {"kind": kind, "name": name, **more}


def test_alerts_about_one_target_are_one_line_the_worst_first():
    worst, other = trouble("alert", "db-1/orders", rule_id="a"), trouble("alert", "db-1/orders", rule_id="b")
    monitor, twin = trouble("monitor", "Shop"), trouble("monitor", "Shop")
    lines = joined([monitor, worst, twin, other, trouble("alert", "web-1", rule_id="c")])
    assert [line["name"] for line in lines] == ["Shop", "db-1/orders", "Shop", "web-1"]
    assert lines[1]["also"] == [other]
    assert lines[1]["rule_id"] == "a"


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
