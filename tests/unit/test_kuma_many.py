"""The database of an Uptime Kuma that has run for years: what is read of it, and what becomes of a broken one."""

import sqlite3
from pathlib import Path

import pytest

from opsapp.importers import kuma, kumafile
from opsapp.importers.estate import Estate, MonitorEntry, PresentEntry
from tests.support import kumadatabase
from tests.support.counting import CountedCalls

DAY = 86_400


@pytest.fixture
def database(tmp_path):
    path = kumadatabase.make(tmp_path / "kuma.db")
    with sqlite3.connect(path) as file:
        file.execute("DELETE FROM stat_daily")
        for monitor_id in (1, 2):
            days = [(monitor_id, kumadatabase.FIRST_DAY - DAY * ago, 10.0, 1440, ago) for ago in range(1, 800)]
            file.executemany(
                "INSERT INTO stat_daily(monitor_id, timestamp, ping, up, down) VALUES (?, ?, ?, ?, ?)", days
            )
    return path


def test_of_years_only_the_last_days_are_read(database):
    days = kumafile.read_file(str(database)).days
    assert len(days) == 2 * kumafile.MOST_DAYS
    for monitor_id in (1, 2):
        own = [row for row in days if row.monitor_id == monitor_id]
        assert [row.down for row in own] == list(range(kumafile.MOST_DAYS, 0, -1)), "the newest, the oldest first"


def test_a_database_is_not_read_into_memory_whole(database, monkeypatch):
    """Its single checks are most of it, and none is taken."""

    def read_bytes(path):
        pytest.fail(f"{path} was read whole")

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    assert kumafile.read_file(str(database)).monitors


def test_the_ties_of_each_monitor_are_its_own(database):
    """They were looked for once for each monitor; now they are sorted by it."""
    with sqlite3.connect(database) as file:
        tags = dict(file.execute("SELECT id, name FROM tag"))
        tied = list(file.execute("SELECT monitor_id, tag_id FROM monitor_tag ORDER BY id"))
        told = list(file.execute("SELECT monitor_id, notification_id FROM monitor_notification ORDER BY id"))
    assert tied
    assert told
    for monitor in kumafile.read_file(str(database)).monitors:
        own = [tags[tag_id] for monitor_id, tag_id in tied if monitor_id == monitor.id and tag_id in tags]
        assert [tag.name for tag in monitor.tags] == own
        channels = {str(channel) for monitor_id, channel in told if monitor_id == monitor.id}
        assert set(monitor.notification_idlist) == channels


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_a_database_that_was_cut_is_refused_or_read_and_never_a_crash(database, kept):
    content = Path(database).read_bytes()
    Path(database).write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(ValueError, match="no database of Uptime Kuma"):
        kuma.read(str(database))


# -- numbers that are none


def changed(database, statement, *values):
    with sqlite3.connect(database) as file:
        file.execute(statement, values)


@pytest.mark.parametrize("column", ["interval", "maxretries", "timeout", "retry_interval", "maxredirects", "parent"])
@pytest.mark.parametrize("value", ["often", 9e999, "nan"])
def test_a_monitor_with_a_number_that_is_none_is_taken_with_the_default(database, column, value):
    changed(database, f"UPDATE monitor SET {column} = ? WHERE name = 'Shop'", value)
    line = shop(database)
    changed(database, f"UPDATE monitor SET {column} = ? WHERE name = 'Shop'", DEFAULTS[column])
    assert line.entry == shop(database).entry, "as if nothing was said"
    assert f"{column} '{value}' is no number: taken as if nothing was said" in line.notes


DEFAULTS = {"interval": 60, "maxretries": 0, "timeout": 0, "retry_interval": 0, "maxredirects": 10, "parent": None}


def shop(database):
    (line,) = [line for line in kuma.read(str(database)).lines if (line.kind, line.name) == ("monitor", "Shop")]
    return line


