"""The report of a calendar month: uptime, error budget, by monitor, by tag and of all, and as a file."""

import csv
import io
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from opsapp.lib.months import month_back, month_name, month_span
from opsapp.runtime import serieswork
from tests.api.test_reports import fold_everything
from tests.support.monitoring import DOWN, UP, Lookout

REPORT = "/api/monitoring/report"
DAY = 86400
OTHERS = range(9000, 9020)  # numbers of series: of so many the summaries are read


@pytest.fixture
def lookout(service):
    return Lookout(service)


def month_of(service, back=0):
    return month_back(service.clock.now(), service.node.config.timezone, back)


def test_months_go_by_the_clock_of_the_zone():
    start, end = month_span("2026-10", "Europe/Berlin")
    assert end - start == 31 * DAY + 3600, "the night in which the clock is put back is longer"
    assert datetime.fromtimestamp(start, ZoneInfo("Europe/Berlin")).isoformat() == "2026-10-01T00:00:00+02:00"
    assert month_back(end - 1, "Europe/Berlin", 0) == "2026-10"
    assert month_back(end, "Europe/Berlin", 0) == "2026-11"
    assert [month_back(start, "Europe/Berlin", back) for back in (9, 10)] == ["2026-01", "2025-12"]
    assert month_name("2026-10") == "October 2026"


def a_month(lookout):
    """From the first of the next month on: up all the time but for two hours on the fifth day; then the month after."""
    service = lookout.service
    _, first = month_span(month_of(service), service.node.config.timezone)
    service.clock.advance(first - service.clock.now() - 60)
    service.tokens.clear()
    monitor_id = lookout.add(name="web", tags=["shop"], interval=3600, retries=0)
    for day in range(38):
        for outcome, seconds in ((DOWN, 7200), (UP, DAY - 7200)) if day == 4 else ((UP, DAY),):
            lookout.sees[monitor_id] = outcome
            lookout.run(seconds, step=3600)
        serieswork.flush(service.node)
        fold_everything(service)
    service.tokens.clear()  # everybody's session has ended meanwhile
    return monitor_id


def test_the_last_month_is_told_with_its_error_budget(lookout):
    service = lookout.service
    monitor_id = a_month(lookout)
    lookout.add(name="new", tags=["shop", "other"])
    [row] = service.vera.get(REPORT).json
    assert (row["name"], row["monitor_id"], row["monitors"]) == ("web", monitor_id, 1), "the new one was not there"
    assert row["known_percent"] > 99
    days = round((month_span(month_of(service, 1), "UTC")[1] - month_span(month_of(service, 1), "UTC")[0]) / DAY)
    assert row["allowed_minutes"] == pytest.approx(days * 1440 * 0.001, abs=0.1)
    assert 60 <= row["downtime_minutes"] <= 240
    assert row["left_minutes"] == pytest.approx(row["allowed_minutes"] - row["downtime_minutes"], abs=0.02)
    assert row["uptime_percent"] == pytest.approx(100 - row["downtime_minutes"] / days / 14.4, abs=0.05)
    assert row["incidents"] == 1
    total = service.vera.get(f"{REPORT}-total?target=99").json
    assert total["downtime_minutes"] == row["downtime_minutes"]
    assert total["left_minutes"] > 0 > row["left_minutes"]
    assert [total["start"], total["end"]] == [int(at) for at in month_span(month_of(service, 1), "UTC")]
    by_month = service.vera.get(f"{REPORT}?month={month_of(service, 1)}").json
    assert by_month == [row]
    earlier = service.vera.get(f"{REPORT}?month={month_of(service, 2)}").json
    assert [line["uptime_percent"] for line in earlier] == [None], "a minute of it is known"


def test_what_is_mostly_unknown_has_no_uptime(lookout):
    """One check, or one day, is no month."""
    lookout.watch_through((UP, DAY), name="young", step=600, interval=600)
    lookout.service.tokens.clear()
    for query in (f"month={month_of(lookout.service)}", "days=30"):
        [row] = lookout.service.vera.get(f"{REPORT}?{query}").json
        assert (row["uptime_percent"], row["left_minutes"]) == (None, None), query
        assert 0 < row["known_percent"] < 50
    [row] = lookout.service.vera.get(f"{REPORT}?days=1").json
    assert row["uptime_percent"] == 100


