"""`opsapp import --from kuma` over a broad database: how many of its entries are taken, what each becomes, that nothing
is written over and that nothing comes onto the status page by it which the page there does not show."""

import re
import sqlite3

import pytest
import yaml

from opsapp.importers import kuma
from opsapp.runtime import deletions
from tests.support import kumadatabase
from tests.support.app import Service
from tests.support.imported import taken_of

ENTRIES = 50  # monitors and groups, notifications, windows, status pages, the proxy


@pytest.fixture
def database(tmp_path):
    return kumadatabase.make(tmp_path / "kuma.db")


@pytest.fixture
def imported(opsapp, place, database):
    def take(path=database, more=()):
        code, out, err = opsapp("import", "--from", "kuma", path, *place, *more)
        assert (code, err) == (0, "")
        return out.splitlines()

    return take


def reports(lines, start):
    """Of the report: what is said of an entry, by kind and name."""
    told = (re.match(rf"{start}: (.+?) '(.+?)'(?:: (.*))?$", line) for line in lines)
    return {(match[1], match[2]): match[3] or "" for match in told if match}


def changed(database, statement, *values):
    with sqlite3.connect(database) as connection:
        connection.execute(statement, values)
    connection.close()


def test_46_of_50_entries_are_taken_and_the_reasons_of_the_others_are_told(imported):
    lines = imported()
    taken, left = reports(lines, "taken"), reports(lines, "NOT TAKEN")
    history = {entry for entry in taken if entry[0] == "history"}
    assert len(history) == 10
    assert left.pop(("Docker host", "local")), "it is named, though it is no entry of its own"
    assert left.keys() == {
        ("monitor", "Container"), ("monitor", "Through the proxy"), ("monitor", "Access"),
        ("proxy", "proxy.example.org"),
    }  # fmt: skip
    assert all(left.values())
    assert (len(taken.keys() - history), len(taken.keys() - history) + len(left)) == (46, ENTRIES)
    assert kumadatabase.SECRET not in "\n".join(lines)


SNMP_ROW = (
    "INSERT INTO monitor (name, type, hostname, port, snmp_oid, snmp_version, radius_password, json_path,"
    " json_path_operator, expected_value)"
    " VALUES (?, 'snmp', '192.0.2.7', 161, '1.3.6.1.2.1.2.1.0', ?, ?, ?, '>=', '24')"
)


def test_a_value_by_snmp_is_taken(imported, opsapp, place, database):
    changed(database, SNMP_ROW, "Switch", "2c", kumadatabase.SECRET, "$")
    changed(database, SNMP_ROW, "Old switch", "1", kumadatabase.SECRET, "$")
    changed(database, SNMP_ROW, "New switch", "3", kumadatabase.SECRET, "$")
    changed(database, SNMP_ROW, "Looked into", "2c", kumadatabase.SECRET, "$.a")
    lines = imported()
    left = reports(lines, "NOT TAKEN")
    assert left["monitor", "Old switch"] == "it asks by SNMP version 1: there are 2c and 3"
    assert "by hand" in left["monitor", "New switch"]
    assert "looks into the value" in left["monitor", "Looked into"]
    exported = yaml.safe_load(opsapp("export", *place)[1])["monitors"]
    (switch,) = [monitor for monitor in exported if monitor["name"] == "Switch"]
    assert (switch["type"], switch["url"], switch["snmp_community"]) == ("snmp", "snmp://192.0.2.7:161", "***")
    assert (switch["snmp_oid"], switch["comparison"], switch["expected_value"]) == ("1.3.6.1.2.1.2.1.0", ">=", 24)
    assert kumadatabase.SECRET not in "\n".join(lines)


def test_a_second_import_changes_nothing(imported, opsapp, place):
    imported()
    before = opsapp("export", *place)[1]
    lines = imported()
    assert lines[-1] == "created 0, changed 0, deleted 0, 54 as they were"
    assert opsapp("export", *place)[1] == before


