"""The database of an Uptime Kuma that has run for years: what is read of it, and what becomes of a broken one."""

import sqlite3
from pathlib import Path

import pytest

from opsapp.importers import kuma, kumafile
from tests.support import kumadatabase

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