def test_by_tag_and_of_one_tag(lookout):
    lookout.watch_through((UP, 3600), name="a", tags=["shop"])
    for name, tags in (("b", ["shop", "db"]), ("c", [])):
        lookout.add(name=name, tags=tags)
    rows = lookout.service.vera.get(f"{REPORT}?days=1&by=tag&sort=name").json
    assert [(row["name"], row["monitors"]) for row in rows] == [("db", 1), ("no tag", 1), ("shop", 2)]
    names = [row["name"] for row in lookout.service.vera.get(f"{REPORT}?days=1&tag=shop&sort=-name").json]
    assert names == ["b", "a"]
    assert lookout.service.vera.get(f"{REPORT}-total?days=1&tag=shop").json["monitors"] == 2
    answer = lookout.service.vera.get(f"{REPORT}?days=1&limit=1&offset=1&sort=name")
    assert answer.headers["X-Total-Count"] == "3"
    assert [row["name"] for row in answer.json] == ["b"]


@pytest.mark.parametrize(
    "query", ["month=2026", "month=2026-13", "month=2026-10&days=3", "zone=Moon", "target=100", "by=x"]
)
@pytest.mark.shared
def test_what_is_wrong_is_told(lookout, query):
    lookout.service.vera.get(f"{REPORT}?{query}", status=422)


def test_as_a_file_that_no_spreadsheet_runs(lookout):
    lookout.add(name="=cmd|' /C calc'!A0", tags=["-2+3"])
    lookout.add(name='plain, and "quoted"')
    answer = lookout.service.vera.get(f"{REPORT}.csv?days=1&sort=name")
    assert answer.content_type == "text/csv"
    assert "attachment" in answer.headers["Content-Disposition"]
    head, *rows = csv.reader(io.StringIO(answer.text))
    assert head[:3] == ["name", "monitor_id", "monitors"]
    assert [row[0] for row in rows] == ["'=cmd|' /C calc'!A0", 'plain, and "quoted"']
    lookout.service.anonymous.get(f"{REPORT}.csv", status=401)


def test_the_page_of_the_last_month(lookout):
    a_month(lookout)
    page = lookout.service.browser("vera").get("/monitors").click("Report")
    month = month_name(month_of(lookout.service, 1))
    assert page.html.select_one("h1").get_text(strip=True) == f"Report: {month}"
    names = [option.text for option in page.html.select("#r-month option")]
    assert names[:2] == [month, month_name(month_of(lookout.service))]
    head, row = page.html.select("#report thead tr, #report tbody tr")
    told = {name.text.strip(): cell for name, cell in zip(head.select("th"), row.select("td"), strict=True)}
    assert told["Down"].text == "2 h"
    assert told["Left"].text.strip().startswith("−")
    assert "All 1" in page.html.select_one("#report tfoot").text
    tight = page.click("JSON", index=0)
    assert tight.json[0]["name"] == "web"
    assert f"uptime-{month_of(lookout.service, 1)}.csv" in page.click("CSV").headers["Content-Disposition"]
    form = page.forms[next(number for number, form in page.forms.items() if "target" in form.fields)]
    form["target"] = "99"
    form["by"] = "tag"
    by_tag = form.submit()
    assert "shop" in by_tag.html.select_one("#report tbody").text
    assert "−" not in by_tag.html.select_one("#report tbody").text


def test_by_group_of_the_status_page(lookout):
    ids = {name: lookout.add(name=name, tags=["public"]) for name in ("a", "b", "c", "d")}
    groups = [{"name": "Shop", "monitors": [ids["a"], ids["b"]]}, {"name": "Mail", "monitors": [ids["c"]]}]
    lookout.service.ada.put_json("/api/status/settings", {"groups": groups})
    rows = lookout.service.vera.get(f"{REPORT}?days=1&by=group&sort=name").json
    assert [(row["name"], row["monitors"], row["monitor_id"]) for row in rows] == [
        ("Mail", 1, None), ("no group", 1, None), ("Shop", 2, None)
    ]  # fmt: skip
    told = lookout.service.vera.get(f"{REPORT}.csv?days=1&by=group&sort=name").text
    assert [row[0] for row in csv.reader(io.StringIO(told))][1:] == ["Mail", "no group", "Shop"]
    page = lookout.service.browser("vera").get("/monitors/report?days=30&by=group")
    assert "Uptime by status page group" in page.html.select_one("#report").text
    assert page.html.select_one("#r-by option[selected]")["value"] == "group"


def read_totals(root, node, span, numbers):
    return node.series.reading(root).totals(*span, numbers)


def test_one_reading_of_many_is_that_of_few(lookout):
    """Also where a month begins within a day of UTC."""
    a_month(lookout)
    node = lookout.service.node
    number = lookout.service.read(lambda root: next(iter(root["api"]["monitoring"]["endpoints"].values())).series)
    for zone in ("UTC", "America/New_York", "Asia/Tokyo"):
        start, end = (int(at * 1000) for at in month_span(month_of(lookout.service, 1), zone))
        few, many = (
            node.transact(read_totals, node, (start, end), numbers) for numbers in ([number], [number, *OTHERS])
        )
        assert few[number]._replace(p95=None) == many[number]._replace(p95=None), zone
