"""What is wrong: alerts of several rules about one target are one line."""

from opsapp.ui.shapes.overview import joined


def trouble(kind, name, **more):
    return {"kind": kind, "name": name, **more}


def test_alerts_about_one_target_are_one_line_the_worst_first():
    worst, other = trouble("alert", "db-1/orders", rule_id="a"), trouble("alert", "db-1/orders", rule_id="b")
    monitor, twin = trouble("monitor", "Shop"), trouble("monitor", "Shop")
    lines = joined([monitor, worst, twin, other, trouble("alert", "web-1", rule_id="c")])
    assert [line["name"] for line in lines] == ["Shop", "db-1/orders", "Shop", "web-1"]
    assert lines[1]["also"] == [other]
    assert lines[1]["rule_id"] == "a"