def test_what_was_changed_here_since_is_not_written_over(imported, opsapp, place, tmp_path):
    imported()
    document = yaml.safe_load(opsapp("export", *place)[1])
    shop = next(monitor for monitor in document["monitors"] if monitor["name"] == "Shop")
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"monitors": [shop | {"interval": 90}]}))
    assert opsapp("apply", tmp_path / "own.yaml", *place)[::2] == (0, "")
    before = opsapp("export", *place)[1]
    left = reports(imported(), "NOT TAKEN")
    assert "interval" in left["monitor", "Shop"]
    assert "scope" in left["window", "Every night"]
    assert "groups" in left["status page", "Example"]
    assert left["history", "Shop"] == "its monitor is not taken"
    assert opsapp("export", *place)[1] == before


def test_nothing_of_another_monitor_with_the_name_is_touched(imported, opsapp, place, tmp_path):
    """Neither is it covered by a window, nor shown on the page."""
    own = {"monitors": [{"name": "Database port", "type": "tcp", "url": "tcp://other.example.org:1"},
                        {"name": "Words", "type": "tcp", "url": "tcp://other.example.org:2"}]}  # fmt: skip
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(own))
    opsapp("apply", tmp_path / "own.yaml", *place)
    left = reports(imported(), "NOT TAKEN")
    assert left["window", "Patches"] == "none of the monitors that it covers is taken"
    exported = yaml.safe_load(opsapp("export", *place)[1])
    by_name = {monitor["name"]: monitor for monitor in exported["monitors"]}
    assert (by_name["Words"]["url"], by_name["Words"]["tags"]) == ("tcp://other.example.org:2", [])
    (page,) = exported["status_page"]
    assert [group["monitors"] for group in page["groups"]] == [["Shop", "Login"], []]
    assert exported["status_pages"][0]["groups"][0]["monitors"] == ["Router"]
    assert not {"Words", "Database port"} & {entry["monitor"] for entry in exported["earlier_days"]}


def test_no_monitor_is_published_on_a_page_that_is_here_already(imported, opsapp, place, tmp_path):
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({"status_page": [{"page": "public", "name": "Ours"}]}))
    assert opsapp("apply", tmp_path / "own.yaml", *place)[0] == 0
    assert ("status page", "Example") in reports(imported(), "NOT TAKEN")
    exported = yaml.safe_load(opsapp("export", *place)[1])
    assert not [monitor for monitor in exported["monitors"] if "public" in monitor["tags"]]
    assert exported["status_page"][0]["name"] == "Ours"


def test_the_days_before_are_on_the_status_page(imported, tmp_path):
    imported()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        service = Service(tmp_path / "data", **{"opsapp.data": str(tmp_path / "data")})
    status = service.anonymous.get("/api/monitoring/status-page").json
    shop = next(monitor for monitor in status["monitors"] if monitor["name"] == "Shop")
    days = {day["date"]: day["uptime"] for day in shop["days"]}
    assert (days["2055-01-14"], days["2055-01-10"], days["2054-10-30"]) == (100.0, 99.305, None)
    assert len([uptime for uptime in days.values() if uptime is not None]) == kumadatabase.DAYS
    assert shop["uptime_90d"] == 99.988
    monitor_id = shop["id"]
    service.ada.delete(f"/api/monitoring/endpoints/{monitor_id}")
    service.clock.advance(deletions.KEPT_S)
    assert deletions.step(service.node)
    assert monitor_id not in service.read(lambda root: list(root["api"]["monitoring"]["earlier"]))
    service.close()


# ---- each kind


def read(database, zone="UTC"):
    return kuma.read(str(database), zone)


