"""History, SLA, health scores and the status document, from checks made under the test's own clock."""

import json

import pytest

from opsapp.runtime import serieswork
from opsapp.runtime.cluster import leases
from tests.support.dependencies import depend
from tests.support.monitoring import BLIND, DOWN, UP, Lookout

BASE = "/api/monitoring"


@pytest.fixture
def lookout(service):
    return Lookout(service)


def fold_everything(service):
    node = service.node
    node.leases.held[serieswork.LEASE] = 1
    node.transact(leases.beat, node.owner, [serieswork.LEASE], {}, node.clock.now())
    serieswork.fold(node)
    while serieswork.merge(node):
        pass


def test_history_has_a_point_for_each_bucket_with_checks(lookout):
    began = int(lookout.service.clock.now())
    # No change and no end stands on the edge of a bucket: the phase of the checks is random.
    monitor_id = lookout.watch_through((UP, 595), (DOWN, 300), (UP, 300), step=5)
    path = f"{BASE}/endpoints/{monitor_id}/history"
    answer = lookout.service.vera.get(path)
    assert answer.headers["X-Total-Count"] == "4"
    assert [point["time"] for point in answer.json] == [began, began + 300, began + 600, began + 900]
    assert [point["status"] for point in answer.json] == ["up", "up", "down", "up"]
    checks = [point["checks"] for point in answer.json]
    assert all(count in (5, 6) for count in checks)  # the first check comes at once, the others in their phase
    times = {"response_time_ms": 12, "min_ms": 12.0, "max_ms": 12.0, "median_ms": 12.0, "p95_ms": 12.0, "uptime": 100}
    assert answer.json[0] == {"time": began, "status": "up", "checks": checks[0], **times}
    assert answer.json[2]["response_time_ms"] is None
    fine = lookout.service.vera.get(f"{path}?resolution=60&range_h=1").json
    assert sum(point["checks"] for point in fine) == sum(checks)
    assert len(fine) in (20, 21)
    until = lookout.service.vera.get(f"{path}?until={began + 599}").json
    assert [point["time"] for point in until] == [began, began + 300]
    late = lookout.service.vera.get(f"{path}?until={began + 10**6}").json
    assert late == answer.json, "it ends no later than now"
    assert lookout.service.vera.get(f"{path}?until=5").json == []
    hour = lookout.service.vera.get(f"{path}?resolution=3600&range_h=24").json
    assert [(point["status"], point["checks"]) for point in hour] == [("down", sum(checks))]
    assert lookout.service.vera.get(f"{path}?limit=1&offset=1").json == answer.json[1:2]
    lookout.service.clock.advance(3 * 3600)
    fold_everything(lookout.service)
    later = lookout.service.vera.get(path).json
    assert later[:3] == answer.json[:3]
    # The last check still spoke for its monitor when the list was asked for first.
    grown = {"uptime": later[3]["uptime"]}
    assert later[3] == answer.json[3] | grown
    assert lookout.service.vera.get(f"{path}?range_h=1").json == []


@pytest.mark.parametrize(
    "query", ["range_h=0", "range_h=17521", "range_h=a", "resolution=0", "resolution=86401", "resolution=1.5"]
)
@pytest.mark.shared
def test_history_refuses_what_is_out_of_range(lookout, query):
    monitor_id = lookout.add()
    lookout.service.vera.get(f"{BASE}/endpoints/{monitor_id}/history?{query}", status=422)


def test_history_of_a_monitor_without_checks_is_empty_and_of_none_404(lookout):
    monitor_id = lookout.add()
    assert lookout.service.vera.get(f"{BASE}/endpoints/{monitor_id}/history").json == []
    lookout.service.vera.get(f"{BASE}/endpoints/0123456789abcdef/history", status=404)
    lookout.service.anonymous.get(f"{BASE}/endpoints/{monitor_id}/history", status=401)
    lookout.service.vera.post(f"{BASE}/endpoints/{monitor_id}/history", status=405)


def test_uptime_of_a_monitor_says_how_much_is_unknown(lookout):
    monitor_id = lookout.watch_through((UP, 600), (DOWN, 600), (BLIND, 600))
    rows = lookout.service.vera.get(f"{BASE}/endpoints/{monitor_id}/uptime").json
    assert [row["days"] for row in rows] == [1, 7, 30, 90]
    # A check is made at once, the next ones at the monitor's own second of the minute: the first phase seems up to a
    # minute longer than it was, 11 of 21.
    assert 49.9 < rows[0]["uptime_percent"] < 52.5
    assert rows[0]["downtime_minutes"] == pytest.approx(10, abs=1.5)
    assert rows[0]["unknown_minutes"] == pytest.approx(10, abs=1.5), "time before it was made is none"
    assert [row["incidents"] for row in rows] == [1, 1, 1, 1]
    lookout.service.clock.advance(300)
    later = lookout.service.vera.get(f"{BASE}/endpoints/{monitor_id}/uptime").json
    assert later[0]["uptime_percent"] == rows[0]["uptime_percent"], "what is unknown counts as nothing"
    lookout.service.clock.advance(10 * 3600)
    later = lookout.service.vera.get(f"{BASE}/endpoints/{monitor_id}/uptime").json
    assert later[0]["unknown_minutes"] == pytest.approx(615, abs=3)
    assert [row["uptime_percent"] for row in later] == [None] * 4, "20 minutes of ten hours say nothing of them"
    lookout.service.vera.get(f"{BASE}/endpoints/0123456789abcdef/uptime", status=404)