def test_a_port_that_is_no_number_leaves_only_its_own_monitor(database):
    changed(database, "UPDATE monitor SET port = 'ssh' WHERE type = 'port'")
    left = {line.name: line.notes for line in kuma.read(str(database)).lines if not line.taken}
    with sqlite3.connect(database) as file:
        ports = [name for (name,) in file.execute("SELECT name FROM monitor WHERE type = 'port'")]
    assert ports
    assert all(left[name] == ("it has no port",) for name in ports)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("stat_daily", "up"),
        ("stat_daily", "timestamp"),
        ("monitor_tag", "tag_id"),
        ("monitor_notification", "monitor_id"),
        ("monitor_maintenance", "maintenance_id"),
        ("monitor_group", "monitor_id"),
        ("status_page_cname", "status_page_id"),
    ],
)
def test_a_row_that_is_no_number_is_left_and_said_and_the_others_are_taken(database, table, column):
    before = kuma.read(str(database))
    changed(database, f"UPDATE {table} SET {column} = 'none' WHERE id = (SELECT min(id) FROM {table})")
    after = kuma.read(str(database))
    assert [line.name for line in after.lines if line.kind == "rows"] == [f"1 of {table}"]
    assert {line.name for line in after.lines if line.taken} == {line.name for line in before.lines if line.taken}


def test_an_odd_place_keeps_its_row(database):
    before = kumafile.read_file(str(database))
    changed(database, "UPDATE monitor_group SET weight = 'first' WHERE id = 1")
    assert len(kumafile.read_file(str(database)).group_ties) == len(before.group_ties)


@pytest.mark.parametrize(("column", "value"), [("up", -5), ("timestamp", -1), ("timestamp", 10**15)])
def test_a_day_that_cannot_have_been_is_no_day(database, column, value):
    changed(database, "UPDATE stat_daily SET monitor_id = 3 WHERE monitor_id = 1 AND down <= 10")
    before = days_of(database)
    changed(database, f"UPDATE stat_daily SET {column} = ? WHERE monitor_id = 3 AND down = 5", value)
    assert (before, days_of(database)) == (10, 9)


def days_of(database):
    return sum(len(line.entry.days) for line in kuma.read(str(database)).lines if line.kind == "history")


@pytest.mark.parametrize("url", ["no address", "ftp://shop.example.org/", "https://", ""])
def test_a_monitor_whose_address_is_none_is_not_taken_and_the_report_says_why(database, url):
    """The reader took it, and only the service refused it."""
    changed(database, "UPDATE monitor SET url = ? WHERE name = 'Shop'", url)
    line = shop(database)
    assert not line.taken
    assert line.notes[0].startswith("url ")


# -- how much work thousands are: as much for each as for a few


def work(count, of):
    """Calls for so many monitors."""
    estate = Estate()
    for number in range(count):
        estate.take(MonitorEntry(name=f"m{number % 7}", type="http", url="https://shop.example.org/"), [])
    names = [line.entry.name for line in estate.lines]
    assert len(set(names)) == count
    with CountedCalls() as counted:
        OF[of](estate, names)
    assert not any(line.taken for line in estate.lines[:count])
    return counted.calls


OF = {
    "present": lambda estate, names: estate.leave_present(PresentEntry("monitors", name, ("url",)) for name in names),
    "refused": lambda estate, names: estate.drop({f"document.monitors.{n}.url": "is wrong" for n in range(len(names))}),
}


@pytest.mark.parametrize("of", OF)
def test_what_is_left_of_thousands_is_looked_for_once(of):
    assert work(5000, of) < 12 * work(500, of)


def test_a_name_that_thousands_have_is_numbered_without_looking_at_them():
    def calls(count):
        estate = Estate()
        with CountedCalls() as counted:
            for _ in range(count):
                estate.take(MonitorEntry(name="shop", type="http", url="https://shop.example.org/"), [])
        assert estate.lines[-1].entry.name == f"shop ({count})"
        return counted.calls

    assert calls(5000) < 12 * calls(500)


def test_two_refusals_of_one_entry_are_both_said():
    estate = Estate()
    estate.take(MonitorEntry(name="shop", type="http", url="https://shop.example.org/"), [])
    assert estate.drop({"monitors.0.url": "is wrong", "monitors.0.name": "is too long"})
    assert estate.lines[0].notes == ("url is wrong", "name is too long")
