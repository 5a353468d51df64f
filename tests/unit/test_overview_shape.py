"""What is wrong: alerts of several rules about one target are one line. What breaks next, as the forecast has it."""

from dataclasses import replace

from opsapp.agents.records import AgentRow
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.overview_answers import FleetCount, MonitorCounts, NextBreak, Overview, Trouble, WrongCounts
from opsapp.ui.parts import OVERVIEW
from opsapp.ui.reader import Answers, Reader
from opsapp.ui.sentences import NameBook
from opsapp.ui.shapes.foresight import breaks_next
from opsapp.ui.shapes.learned import forecasts
from opsapp.ui.shapes.overview import gathered, joined, lines_of, wrong
from opsapp.ui.shapes.stands import heading
from opsapp.wire.records import made

HOUR = 3600
NOW = 1_800_000_000
NEXT = NextBreak("a1", "db-1", "disk_percent", "/var", 71.0, 90.0, NOW + 20 * HOUR, NOW + 15 * HOUR, None, 0.95)
QUIET = Overview(
    NOW, MonitorCounts(*[0] * 8), 0, FleetCount(0, 0, 0), (), WrongCounts(*[0] * 6), 0, (), 0, (), (), None, {}, {}
)
PAST = [{"at": NOW - hour * HOUR, "value": 71.0 - hour / 2} for hour in range(23, 0, -1)]
READER = Reader(NOW, "UTC", "vera", "viewer", {}, lambda api: True)


def foretold(half, metric="disk_percent", hours=range(1, 30)):
    """A forecast of the API, whose inner band is so far from what is expected."""
    fan = [{"at": NOW + hour * HOUR, "expected": 71.0 + hour, "low": 60.0, "half_low": 71.0 + hour - half,
            "half_high": 71.0 + hour + half, "high": 99.0} for hour in hours]  # fmt: skip
    return made(ForecastRecord, {**vars(NEXT), "metric": metric, "fan": fan, "past": PAST})


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


def test_an_alert_says_what_its_rule_is_about():
    alert = known("alert", "db-1/orders", rule_id="orders", cause="The service that takes orders has stopped.")
    [line] = lines_of(replace(QUIET, troubles=(alert,)), NameBook())
    assert line.cause.text == "Rule orders: The service that takes orders has stopped."


def test_the_rest_leads_to_where_it_is():
    def shown(*troubles):
        answers = Answers({OVERVIEW: replace(QUIET, troubles=troubles, troubles_total=len(troubles))})
        return wrong(answers, READER)

    down = [known("monitor", f"m{number}", status="down", cause=f"HTTP {number}") for number in range(4)]
    alerts = [known("alert", f"db-{number}/s", rule_id="failed") for number in range(7)]
    assert (shown(*down, *alerts)["wrong_more"], shown(*down, *alerts)["more_alerts"]) == (6, True)
    assert not shown(*alerts, *down)["more_alerts"]


def test_causes_are_counted_only_where_they_say_more_than_what_is_down():
    def words(down, causes):
        counts = MonitorCounts(60, 0, 60 - down, down, 0, 0, 0, 0)
        return heading(replace(QUIET, monitors=counts, wrong=replace(QUIET.wrong, down=down, causes=causes)), 0)

    assert words(3, 1) == "3 down by one cause."
    assert words(60, 58) == "60 down."


def test_what_something_hangs_on_or_is_worked_on_is_a_line_of_its_own():
    unknown = joined(known("monitor", f"m{number}") for number in range(4))
    assert [len(alike) for alike in gathered(unknown, {"m0"})] == [1, 3]
    assert [len(alike) for alike in gathered(unknown, {"m0", "m1"})] == [1, 1, 1, 1]
    told = joined(known("monitor", f"m{number}", cause="own network gone") for number in range(4))
    assert [len(alike) for alike in gathered(told, ())] == [1, 1, 1, 1]


def test_the_fan_of_what_breaks_next_is_that_of_the_forecast():
    narrow, wide = (breaks_next(NEXT, [foretold(half)], READER).chart for half in (1.0, 4.0))
    assert narrow != wide, "half of all outcomes is no fixed share of the rest"
    assert 'class="fan2"' in narrow
    assert "72 % expected" in narrow
    assert "60 % to 99 %" in narrow
    assert "59.5 %" in narrow, "what was measured is drawn too"


def test_it_may_where_half_of_all_outcomes_do_not_get_there():
    told = breaks_next(NEXT, [foretold(1.0)], READER)
    assert (told.words, told.between) == ("may reach 90 % in", "not before 15 h, or never")
    sure = {"likely_by": NOW + 22 * HOUR, "high": NOW + 26 * HOUR}
    told = breaks_next(replace(NEXT, **sure), [replace(foretold(1.0), **sure)], READER)
    assert (told.words, told.between) == ("reaches 90 % in", "between 15 h and 1 d 2 h")


def test_a_disk_is_one_row_whatever_is_measured_of_it_and_silent_hosts_say_since_when():
    def row(metric, mount=None, hits=None, agent="a1"):
        return replace(foretold(1.0, metric), mount=mount, hits_at=hits and NOW + hits * HOUR, agent_id=agent)

    rows = [row("disk_percent", "/var", 20), row("disk_percent", hits=20), row("inodes./var.percent", hits=9),
                       row("disk_percent", "/", None), row("inodes./.percent"), row("cpu_percent", hits=3),
            row("disk_percent", agent="a2")]  # fmt: skip
    db, web = (AgentRow(name, id=agent_id, status="online") for name, agent_id in (("db-1", "a1"), ("web-1", "a2")))
    mail = AgentRow("mail", id="a3", status="offline", last_seen=NOW - HOUR)
    answers = Answers({"forecasts": rows, "hosts": [db, web], "offline": [mail], "dead": None})
    shown = forecasts(answers, READER)
    assert [line.what for line in shown["coming"]] == ["CPU", "Inodes of /var"]
    assert [(line.what, line.host) for line in shown["calm"]] == [("/", "db-1"), ("Disk", "web-1")]
    assert shown["silent"] == [mail]


def test_without_points_of_the_forecast_nothing_is_drawn_ahead():
    for known in ([], None, [foretold(1.0, hours=())], [foretold(1.0, metric="cpu_percent")]):
        chart = breaks_next(NEXT, known, READER).chart
        assert "fan" not in chart
        assert "the truth lay within in 95 % of back-tests" in chart