def test_sla_counts_up_and_down_time_and_nothing_else(lookout):
    lookout.watch_through((UP, 600), (DOWN, 600), (UP, 1200), name="Zebra")
    quiet = lookout.add(name="alpha", enabled=False)
    (alpha, zebra) = lookout.service.vera.get(f"{BASE}/sla").json
    assert (alpha["monitor_id"], alpha["uptime_percent"], alpha["total_checks"]) == (quiet, None, 0)
    assert (alpha["incidents"], alpha["mttr_minutes"]) == (0, None)
    assert zebra["name"] == "Zebra"
    assert 72 < zebra["uptime_percent"] < 78
    assert 9 < zebra["downtime_minutes"] < 11
    assert zebra["incidents"] == 1
    assert zebra["mttr_minutes"] == pytest.approx(zebra["downtime_minutes"], abs=0.2)
    assert zebra["unknown_minutes"] <= 1  # an interval at most, by where in it the monitor's phase is
    assert zebra["maintenance_minutes"] == 0
    assert 39 <= zebra["total_checks"] <= 42
    lookout.service.clock.advance(1800)  # nobody looks
    later = lookout.service.vera.get(f"{BASE}/sla?days=1").json[1]
    assert 72 < later["uptime_percent"] < 78
    lookout.service.clock.advance(1.5 * 3600)
    fold_everything(lookout.service)
    later = lookout.service.vera.get(f"{BASE}/sla?days=1").json[1]
    assert later["downtime_minutes"] == zebra["downtime_minutes"]
    assert 117 < later["unknown_minutes"] < 121
    assert later["uptime_percent"] is None, "of 160 minutes 40 are known"


def test_the_uptime_of_a_new_monitor_is_known_with_its_first_checks_though_it_was_asked_for_before(lookout):
    monitor_id = lookout.add(interval=5, timeout=2)
    lookout.sees[monitor_id] = UP
    assert lookout.monitor(monitor_id)["uptime_24h"] is None
    lookout.run(12)
    serieswork.flush(lookout.service.node)
    assert lookout.monitor(monitor_id)["uptime_24h"] == 100


def test_sla_sorts_the_worst_first_and_the_unknown_last(lookout):
    lookout.add(name="a", enabled=False)
    lookout.watch_through((UP, 1200), name="b")
    lookout.watch_through((UP, 600), (DOWN, 600), name="c")
    worst_first = lookout.service.vera.get(f"{BASE}/sla?sort=worst").json
    assert [row["name"] for row in worst_first] == ["c", "b", "a"]
    page = lookout.service.vera.get(f"{BASE}/sla?sort=worst&limit=1&offset=1")
    assert ([row["name"] for row in page.json], page.headers["X-Total-Count"]) == (["b"], "3")
    best_first = lookout.service.vera.get(f"{BASE}/sla?sort=-worst").json
    assert [row["name"] for row in best_first] == ["b", "c", "a"]
    backwards = lookout.service.vera.get(f"{BASE}/sla?sort=-name").json
    assert [row["name"] for row in backwards] == ["c", "b", "a"]
    lookout.service.vera.get(f"{BASE}/sla?sort=x", status=422)


def test_sla_takes_1_to_730_days_and_pages(lookout):
    for name in ("a", "b", "c"):
        lookout.add(name=name)
    page = lookout.service.vera.get(f"{BASE}/sla?days=730&limit=1&offset=1")
    assert [each["name"] for each in page.json] == ["b"]
    assert page.headers["X-Total-Count"] == "3"
    for query in ("days=0", "days=731", "days=x", "limit=0"):
        lookout.service.vera.get(f"{BASE}/sla?{query}", status=422)
    lookout.service.anonymous.get(f"{BASE}/sla", status=401)


