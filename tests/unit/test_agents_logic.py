"""What an agent is and shows, on plain values."""

from dataclasses import replace

import pytest

from opsapp.agents import logic
from opsapp.wire.readings import of_report
from opsapp.wire.reports import Measurement


@pytest.mark.parametrize(
    ("seen", "connected", "status"),
    [(None, False, "pending"), (None, True, "online"), (1000.0, False, "online"), (0.0, False, "dead")],
)
def test_what_it_is_follows_from_when_it_was_heard(seen, connected, status):
    assert logic.status_of(seen, connected, 1000.0 if seen is None or seen else 10**6, 15.0) == status


def test_one_that_fell_silent_in_a_session_is_offline_until_it_is_heard_again():
    assert logic.status_of(999.0, False, 1000.0, 15.0, 999.5) == "offline"
    assert logic.status_of(999.0, True, 1000.0, 15.0, 999.5) == "online"
    assert logic.status_of(999.6, False, 1000.0, 15.0, 999.5) == "online"
    assert logic.status_of(0.0, False, 1000.0, 15.0, 1.0) == "dead"


def test_the_live_values_of_another_node_make_the_same_snapshot():
    values = {
        "cpu_percent": (12.5, 1.0),
        "disk./.percent": (50.0, 1.0),
        "service.nginx.state": ("failed", 1.0),
        "container.web.state": ("running", 1.0),
        "dns_ok": (1, 1.0),
    }
    shown = logic.metrics_of_values(values)
    assert shown.cpu_percent == 12.5
    assert shown.disks == {"/": 50.0}
    assert (shown.services, shown.containers) == ({"nginx": "failed"}, {"web": "running"})
    assert shown.metrics == {"dns_ok": 1}


def test_starts_are_live_values_only_while_somebody_counts_them():
    report = Measurement(services={"web": "active", "db": "active"}, starts={"web": 7})
    assert "service.web.starts" not in of_report(report)
    live = of_report(replace(report, starts_counted_s=300.0))
    assert (live["service.web.starts"], live["starts_counted_s"], "service.db.starts" in live) == (7, 300.0, False)


def test_the_starts_of_an_earlier_report_are_not_shown():
    values = {"starts_counted_s": (300.0, 9.0), "service.web.starts": (7, 9.0), "service.db.starts": (6, 1.0)}
    shown = logic.metrics_of_values(values)
    assert (shown.starts, shown.metrics) == ({"web": 7}, {})


def test_silences_are_remembered_once_each_and_not_for_ever():
    known = logic.with_silence((), 10.0, 20.0)
    assert logic.with_silence(known, 10.0, 25.0) == ((10.0, 25.0),), "noticed twice"
    for at in range(100, 100 + logic.KEPT_SILENCES):
        known = logic.with_silence(known, float(at), at + 0.5)
    assert len(known) == logic.KEPT_SILENCES
    assert known[0][0] == 100.0


def test_a_hosts_clock_is_known_by_the_message_that_took_the_least_time():
    assert logic.skew_of([]) is None
    assert logic.skew_of([-3.0, -0.1, -12.0]) == -0.1
    assert logic.skew_of([86399.0, 86390.0]) == 86399.0


def test_times_of_hosts_are_told_by_our_clock():
    assert logic.by_our_clock(500.0, None, 1000.0) == 500.0
    assert logic.by_our_clock(500.0, -86400.0, 100000.0) == 86900.0
    assert logic.by_our_clock(86900.0, 86400.0, 1000.0) == 500.0
    assert logic.by_our_clock(5000.0, 0.0, 1000.0) == 1000.0
    assert logic.by_our_clock(5.0, 10.0, 1000.0) == 0.0


@pytest.mark.parametrize(
    ("unit", "patterns", "private"),
    [
        (None, ("a",), True),
        (None, (), False),
        ("ssh", ("ssh*",), True),
        ("sudo.service", ("sudo",), True),
        ("sudo", ("sudo.service",), True),
        ("nginx", ("ssh*", "!*.service"), False),
        ("php8.2-fpm", ("!*.service",), False),
        ("a.timer", ("!*.service",), True),
        ("a.timer", ("a",), False),
    ],
)
def test_which_logs_are_private(unit, patterns, private):
    assert logic.is_private_log(unit, patterns) is private


@pytest.mark.parametrize(("version", "outdated"), [("", False), ("0.1.0", False), ("0.0.9", True)])
def test_another_version_than_the_servers_is_outdated(version, outdated):
    assert logic.is_outdated(version, "0.1.0") is outdated


def test_network_rates_become_history():
    kept = logic.kept_of(Measurement(cpu_percent=3, metrics={"rx_bytes_s": 10, "queue": 1}))
    assert kept == ({"cpu_percent": 3.0, "rx_bytes_s": 10.0}, 0)


def test_what_is_named_becomes_history_up_to_a_number_of_metrics():
    report = Measurement(cpu_percent=3, metrics={"queue.b": 2, "queue.a": 1, "other": 5}, services={"queue": "active"})
    assert logic.kept_of(report, ("queue.*", "cpu_*", "service.*")) == (
        {"cpu_percent": 3, "queue.a": 1, "queue.b": 2},
        0,
    )
    many = {f"m{number:03}": number for number in range(logic.MOST_NAMED + 2)}
    kept = logic.kept_of(Measurement(metrics=many), ("m*",))
    assert (sorted(kept.values), kept.left_out) == (sorted(many)[: logic.MOST_NAMED], 2)


def test_tools_are_usable_once_they_were_tried():
    assert logic.usable_tools(None) is None
    assert logic.usable_tools({}) == frozenset()
    tools = {"systemctl": {"usable": True}, "podman": {"usable": False}, "nft": "odd"}
    assert logic.usable_tools({"capabilities": tools}) == {"systemctl"}


@pytest.mark.parametrize(
    ("seen", "connected", "stopped_at", "is_stopped"),
    [
        (999.0, False, 999.5, True),
        (999.6, False, 999.5, False),
        (999.0, True, 999.5, False),
        (999.0, False, None, False),
        (None, False, 999.5, True),
    ],
)
def test_its_last_word_was_that_it_was_stopped(seen, connected, stopped_at, is_stopped):
    assert logic.is_stopped(seen, connected, stopped_at) is is_stopped
