"""What an agent is and shows, on plain values."""

import pytest

from opsapp.agents import logic


@pytest.mark.parametrize(
    ("seen", "connected", "status"),
    [(None, False, "pending"), (None, True, "online"), (1000.0, False, "online"), (0.0, False, "dead")],
)
def test_what_it_is_follows_from_when_it_was_heard(seen, connected, status):
    assert logic.status_of(seen, connected, 1000.0 if seen is None or seen else 10**6, 15.0) == status


def test_the_live_values_of_another_node_make_the_same_snapshot():
    values = {
        "cpu_percent": (12.5, 1.0),
        "disk./.percent": (50.0, 1.0),
        "service.nginx.state": ("failed", 1.0),
        "container.web.state": ("running", 1.0),
        "dns_ok": (1, 1.0),
    }
    shown = logic.snapshot_of_values(values)
    assert shown["cpu_percent"] == 12.5
    assert shown["disks"] == {"/": 50.0}
    assert (shown["services"], shown["containers"]) == ({"nginx": "failed"}, {"web": "running"})
    assert shown["metrics"] == {"dns_ok": 1}