def test_health_scores(lookout):
    good = lookout.watch_through((UP, 600), name="good")
    bad = lookout.watch_through((DOWN, 600), name="bad")
    lookout.add(name="new", enabled=False)
    lookout.service.node.series.live.update(f"monitor:{good}", {"cert_days": 15.0}, lookout.service.clock.now())
    one = lookout.service.vera.get(f"{BASE}/endpoints/{good}/health-score").json
    assert (one["monitor_id"], one["name"], one["score"], one["grade"]) == (good, "good", 92.5, "A")
    assert one["components"]["certificate"]["score"] == 50.0
    assert one["components"]["uptime"]["value"] == 100.0
    whole = lookout.service.vera.get(f"{BASE}/health-score").json
    scores = {each["name"]: each["score"] for each in whole["monitors"]}
    assert scores == {"good": 92.5, "bad": 0.0, "new": None}
    assert (whole["score"], whole["grade"], whole["unknown"]) == (46.2, "F", 1)
    assert lookout.service.vera.get(f"{BASE}/endpoints/{bad}/health-score").json["grade"] == "F"
    lookout.service.anonymous.get(f"{BASE}/health-score", status=401)
    lookout.service.vera.get(f"{BASE}/endpoints/0123456789abcdef/health-score", status=404)


def test_what_hardly_anybody_has_looked_at_has_no_grade_and_says_how_much_is_known(lookout):
    monitor_id = lookout.watch_through((UP, 600), name="web")
    assert lookout.service.vera.get(f"{BASE}/endpoints/{monitor_id}/health-score").json["grade"] == "A"
    lookout.service.clock.advance(2 * 86400)  # the service was away
    lookout.run(61)
    fold_everything(lookout.service)
    lookout.service.tokens.clear()
    found = lookout.service.vera.get(f"{BASE}/endpoints/{monitor_id}/health-score").json
    assert (found["score"], found["grade"], found["components"]["uptime"]["value"]) == (None, None, None)
    assert found["components"]["uptime"]["detail"] == "less than half of the last 7 days is known"
    whole = lookout.service.vera.get(f"{BASE}/health-score").json
    assert (whole["grade"], whole["unknown"]) == (None, 1)
    (month,) = lookout.service.vera.get(f"{BASE}/sla").json
    (day, *_, quarter) = lookout.service.vera.get(f"{BASE}/endpoints/{monitor_id}/uptime").json
    assert (month["uptime_percent"], month["known_percent"]) == (None, 0.0)
    assert [(row["uptime_percent"], row["known_percent"]) for row in (day, quarter)] == [(None, 0.0), (None, 0.0)]
    assert lookout.service.vera.get(f"{BASE}/sla?sort=worst").json[0]["uptime_percent"] is None
    listed = lookout.service.vera.get(f"{BASE}/endpoints?recent=60").json[0]
    assert (listed["uptime_24h"], listed["recent"]["uptime_30d"]) == (None, None)


def test_all_of_a_window_is_known_where_somebody_looked_all_the_time(lookout):
    lookout.watch_through((UP, 3 * 3600), name="web")
    (row,) = lookout.service.vera.get(f"{BASE}/sla?days=1").json
    assert row["known_percent"] == pytest.approx(100 * 3 / 24, abs=1)


def test_the_status_page_has_no_uptime_where_little_is_known(lookout):
    lookout.watch_through((UP, 600), name="Shop", tags=["public"])
    assert lookout.service.anonymous.get(f"{BASE}/status-page").json["monitors"][0]["uptime_90d"] == 100
    lookout.service.clock.advance(2 * 86400)  # the service was away
    lookout.run(61)
    fold_everything(lookout.service)
    document = lookout.service.anonymous.get(f"{BASE}/status-page").json
    assert document["monitors"][0]["uptime_90d"] is None
    at = int(lookout.service.clock.now()) - 61
    lookout.service.tokens.clear()
    then = lookout.service.vera.get(f"{BASE}/status-page?as_of={at}").json
    assert then["monitors"][0]["uptime_90d"] is None


def test_without_monitors_there_is_no_score(service):
    found = service.vera.get(f"{BASE}/health-score").json
    assert (found["score"], found["grade"], found["monitors"], found["unknown"]) == (None, None, [], 0)


