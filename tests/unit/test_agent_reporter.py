"""A report from any host fits the wire."""

import threading
import time
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from opsapp.agent import reporter as module
from opsapp.agent.capabilities import ToolManifest
from opsapp.agent.config import AgentConfig
from opsapp.agent.reporter import MOST, Reporter, bounded
from opsapp.agent.services import NoManager, UnitStates
from opsapp.agent.spool import Spool
from opsapp.wire.readings import of_report
from opsapp.wire.records import plain
from opsapp.wire.reports import HostReport
from tests.support import wire_messages
from tests.support.waiting import until

NAMES = st.text(st.characters(), max_size=300)


@given(st.dictionaries(NAMES, st.floats(0, 100), max_size=30), st.dictionaries(NAMES, st.just("active"), max_size=30))
def test_odd_names_are_left_out_or_made_readable(numbers, states):
    given = {"disks": numbers, "metrics": numbers, "services": states, "containers": states}
    report = bounded(HostReport("box-1", "Debian", **{field: dict(values) for field, values in given.items()}))
    assert wire_messages.encode("report", id="r1", report=plain(report))


def test_too_much_of_anything_is_cut_to_what_the_wire_takes():
    many = {f"{number:05}": 1.0 for number in range(5000)}
    values = {"services": "active", "starts": 1, "containers": "running", "network": {"rx_bytes": 1.0}}
    report = HostReport("box-1", "Debian", **{field: dict.fromkeys(many, values.get(field, 1.0)) for field in MOST})
    cut = bounded(report)
    assert {field: len(getattr(cut, field)) for field in MOST} == MOST
    assert min(cut.disks) == "00000"
    assert wire_messages.decode(wire_messages.encode("report", id="r1", report=plain(cut)), "agent")


class Units:
    """A service manager whose one unit a test starts and stops."""

    def __init__(self):
        self.running, self.broken, self.starts = True, None, {}

    def fingerprint(self):
        return (("nginx.service", 7),) if self.running else ()

    def look(self):
        if self.broken:
            raise self.broken
        return UnitStates({"nginx": "active" if self.running else "failed"}, self.starts, 300.0)


def test_how_many_units_failed_is_unknown_where_nobody_could_say(tmp_path):
    reporter = Reporter(
        AgentConfig("http://x", "a" * 16, "k", str(tmp_path)),
        Spool(str(tmp_path), 1 << 20),
        ToolManifest(),
        lambda: None,
    )
    units = reporter.services = Units()
    units.running = False
    assert reporter.measure("interval").metrics["failed_units"] == 1.0
    for why in (OSError("Failed to connect to bus"), NoManager("none here")):
        units.broken = why
        report = reporter.measure("interval")
        assert (report.failed_units, "failed_units" in report.metrics, report.services) == ((), False, {})


def test_units_that_ran_and_are_masked_now_are_named(tmp_path):
    config = AgentConfig("http://x", "a" * 16, "k", str(tmp_path))
    reporter = Reporter(config, Spool(str(tmp_path), 1 << 20), ToolManifest(), lambda: None)
    units = reporter.services = Units()
    assert "service.nginx.masked" not in reporter.measure("interval").metrics
    units.look = lambda: UnitStates({"nginx": "masked"}, {}, 300.0, frozenset({"nginx"}))
    assert of_report(reporter.measure("interval"))["service.nginx.masked"] == 1.0


def test_a_service_that_dies_right_after_it_was_measured_is_noticed(tmp_path):
    """It was down, is started and measured, and dies before the next look: it then looks as it did a look ago."""
    config = AgentConfig("http://x", "a" * 16, "k", str(tmp_path))
    reporter = Reporter(config, Spool(str(tmp_path), 1 << 20), ToolManifest(), lambda: None)
    units = reporter.services = Units()
    units.running = False
    reporter.notice()
    assert reporter.measure("interval").services == {"nginx": "failed"}
    assert not reporter.notice()
    units.running = True
    assert reporter.measure("measure").services == {"nginx": "active"}
    units.running = False
    assert reporter.notice()


def test_a_report_is_as_old_as_the_first_thing_that_it_saw(tmp_path, monkeypatch):
    """Measuring takes seconds on a busy host: what changes meanwhile is not in it."""
    clock = [1000.0]
    monkeypatch.setattr(module, "time", SimpleNamespace(time=lambda: clock[0], monotonic=time.monotonic))
    reporter = Reporter(AgentConfig("http://x", "a" * 16, "k", str(tmp_path)), Spool(str(tmp_path), 1 << 20),
                        ToolManifest(), lambda: None)  # fmt: skip
    units = reporter.services = Units()
    look = units.look
    units.look = lambda: (clock.__setitem__(0, 1005.0), look())[1]
    assert reporter.measure("measure").time == 1000.0


def test_after_the_host_was_changed_nothing_from_before_is_reported(tmp_path, monkeypatch):
    reporter = Reporter(AgentConfig("http://x", "a" * 16, "k", str(tmp_path), interval_s=60.0),
                        Spool(str(tmp_path), 1 << 20), ToolManifest(), lambda: None)  # fmt: skip
    reporter.services = Units()
    reporter.lookouts._found["dns"] = (0.0, {"dns_ok": 0.0})
    listed = []
    reporter._containers._look = lambda: listed.append(1)
    reporter._containers._due = float("inf")
    thread = threading.Thread(target=reporter.run, daemon=True)
    thread.start()
    until(lambda: reporter._latest, what="the first report")
    base = reporter.metrics.rates._taken
    assert listed == []
    reporter.acted()
    until(lambda: reporter.metrics.rates._taken is not base, what="rates that begin anew")
    assert reporter.lookouts.values() == {}
    reporter.measure("interval")
    assert listed
    reporter.stop()
    thread.join(60)


def test_a_service_manager_that_does_not_answer_is_told_and_the_rest_is_reported(tmp_path):
    config = AgentConfig("http://x", "a" * 16, "k", str(tmp_path))
    reporter = Reporter(config, Spool(str(tmp_path), 1 << 20), ToolManifest(), lambda: None)
    units = reporter.services = Units()
    assert reporter.measure("interval").metrics["service_manager.hung_s"] == 0.0
    units.broken = OSError("no answer")
    reporter.measure("interval")
    reporter._units._silent_since -= 90
    report = reporter.measure("interval")
    assert 90 <= report.metrics["service_manager.hung_s"] < 200
    assert (report.services, report.uptime_s > 0) == ({}, True)
    units.broken = NoManager("none here")
    assert "service_manager.hung_s" not in reporter.measure("interval").metrics


def test_a_crash_loop_is_one_change_not_one_at_each_start(tmp_path):
    told = []
    config = AgentConfig("http://x", "a" * 16, "k", str(tmp_path))
    reporter = Reporter(config, Spool(str(tmp_path), 1 << 20), ToolManifest(), lambda: told.append(1))
    units = reporter.services = Units()
    reporter.measure("interval")
    for count in (3, 4, 5, 6, 7, 8):
        units.starts = {"nginx": count}
        units.running = not units.running
        reporter._looks = 1
        reporter._look_for_change()
    assert len(told) == 3
