"""Before and after: which readings are drawn around a case, what is marked, and what is said where nothing is kept."""

import re

from opsapp.healing.answers import CaseShown
from opsapp.monitoring.engine import ResponsePoint
from opsapp.ui.parts import HOST_POINTS
from opsapp.ui.reader import Reader
from opsapp.ui.shapes import beforeafter
from tests.support.partly import partly

NOW = 1_800_000_000
OPENED = NOW - 7200


def reader(**query):
    return Reader(NOW, "UTC", "vera", "viewer", query, lambda api: False)


def entry(**more):
    known = {"action_type": "journal_vacuum", "action_params": '{"keep": "500M"}', "action_success": 1}
    ends = {
        "target": "box-1/nginx",
        "outcome": "verified",
        "created_at": OPENED + 5,
        "finished_at": OPENED + 80,
        "rolls_back": None,
    }
    return known | ends | more


def case(condition="disk./var.percent > 90", **more):
    acted = {"began_at": OPENED + 5, "acted_at": OPENED + 20}
    ends = {"opened_at": OPENED, "closed_at": OPENED + 80, "recovered_at": OPENED + 80, "monitor_id": None}
    return partly(CaseShown, {"condition": condition, "act": acted, "entries": [entry()], **ends, **more})


def points(**values):
    times = [(OPENED - 3600 + 60 * n, {"/var": 92.0 if n < 61 else 71.0}) for n in range(120)]
    return HOST_POINTS.read([{"time": time, "disks": disks, **values} for time, disks in times])


def monitored(status="up", p95=80.0):
    times = [OPENED - 3600 + 60 * n for n in range(120)]
    return [ResponsePoint(time, status, round(p95), p95, p95, p95, p95, 100, 1) for time in times]


def marks(chart):
    return re.findall(r'<line class="b-edge-(\w+)"', str(chart))


def cells(chart):
    rows = re.findall(r"<tr data-x[^>]*>(.*?)(?=<tr|</table>)", str(chart))
    return [[re.sub("<[^>]+>", "", cell) for cell in row.split("<td>")[1:]] for row in rows]


def test_the_reading_of_the_condition_is_drawn_with_its_bound_and_what_happened():
    shown = beforeafter.of_case(case(), points(), (), reader())
    (chart,) = shown.charts
    assert ">condition: above 90</text>" in chart
    assert marks(chart) == ["bad", "heal", "ok"]
    assert [(it.number, it.at - OPENED, it.words) for it in shown.moments] == [
        (1, 0, "the alert came"),
        (2, 20, "journal vacuum 500M"),
        (3, 80, "measured again: it helped"),
    ]
    assert ">1–3</text>" in chart, "what stands close together is numbered together"
    assert not shown.note
    table = cells(chart)
    assert [table[0][2], table[60][2], table[-1][2]] == ["before", "the condition holds", "after"]
    assert table[0][1] == "92 %"


def test_several_readings_stand_over_each_other_and_what_must_not_hold_has_no_line():
    condition = "cpu_percent > 80 and not disk./var.percent <= 90 and mem_percent >= 50"
    shown = beforeafter.of_case(case(condition), points(cpu_percent=95.0, mem_percent=None), (), reader())
    first, second = shown.charts
    assert "condition: above 80" in first
    assert 'class="limit"' not in second
    assert ">1–3</text>" in first
    assert ">1–3</text>" not in second
    assert len(marks(second)) == 3


def test_what_has_no_history_shows_the_host_meanwhile_and_says_so():
    shown = beforeafter.of_case(case('service.nginx.state == "failed"'), points(cpu_percent=3.0), (), reader())
    assert len(shown.charts) == 1
    assert shown.note.startswith("No history is kept of service.nginx.state")
    nothing = beforeafter.of_case(case('service.nginx.state == "failed"'), (), (), reader())
    assert (nothing.charts, nothing.note) == ((), "")
    assert len(nothing.moments) == 3
    broken = beforeafter.of_case(case("not a condition >"), points(load1=1.0), (), reader())
    assert broken.note.startswith("No history is kept of what it reads")


def test_a_monitor_has_its_response_time_and_its_states():
    it = case("response_time_ms > 500", monitor_id="m1", recovered_at=None, closed_at=None)
    (chart,) = beforeafter.of_case(it, points(cpu_percent=1.0), monitored("degraded"), reader()).charts
    assert "condition: above 500" in chart
    assert cells(chart)[0][2] == "degraded"
    assert "80 ms" in cells(chart)[0][1]


def test_steps_that_failed_and_what_was_undone_are_marked():
    undone = entry(action_type="rollback", rolls_back=1, outcome="verified", finished_at=OPENED + 100)
    tried = [entry(outcome="failed"), entry(action_success=0), undone]
    shown = beforeafter.of_case(case(entries=tried, act=None, recovered_at=OPENED + 70), points(), (), reader())
    assert [it.words for it in shown.moments] == [
        "the alert came", "journal vacuum 500M", "the condition was false again", "it did not help", "it was undone",
    ]  # fmt: skip
    assert [it.look for it in shown.moments] == ["bad", "heal", "ok", "bad", "warn"]


def test_the_address_may_choose_a_part_of_it():
    whole = beforeafter.around(OPENED, OPENED + 80, reader())
    assert (whole.start, whole.end, whole.step) == (OPENED - 3600, OPENED + 3680, 60)
    assert not whole.live
    part = reader(**{"from": str(OPENED - 60), "to": str(OPENED + 300)})
    assert beforeafter.around(OPENED, None, part)[:2] == (OPENED - 60, OPENED + 300)
    assert beforeafter.of_case(case(), points(), (), part).zoomed
    late = reader(**{"from": "5", "to": str(NOW + 900)})
    assert beforeafter.around(OPENED, None, late)[:2] == (OPENED - 3600, NOW)
    assert beforeafter.around(OPENED - 90 * 86_400, None, reader()).step == 86_400
    asked = beforeafter.asked_by_case(reader(), {"case": case()})
    assert asked == {"range_h": "3", "resolution": "60", "until": str(OPENED + 3680)}
