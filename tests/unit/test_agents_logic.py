"""What an agent is from when it was heard, and what is shown of it from the live view alone."""

import pytest

from opsapp.agents import logic

REPORT = {
    "cpu_percent": 3.5, "disks": {"/": 40.0}, "services": {"nginx": "active"}, "containers": {"web": "running"},
    "metrics": {"queue.length": 7}, "failed_units": ["a.service"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("last_seen", "connected", "status"),
    [
        (None, False, "pending"),
        (None, True, "online"),
        (1000.0 - 10 * logic.DEAD_INTERVALS - 1, True, "online"),
        (1000.0 - 10 * logic.ONLINE_INTERVALS, False, "online"),
        (1000.0 - 10 * logic.ONLINE_INTERVALS - 1, False, "offline"),
        (1000.0 - 10 * logic.DEAD_INTERVALS - 1, False, "dead"),
    ],
)
def test_from_when_it_was_heard(last_seen, connected, status):
    assert logic.status_of(last_seen, connected, 1000.0, 10.0) == status


def test_the_live_view_shows_the_same_as_the_report():
    shown = logic.snapshot(REPORT)
    values = {name: (value, 1000.0) for name, value in logic.live_values(REPORT).items()}
    assert logic.snapshot_of_values(values) == shown | {"failed_units": []}  # no value tells their names
    assert "mem_percent" not in shown  # unknown, not 0