def by_name(entries, name):
    (entry,) = [entry for entry in entries if entry["name"] == name]
    return entry


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("Bus", "tcp://bus.example.org:1883"), ("MySQL", "tcp://my.example.org:3307"),
        ("PostgreSQL", "tcp://pg.example.org:5432"), ("SQL Server", "tcp://ms.example.org:1444"),
        ("MongoDB", "tcp://m1.example.org:27018"), ("Redis", "tcp://cache.example.org:6379"),
        ("gRPC", "tcp://grpc.example.org:50051"), ("Kafka", "tcp://k1.example.org:9093"),
        ("Mail", "tcp://mail.example.org:587"),
    ],
)  # fmt: skip
def test_of_what_speaks_its_own_language_the_port_is_watched_and_the_report_says_so(database, name, url):
    estate = read(database)
    assert by_name(taken_of(estate), name)["url"] == url
    (line,) = [line for line in estate.lines if line.name == name]
    assert "only whether its port opens is looked at" in line.notes[0]


@pytest.mark.parametrize(
    ("name", "start", "end", "recurring", "scope"),
    [
        ("Move of the server", "2055-02-01T21:00:00", "2055-02-02T01:00:00", None, ["Shop", "Login"]),
        ("Every night", "2026-12-01T02:00:00", "2026-12-01T02:30:00", "0 2 * * *", ["Shop", "Login"]),
        ("Patches", "2026-12-02T23:30:00", "2026-12-03T01:00:00", "30 23 * * 1,3", ["Database port"]),
        ("Invoices", "2024-01-01T06:00:00", "2024-01-01T08:00:00", "0 6 1,l * *", ["Ready"]),
        ("By cron", "2024-01-07T03:30:00", "2024-01-07T05:00:00", "30 3 * * 0", ["MySQL", "PostgreSQL"]),
    ],
)
def test_each_strategy_of_maintenance_is_a_window(database, name, start, end, recurring, scope):
    window = by_name(taken_of(read(database), "windows"), name)
    assert (window["start"], window["end"], window.get("recurring"), window["scope"]) == (start, end, recurring, scope)
    assert window["enabled"] is (name != "By cron")


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("strategy", "manual", "switched on by hand"),
        ("interval_day", 3, "every 3 days"),
        ("timezone", "Asia/Tokyo", "by the clock of Asia/Tokyo"),
        ("timezone", "Mars/Olympus", "not known here"),
        ("end_date", "2055-03-01 00:00:00", "until 2055-03-01"),
        ("strategy", "moon", "strategy moon is not known"),
        ("start_time", None, "cannot be understood"),
    ],
)
def test_a_window_that_would_be_on_at_other_times_is_left(database, column, value, why):
    changed(database, f'UPDATE maintenance SET "{column}" = ? WHERE title = ?', value, "Every night")
    estate = read(database)
    (line,) = [line for line in estate.lines if line.name == "Every night"]
    assert not line.taken
    assert why in line.notes[0]


def test_a_window_that_covers_nothing_taken_is_not_one_that_covers_everything(database):
    changed(database, "DELETE FROM monitor_maintenance")
    assert taken_of(read(database), "windows") == []


def test_a_weekly_window_keeps_its_day(database):
    changed(database, "UPDATE maintenance SET interval_day = 7 WHERE title = ?", "Every night")
    window = by_name(taken_of(read(database), "windows"), "Every night")
    assert (window["start"], window["recurring"]) == ("2026-12-01T02:00:00", "0 2 * * 2")  # a Tuesday


def test_windows_of_the_same_clock_are_taken_and_a_single_one_of_another_is_moved(tmp_path):
    path = kumadatabase.make(tmp_path / "berlin.db", zone="Europe/Berlin")
    windows = taken_of(read(path, "Europe/Vienna"), "windows")
    assert by_name(windows, "Every night")["start"] == "2026-12-01T02:00:00"
    assert by_name(windows, "Move of the server")["start"] == "2055-02-01T22:00:00"
    assert "Patches" not in {window["name"] for window in windows}