def test_the_status_document_is_public_and_tells_of_public_monitors_alone(lookout):
    secret = lookout.watch_through((DOWN, 60), name="Hidden", url="http://hidden.internal/")
    shop = lookout.watch_through((UP, 600), (DOWN, 600), name="Shop", tags=["public"], url="http://10.1.2.3/admin")
    lookout.watch_through((UP, 60), name="Site", tags=["public"])
    incident = lookout.incidents(f"monitor_id={shop}")[0]["id"]
    lookout.service.otto.post_json(f"{BASE}/incidents/{incident}/acknowledge", {"note": "cable to 10.1.2.3"})
    update = {"stage": "identified", "message": "A cable is loose."}
    lookout.service.otto.post_json(f"{BASE}/incidents/{incident}/updates", update)
    inside = {"stage": "identified", "message": "It was 10.1.2.3 again.", "public": False}
    lookout.service.otto.post_json(f"{BASE}/incidents/{incident}/updates", inside)
    document = lookout.service.anonymous.get(f"{BASE}/status-page").json
    assert document["overall"] == "major_outage"
    assert [(each["name"], each["status"]) for each in document["monitors"]] == [("Shop", "down"), ("Site", "up")]
    assert 45 < document["monitors"][0]["uptime_90d"] < 55
    assert len(document["monitors"][0]["days"]) == 90
    assert [day["uptime"] for day in document["monitors"][0]["days"]][:89] == [None] * 89
    assert document["monitors"][0]["days"][-1]["incidents"] == 1
    assert [each["id"] for each in document["active_incidents"]] == [incident]
    assert [each["stage"] for each in document["active_incidents"][0]["updates"]] == ["identified"]
    assert document["history"][0]["incidents"][0]["monitor_name"] == "Shop"
    text = json.dumps(document)
    for word in ("10.1.2.3", "Hidden", secret, "HTTP 500", "otto", "http://", "cause"):
        assert word not in text
    lookout.sees[shop] = UP
    lookout.run(60, step=5)
    later = lookout.service.anonymous.get(f"{BASE}/status-page").json
    assert (later["overall"], later["active_incidents"]) == ("operational", [])
    assert later["monitors"][0]["incidents"][0]["status"] == "resolved"


def test_the_status_document_of_an_empty_service(service):
    document = service.anonymous.get(f"{BASE}/status-page").json
    assert (document["overall"], document["monitors"], document["history"]) == ("degraded", [], [])


def test_the_status_document_has_an_etag_that_holds_for_some_seconds(lookout):
    lookout.watch_through((UP, 60), name="Shop", tags=["public"])
    lookout.service.clock.advance(-lookout.service.clock.now() % 5)
    first = lookout.service.anonymous.get(f"{BASE}/status-page")
    lookout.service.clock.advance(4)
    again = lookout.service.anonymous.get(f"{BASE}/status-page", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status_int == 304


def test_when_nobody_can_look_the_page_does_not_claim_that_all_is_well(lookout):
    lookout.watch_through((UP, 60), (BLIND, 60), name="Shop", tags=["public"])
    document = lookout.service.anonymous.get(f"{BASE}/status-page").json
    assert (document["overall"], document["monitors"][0]["status"]) == ("degraded", "unknown")


def test_an_incident_names_the_published_one_that_it_comes_from(lookout):
    """Shop stands on Database, Database on the host; the host is not published, so nobody hears of it."""

    def declare(root):
        entries = [{"target": "Shop", "depends_on": ["Database"]}, {"target": "Mail", "depends_on": ["Rack"]},
                   {"target": "Database"}, {"target": "Rack"}]  # fmt: skip
        depend(root, entries)

    lookout.service.transact(declare)
    for name, tags in (("Shop", ["public"]), ("Database", ["public"]), ("Mail", ["public"]), ("Rack", [])):
        lookout.watch_through((DOWN, 60), name=name, tags=tags)
    document = lookout.service.anonymous.get(f"{BASE}/status-page").json
    causes = {each["monitor_name"]: each["part_of"] for each in document["active_incidents"]}
    assert causes == {"Shop": "Database", "Database": None, "Mail": None}
    assert "as Database is down" in lookout.service.anonymous.get("/status").text
    assert "Rack" not in json.dumps(document)
    (shop,) = (each for each in lookout.incidents("status=open") if each["monitor_name"] == "Shop")
    room = lookout.service.vera.get(f"{BASE}/incidents/{shop['id']}/war-room").json
    assert room["dependencies"] == [
        {"target": "Shop", "depends_on": "Database", "path": ["Shop", "Database"], "root_cause": True}
    ]


def test_maintenance_names_published_monitors_alone(lookout):
    scope = [lookout.add(name="Shop", tags=["public"]), lookout.add(name="Hidden")]
    window = {"name": "Upgrade", "start": "2055-01-16T08:00:00", "end": "2055-01-16T09:00:00", "scope": scope}
    lookout.service.otto.post_json("/api/maintenance", window, status=201)
    (window,) = lookout.service.anonymous.get(f"{BASE}/status-page").json["maintenance"]
    assert (window["name"], window["active"], window["monitors"]) == ("Upgrade", False, ["Shop"])


def test_the_journal_says_at_metrics_how_it_fares(lookout):
    lookout.watch_through((UP, 60))
    text = lookout.service.vera.get("/metrics").text
    assert "opsapp_journal_backlog 0.0" in text
    assert "opsapp_observations_lost_total 0.0" in text
