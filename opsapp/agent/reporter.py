"""One thread that measures at the interval, and at once when a service or container changes.

Must not: send. It puts reports into the spool and calls `tell`.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from dataclasses import replace
from typing import Any, Callable, Dict, Mapping, Optional, Tuple

from opsapp.wire.kinds import MapOf
from opsapp.wire.readings import LOOP_STARTS, MASKED, key_of
from opsapp.wire.records import parts_of
from opsapp.wire.reports import NAMES, HostReport, Measurement, Reason
from opsapp.wire.version import VERSION

from .capabilities import ToolManifest
from .config import AgentConfig
from .containers import Containers
from .lookouts import Lookouts
from .metrics import Metrics, machine_id
from .questions import RepeatedQuestion
from .rates import SPAN_S
from .services import NoManager, Services, UnitStates
from .spool import Spool

log = logging.getLogger("reporter")
STREAM_S = 5.0
LOOKS = 2  # after processes changed: their end is seen a little before systemd has noted it
PATIENCE = 30  # further looks, one a check, while a unit is between two states
MOST = {part.name: part.kind.high for part in parts_of(Measurement) if isinstance(part.kind, MapOf)}
BETWEEN = {"activating", "deactivating", "reloading"}


class Reporter:
    def __init__(self, config: AgentConfig, spool: Spool, capabilities: ToolManifest, tell: Callable[[], None]):
        self.lookouts = Lookouts(config)
        self.interval = config.interval_s
        self.machine_id = machine_id() or socket.gethostname()  # the same in every message
        self.ip: Optional[str] = None
        self.metrics = Metrics()
        self.services = Services(config.state_dir, self.metrics.boot_id)
        self._config = config
        self._units: RepeatedQuestion[UnitStates] = RepeatedQuestion(self._ask_manager)
        self._containers = Containers(config)
        self._capabilities = capabilities
        self._spool = spool
        self._tell = tell
        self._streams = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._soon = threading.Event()
        self._acted = threading.Event()
        self._latest: Optional[Tuple[float, HostReport]] = None
        self._plain: Tuple = ()
        self._capabilities_sent = 0
        self._looks = self._patience = 0
        self._services_known = self._manager = False
        self._seen: Tuple = ()

    def run(self) -> None:
        due = time.monotonic()
        self._seen = self.services.fingerprint()
        reason: Reason = "start"
        while not self._stop.is_set():
            now = time.monotonic()
            due = min(due, now + self._every())
            with self._lock:
                self.metrics.rates.look()
                if self._acted.is_set():
                    self._acted.clear()
                    self.metrics.rates.begin_anew()
            self.notice()
            if now >= due:
                self._spool.put(self.measure(reason))
                self._tell()
                # Rates are not known at the start, and nobody should wait an interval for them.
                due = now + min(2 * SPAN_S, self._every()) if reason == "start" else max(now, due + self._every())
                reason = "stream" if self._streams else "interval"
            elif self._looks:
                self._look_for_change()
            self._rest(due)

    def notice(self) -> bool:
        """Whether processes of a unit or container began or ended since their states were last looked at."""
        fresh = self.services.fingerprint()
        if fresh == self._seen:
            return False
        self._seen = fresh
        self._containers.stale()
        self._looks, self._patience = LOOKS, PATIENCE
        return True

    def measure(self, reason: Reason) -> HostReport:
        """Its time is that at which it began: nothing in it was seen earlier but what is kept between reports, and that
        is forgotten when the host is changed."""
        began = time.time()
        if reason == "measure":
            self._containers.stale()
            self.lookouts.look_now()
        with self._lock:
            sample = self.metrics.sample(fresh=reason == "measure")
            units, containers = self._look()
        metrics, failed = {**sample.metrics, **self.lookouts.values()}, units.failed
        if self._services_known:
            metrics["failed_units"] = float(len(failed))
            metrics.update({key_of("service", name, MASKED): 1.0 for name in units.forbidden})
        if self._manager:
            metrics["service_manager.hung_s"] = round(self._units.silent_s(), 1)
        report = bounded(
            replace(
                sample,
                version=VERSION,
                ip=self.ip or None,
                machine_id=self.machine_id,
                metrics=metrics,
                services=units.states,
                starts=units.starts,
                starts_counted_s=units.counted_s,
                failed_units=failed[:1000],
                containers=containers,
                time=began,
                reason=reason,
                capabilities=self._new_manifest(),
            )
        )
        self._latest = (time.monotonic(), report)
        return report

    def recent(self, seconds: float) -> HostReport:
        """A report that is not older than that."""
        if self._latest is None or time.monotonic() - self._latest[0] > seconds:
            return self.measure("interval")
        return self._latest[1]

    def stream(self, opened: bool) -> None:
        """Note that a stream is open or closed; while one is open, reports come every 5 s."""
        with self._lock:
            self._streams += 1 if opened else -1
        self._soon.set()

    def set_interval(self, seconds: float) -> None:
        if seconds != self.interval:
            self.interval = seconds
            self._soon.set()

    def not_taken(self, report: HostReport) -> None:
        """Note that a report was not taken: what it carried only once must be sent again."""
        if report.capabilities:
            self._capabilities_sent = 0

    def acted(self) -> None:
        """Forget what is kept between reports, because the host was changed."""
        self._containers.stale()
        self.lookouts.acted()
        self._acted.set()
        self._soon.set()

    def stop(self) -> None:
        self._stop.set()
        self._soon.set()

    # ---- inside
    def _every(self) -> float:
        return min(self.interval, STREAM_S) if self._streams else self.interval

    def _rest(self, due: float) -> None:
        seconds = min(self._config.service_check_s, max(0.0, due - time.monotonic()))
        self._soon.wait(seconds)
        self._soon.clear()

    def _look_for_change(self) -> None:
        """Report if a state differs, and look on while one is in between."""
        self._looks -= 1
        with self._lock:
            before = self._plain
            units, _ = self._look()
            changed = self._plain != before
        if changed:
            self._spool.put(self.measure("change"))
            self._tell()
        if self._patience and BETWEEN & set(units.states.values()):
            self._patience -= 1
            self._looks = max(self._looks, 1)

    def _ask_manager(self) -> UnitStates:
        return self.services.look()

    def _new_manifest(self) -> Optional[dict]:
        """The manifest, unless it was told already."""
        manifest = self._capabilities.manifest
        if not manifest or manifest["probed_at"] == self._capabilities_sent:
            return None
        self._capabilities_sent = manifest["probed_at"]
        return manifest

    def _look(self) -> Tuple[UnitStates, Dict[str, str]]:
        # Before the states: what changes from here on differs from this, also when it ends as it was a look ago.
        self._seen = self.services.fingerprint()
        units = UnitStates({}, {})
        self._services_known, self._manager = False, True
        try:
            units = self._units()
            self._services_known = True
        except NoManager:
            self._manager = False  # told by the capabilities
        except OSError as error:
            log.warning("service states are unknown: %s", error)
        containers = self._containers.states()
        # A crash loop is one change, not one at each of its starts.
        looping = {name for name, count in units.starts.items() if count >= LOOP_STARTS}
        self._plain = (
            {name: "looping" if name in looping else state for name, state in units.states.items()},
            containers,
        )
        return units, containers


def bounded(report: HostReport) -> HostReport:
    """The report cut to its bounds: of a host with too many of something, the first by name are kept."""
    return replace(report, **{field: _bounded(getattr(report, field), most) for field, most in MOST.items()})


def _bounded(values: Mapping[str, object], most: int) -> Any:
    names = sorted(name for name in values if 0 < len(name) <= NAMES.high and "\0" not in name)
    return {name.encode("utf-8", "replace").decode("utf-8"): values[name] for name in names[:most]}