def test_only_what_the_taken_page_shows_is_public(database):
    estate = read(database)
    assert {monitor["name"] for monitor in taken_of(estate) if "public" in monitor["tags"]} == {
        "Shop",
        "Login",
        "Words",
    }
    (page,) = taken_of(estate, "status_page")
    assert (page["name"], page["public_url"], page["footer"]) == ("Example", "https://status.example.org", "Call 110")
    assert page["groups"] == [
        {"name": "Customers", "collapsed": False, "monitors": ["Shop", "Login"]},
        {"name": "Rest", "collapsed": False, "monitors": ["Words"]},
    ]  # fmt: skip


def test_further_pages_are_pages_of_their_own_and_publish_nothing(imported, opsapp, place):
    imported()
    exported = yaml.safe_load(opsapp("export", *place)[1])
    (page,) = exported["status_pages"]
    assert (page["slug"], page["name"]) == ("inside", "For us")
    assert page["groups"] == [{"name": "All", "collapsed": False, "monitors": ["Database port", "Router"]}]


def test_a_page_that_is_not_published_publishes_nothing(database):
    changed(database, "UPDATE status_page SET published = 0")
    estate = read(database)
    assert taken_of(estate, "status_page") == taken_of(estate, "status_pages") == []
    assert not [monitor for monitor in taken_of(estate) if "public" in monitor["tags"]]


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("Matrix", "matrixs://syt_token@matrix.example.org/%21abc%3Aexample.org"),
        ("Mattermost", "mmosts://chat.example.org/" + "m" * 24),
        ("ntfy", "ntfys://ntfy.example.org/ops"),
        ("Apprise", "mailto://user:pass@example.org"),
    ],
)
def test_notifications_are_channels(database, name, url):
    assert by_name(taken_of(read(database), "channels"), name)["url"] == url


# ---- days before, as code

TWO_DAYS = ["2055-01-13 86100 300", "2055-01-14 86400 0"]


def applied(service, *days, status=200, prune=False):
    document = {"earlier_days": [{"monitor": "Shop", "days": list(of)} for of in days]}
    return service.ada.post_json("/api/apply", {"document": document, "prune": prune}, status=status).json


def test_days_before_are_written_exported_replaced_and_pruned_as_code(service):
    service.ada.post_json("/api/monitoring/endpoints", {"name": "Shop", "type": "push"})
    (change,) = applied(service, TWO_DAYS)["changes"]
    assert change["after"]["days"] == "2, 2055-01-13 to 2055-01-14: 172500 s up, 300 s down"
    assert applied(service, TWO_DAYS)["unchanged"] == 1
    exported = service.ada.get("/api/export").json["earlier_days"]
    assert exported == [{"monitor": "Shop", "days": TWO_DAYS}]
    assert applied(service, TWO_DAYS[:1])["changes"][0]["change"] == "update"
    applied(service, prune=True)
    assert service.ada.get("/api/export").json["earlier_days"] == []


@pytest.mark.parametrize(
    ("days", "why"),
    [
        (["2055-02-30 1 1"], "no date that exists"),
        (["2055-01-14 86400 1"], "more seconds than a day"),
        (["2055-01-14 0 0"], "or none"),
        (TWO_DAYS[::-1], "in order"),
        ([TWO_DAYS[0]] * 2, "each day once"),
        (["yesterday 1 1"], "must have 14 to 22 characters"),
    ],
)
def test_days_that_cannot_be_are_refused(service, days, why):
    service.ada.post_json("/api/monitoring/endpoints", {"name": "Shop", "type": "push"})
    assert why in str(applied(service, days, status=422)["fields"])


def test_days_of_a_monitor_that_is_not_alone_with_its_name_are_refused(service):
    for _ in range(2):
        service.ada.post_json("/api/monitoring/endpoints", {"name": "Shop", "type": "push"})
    assert "no monitor, or several" in str(applied(service, TWO_DAYS, status=422)["fields"])
