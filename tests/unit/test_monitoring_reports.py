"""Uptime, SLA, history points, scores and the status document: pure functions over plain values."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.monitoring.logic import history, score, statuspage
from opsapp.monitoring.logic.statuspage import PublicMonitor
from opsapp.monitoring.logic.uptime import StateTimes, known_uptime, percent, shown, sla, uptime
from opsapp.monitoring.records import (
    IncidentRecord,
    PublicIncident,
    PublicWindow,
    ScoreComponent,
    ScoreComponents,
    SlaFigures,
)
from opsapp.wire.records import made, plain

NOW = 1_700_000_123
TODAY = NOW // 86_400


class TestUptime:
    def test_nothing_known_is_null_and_never_100(self):
        assert percent(0, 0) is None
        assert uptime(StateTimes(maintenance=5000, paused=5000)) is None

    def test_only_up_and_down_count_and_degraded_is_up(self):
        assert uptime(StateTimes(up=50, degraded=40, down=10, maintenance=1000, paused=1000)) == 90.0

    @pytest.mark.parametrize(
        ("up", "down", "wanted"), [(99_996, 4, 99.996), (10**12, 1, 99.999), (1, 0, 100.0), (0, 9, 0.0)]
    )
    def test_rounding_goes_down(self, up, down, wanted):
        assert percent(up, down) == wanted

    @given(st.integers(0, 10**13), st.integers(1, 10**13))
    def test_any_down_time_keeps_it_below_100(self, up, down):
        value = percent(up, down)
        assert 0 <= value < 100
        assert shown(value) != "100"

    @pytest.mark.parametrize(
        ("value", "text"), [(None, "–"), (100.0, "100"), (99.996, "99.99"), (99.9, "99.90"), (0.0, "0.00")]
    )
    def test_what_people_see(self, value, text):
        assert shown(value) == text

    def test_sla_figures(self):
        spent = StateTimes(up=50 * 60_000, down=6 * 60_000, maintenance=2 * 60_000)
        found = sla(spent, 60 * 60_000, 60_000, 58, [(100, 220), (300, 540), (900, None)])
        assert found == SlaFigures(89.285, 58, 6.0, 2.0, 2.0, 3, 3.0)

    def test_sla_of_nothing(self):
        found = sla(StateTimes(), 60_000, 60_000, 0, [])
        assert (found.uptime_percent, found.mttr_minutes, found.unknown_minutes) == (None, None, 1.0)
        assert sla(StateTimes(up=61_000), 60_000, 60_000, 1, []).unknown_minutes == 0

    @pytest.mark.parametrize(
        ("known_s", "window_s", "every_s", "wanted"),
        [(30, 60, 10, 100.0), (29, 60, 10, None), (1, 60, 60, 100.0), (1, 86_400, 60, None), (0, 60, 60, None)],
    )
    def test_where_little_is_known_there_is_no_uptime(self, known_s, window_s, every_s, wanted):
        """What was made a moment ago is known after one check, and a day is not."""
        assert known_uptime(StateTimes(up=known_s * 1000), window_s * 1000, every_s * 1000) == wanted


class TestHistory:
    def test_points(self):
        bucket = dict(
            start=300_000, checks=3, worst=2, mean=12.6, low=9.5, high=20.1, median=12.0, p95=20.1, up=1, down=3
        )
        empty = dict(
            start=600_000, checks=0, worst=0, mean=None, low=None, high=None, median=None, p95=None, up=0, down=0
        )
        silent = dict(
            start=900_000, checks=1, worst=1, mean=None, low=None, high=None, median=None, p95=None, up=0, down=0
        )
        found = history.points([SimpleNamespace(**each) for each in (bucket, empty, silent)], ("pending", "up", "down"))
        assert [plain(point) for point in found] == [
            {
                "time": 300,
                "status": "down",
                "response_time_ms": 13,
                "min_ms": 9.5,
                "max_ms": 20.1,
                "median_ms": 12.0,
                "p95_ms": 20.1,
                "uptime": 25.0,
                "checks": 3,
            },
            {
                "time": 900,
                "status": "up",
                "response_time_ms": None,
                "min_ms": None,
                "max_ms": None,
                "median_ms": None,
                "p95_ms": None,
                "uptime": None,
                "checks": 1,
            },
        ]


def components(uptime_percent=None, p95=None, days=None, degraded_ms=None):
    return ScoreComponents(
        score.uptime_component(uptime_percent),
        score.response_component(p95, degraded_ms),
        score.certificate_component(days),
    )


class TestScore:
    def test_all_good_is_100_with_the_documented_weights(self):
        found = score.monitor_score("m", "web", components(100.0, 20.0, 60.0))
        assert (found.monitor_id, found.name, found.score, found.grade) == ("m", "web", 100.0, "A")
        assert [part.weight for part in vars(found.components).values()] == [60, 25, 15]
        assert set(plain(found)["components"]["uptime"]) == {"score", "weight", "value", "detail"}

    def test_weights_are_rescaled_over_what_is_known(self):
        found = score.monitor_score("m", "web", components(95.0, 20.0))
        assert [part.weight for part in vars(found.components).values()] == [70.6, 29.4, 0]
        assert found.score == 29.4
        assert found.grade == "F"

    def test_nothing_known_is_no_score(self):
        found = score.monitor_score("m", "web", components())
        assert (found.score, found.grade) == (None, None)

    @pytest.mark.parametrize(("days", "wanted"), [(-1.0, 0), (0.0, 0), (15.0, 50.0), (90.0, 100.0)])
    def test_certificates(self, days, wanted):
        assert score.certificate_component(days).score == wanted
        assert (score.certificate_component(days).detail == "expired") is (days <= 0)

    @pytest.mark.parametrize(
        ("p95", "limit", "wanted"), [(500, None, 100.0), (4000, None, 0), (2250, None, 50.0), (100, 200, 100.0)]
    )
    def test_response_times_are_judged_by_the_monitors_own_limit(self, p95, limit, wanted):
        assert score.response_component(p95, limit).score == wanted

    @pytest.mark.parametrize(("value", "grade"), [(100, "A"), (90, "A"), (89.9, "B"), (75, "C"), (60, "D"), (0, "F")])
    def test_grades(self, value, grade):
        assert score.grade(value) == grade

    def test_the_aggregate_leaves_the_unknown_out_and_counts_them(self):
        scores = [
            score.monitor_score("a", "a", components(100.0)),
            score.monitor_score("b", "b", components(95.0, 20.0)),
            score.monitor_score("c", "c", components()),
        ]
        found = score.aggregate(scores)
        assert (found.score, found.grade, found.unknown) == (64.7, "D", 1)
        assert found.components.uptime == ScoreComponent(50.0, 60, 97.5, "2 of 3 monitors")
        assert found.components.certificate.score is None
        assert [each.monitor_id for each in found.monitors] == ["a", "b", "c"]
        assert score.aggregate([]).score is None


class TestStatusPage:
    @pytest.mark.parametrize(
        ("statuses", "wanted"),
        [
            ([], "degraded"),
            (["up", "up"], "operational"),
            (["pending", "paused"], "degraded"),
            (["up", "degraded"], "degraded"),
            (["unknown", "unknown"], "degraded"),
            (["up", "unknown"], "degraded"),
            (["up", "paused"], "operational"),
            (["up", "up", "down"], "partial_outage"),
            (["up", "down", "paused"], "major_outage"),
            (["up", "maintenance"], "maintenance"),
            (["degraded", "maintenance"], "degraded"),
        ],
    )
    def test_overall(self, statuses, wanted):
        assert statuspage.overall(statuses) == wanted

    def record(self, **more):
        return {
            "id": "i1",
            "monitor_id": "m1",
            "monitor_name": "Web",
            "started": NOW - 3 * 86_400,
            "resolved": NOW - 2 * 86_400,
            "duration_minutes": 1440.0,
            "status": "resolved",
            "cause": "http://10.0.0.7/secret answered 500",
            "acknowledged_by": "otto",
            "updates": [
                {"time": NOW, "stage": "monitoring", "message": "Watching", "user": "otto", "public": True},
                {"time": NOW, "stage": "acknowledged", "message": "otto looks", "user": "otto", "public": False},
            ],
            **more,
        }

    def document(self, monitors, told, windows, now):
        incidents = [PublicIncident.of(made(IncidentRecord, record), record["monitor_name"]) for record in told]
        return plain(statuspage.document(monitors, incidents, windows, now))

    def test_the_document_names_no_url_cause_or_user(self):
        monitors = [PublicMonitor("m1", "Web", "up", {})]
        window = PublicWindow("w", 1, 2, True, ("Web",))
        found = self.document(monitors, [self.record()], [window], NOW)
        assert "10.0.0.7" not in repr(found)
        assert "otto" not in repr(found)
        assert found["maintenance"] == [{"name": "w", "start": 1, "end": 2, "active": True, "monitors": ["Web"]}]
        assert found["generated_at"] == NOW - 3
        assert found["history"][0]["incidents"][0]["updates"] == [
            {"time": NOW, "stage": "monitoring", "message": "Watching"}
        ]

    def test_days_are_90_and_null_without_data(self):
        days = {TODAY: (75, 25), TODAY - 1: (100, 0), TODAY - 90: (0, 99)}
        monitors = [PublicMonitor("m1", "Web", "up", days)]
        (web,) = self.document(monitors, [self.record()], [], NOW)["monitors"]
        assert len(web["days"]) == 90
        assert [day["uptime"] for day in web["days"]] == [None] * 88 + [100.0, 75.0]
        assert [day["incidents"] for day in web["days"]] == [0] * 86 + [1, 1, 0, 0]
        assert web["days"][-1]["date"] == "2023-11-14"
        assert web["uptime_90d"] == 87.5

    def test_open_incidents_are_active_and_last_until_today(self):
        monitors = [PublicMonitor("m1", "Web", "down", {}), PublicMonitor("m2", "B", "up", {})]
        found = self.document(monitors, [self.record(resolved=None, status="open")], [], NOW)
        assert [each["id"] for each in found["active_incidents"]] == ["i1"]
        assert [day["incidents"] for day in found["monitors"][0]["days"]] == [0] * 86 + [1] * 4
        assert found["monitors"][1]["incidents"] == []
        assert found["monitors"][1]["uptime_90d"] is None
