"""Unit states of the host's service manager, and a cheap look at whether one may have changed.

A unit that ought to run (enabled, or seen active since the boot) and is not active is "failed", however it was stopped.
One-shot units and those started on demand (bus, socket, timer) are only "failed" when systemd says so. A masked unit
that does not run has not failed: nothing can start it. Must not: change anything.
"""

from __future__ import annotations

import logging
import os
import subprocess
from typing import Any, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from opsapp.wire.readings import MASKED

from .disk import read_json, write_json
from .proc import maybe, name_of
from .processes import environment
from .starts import Starts

log = logging.getLogger("services")
ASK_TIMEOUT_S = 15
_PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "UnitFileState",
    "Type",
    "ConditionResult",
    "BusName",
    "TriggeredBy",
    "Job",
    "NRestarts",
    "InvocationID",
)
_ENABLED = {"enabled", "enabled-runtime", "linked", "linked-runtime", "generated"}
_CGROUPS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice", "/sys/fs/cgroup/unified/system.slice")
_SCOPES = (
    "/sys/fs/cgroup/machine.slice",
    "/sys/fs/cgroup/systemd/machine.slice",
    "/sys/fs/cgroup/docker",
    "/sys/fs/cgroup/systemd/docker",
    "/sys/fs/cgroup/systemd/libpod_parent",
    "/sys/fs/cgroup/libpod_parent",
)


def ask(argv: List[str], timeout: float = ASK_TIMEOUT_S) -> Tuple[int, str]:
    """Run a tool; code -1 when it could not be asked."""
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout,
            env=environment(),
            cwd="/",
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return -1, f"{type(error).__name__}: {error}"
    return done.returncode, done.stdout.decode("utf-8", "replace")


def show(properties: Sequence[str], which: List[str], timeout: float = ASK_TIMEOUT_S) -> Tuple[int, str]:
    """Ask systemd for properties of units; `blocks` takes the answer apart."""
    return ask(["systemctl", "show", "--no-pager", f"--property={','.join(properties)}", *which], timeout)


def blocks(output: str) -> List[Dict[str, str]]:
    lines = (block.splitlines() for block in output.split("\n\n"))
    return [dict(line.split("=", 1) for line in block if "=" in line) for block in lines]


def init_system() -> str:
    if os.path.isdir("/run/systemd/system"):
        return "systemd"
    if os.path.exists("/run/openrc/softlevel"):
        return "openrc"
    if os.path.isdir("/run/runit") or name_of(1).startswith("runit"):
        return "runit"
    if name_of(1) == "init" and os.path.isdir("/etc/init.d"):
        return "sysvinit"
    return "none"


class NoManager(OSError):
    """Which services there are is not known on this host, now or later."""


class UnitStates(NamedTuple):
    states: Dict[str, str]  # name without .service: state
    starts: Dict[str, int]  # those that have started within the last minutes: how often
    counted_s: Optional[float] = None  # for how long starts have been counted; None: nobody counts them
    forbidden: FrozenSet[str] = frozenset()  # those that ran since the boot, and are masked now

    @property
    def failed(self) -> Tuple[str, ...]:
        return tuple(sorted(name for name, state in self.states.items() if state == "failed"))


class Services:
    def __init__(self, state_dir: str, boot_id: str):
        self.init = init_system()
        self._starts = Starts()
        self._path = os.path.join(state_dir, "units.json")
        self._boot_id = boot_id
        self._active_once: Set[str] = read_json(self._path, self._remembered, set())
        self._masked: Set[str] = set()  # at the last look
        self._known_cgroups = next((path for path in _CGROUPS if os.path.isdir(path)), None)

    def states(self) -> Dict[str, str]:
        """Name (without .service) → state. OSError where nothing can be asked: that is not the same as no services."""
        if self.init == "systemd":
            return self._systemd()
        if self.init == "openrc":
            return _openrc()
        if self.init == "runit":
            return _runit()
        raise NoManager("there is no service manager that can be asked")

    def look(self) -> UnitStates:
        """The units' states, and how often units have started lately; OSError as for states()."""
        states = self.states()
        if self.init != "systemd":
            return UnitStates(states, {})
        starts = {name[: -len(".service")]: count for name, count in self._starts.counts().items()}
        ran = {name[: -len(".service")] for name in self._active_once}
        forbidden = frozenset(name for name in ran if states.get(name) == MASKED)
        return UnitStates(states, starts, self._starts.counted_s(), forbidden)

    def fingerprint(self) -> Tuple:
        """Changes when a service's or container's processes begin or end: costs two directory listings."""
        return _listing(self._known_cgroups), tuple(_listing(path) for path in _SCOPES)

    def forget(self, unit: str) -> None:
        self._active_once.discard(unit)

    # ---- systemd
    def _systemd(self) -> Dict[str, str]:
        units = _show(["--all", "*.service"])
        names = {unit["Id"] for unit in units}
        away = sorted(name for name in self._active_once if name not in names)
        if away:  # systemd forgets a stopped unit that nothing refers to; asking by name loads it again
            units += _show(["--", *away])
        return self.judge(units)

    def judge(self, units: List[Dict[str, str]]) -> Dict[str, str]:
        states = {}
        before = set(self._active_once)
        self._starts.keep({unit["Id"] for unit in units})
        for unit in units:
            name = unit.get("Id", "")
            if not name.endswith(".service") or unit.get("LoadState") not in ("loaded", "masked"):
                self._active_once.discard(name)
                continue
            self._starts.note(unit, _stays(unit))
            if unit["ActiveState"] == "active" and _stays(unit):
                self._active_once.add(name)
            self._note_masked(name, unit)
            state = self._state(name, unit)
            if state != "inactive" or _wanted(unit):
                states[name[: -len(".service")]] = state
        if self._active_once != before:
            write_json(self._path, {"boot_id": self._boot_id, "active": sorted(self._active_once)})
        return states

    def _note_masked(self, name: str, unit: Dict[str, str]) -> None:
        """systemd may have forgotten a masked unit that ran: it is asked for by its name. One that is unmasked and does
        not run, nobody has asked to run again."""
        if is_masked(unit):
            self._masked.add(name)
        elif name in self._masked:
            self._masked.discard(name)
            if unit["ActiveState"] != "active":
                self._active_once.discard(name)

    def _state(self, name: str, unit: Dict[str, str]) -> str:
        state = unit["ActiveState"]
        if is_masked(unit) and state in ("inactive", "failed"):
            return MASKED
        if state != "inactive":
            return state
        if unit.get("Job") not in (None, "", "0"):
            return "activating"
        if name in self._active_once or (_wanted(unit) and not unit.get("TriggeredBy")):
            return "failed"
        return "inactive"

    def _remembered(self, kept: Any) -> Set[str]:
        return set(kept["active"]) if kept["boot_id"] == self._boot_id else set()


def is_masked(unit: Mapping[str, object]) -> bool:
    """Whether the unit is masked, until the next boot or for good."""
    return any(str(unit.get(name)).startswith(MASKED) for name in ("LoadState", "UnitFileState"))


def _stays(unit: Dict[str, str]) -> bool:
    if unit.get("Type") == "oneshot" or unit.get("UnitFileState") == "transient" or is_masked(unit):
        return False
    if unit.get("UnitFileState") in _ENABLED:
        return True
    on_demand = unit.get("BusName") or unit.get("TriggeredBy") or "@" in unit["Id"] or unit.get("Type") == "dbus"
    return not on_demand


def _wanted(unit: Dict[str, str]) -> bool:
    return (
        unit.get("UnitFileState") in ("enabled", "enabled-runtime")
        and unit.get("Type") not in ("oneshot", "dbus")
        and unit.get("ConditionResult") != "no"
    )


def _show(which: List[str]) -> List[Dict[str, str]]:
    code, output = show(_PROPERTIES, which)
    if code != 0 and "Id=" not in output:
        raise OSError(f"systemctl show: {output.strip()[:200]}")
    return parse_show(output)


def parse_show(output: str) -> List[Dict[str, str]]:
    return [unit for unit in blocks(output) if "Id" in unit and "ActiveState" in unit]


def _listing(path: Optional[str]) -> frozenset:
    if not path:
        return frozenset()
    try:
        with os.scandir(path) as entries:
            return frozenset((entry.name, entry.inode()) for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return frozenset()


# ---- the others
def _openrc() -> Dict[str, str]:
    code, output = ask(["rc-status", "--all", "--nocolor"])
    if code != 0:
        raise OSError(f"rc-status: {output.strip()[:200]}")
    return parse_openrc(output)


def parse_openrc(output: str) -> Dict[str, str]:
    words = {
        "started": "active",
        "stopped": "failed",
        "crashed": "failed",
        "starting": "activating",
        "stopping": "deactivating",
        "inactive": "inactive",
    }
    states: Dict[str, str] = {}
    runlevel = ""
    for line in output.splitlines():
        if line.startswith("Runlevel:"):
            runlevel = line.split(":", 1)[1].strip()
        elif line.startswith("Dynamic Runlevel:"):
            runlevel = "dynamic"
        elif line.startswith(" ") and "[" in line:
            name, _, rest = line.strip().partition(" ")
            word = rest.rpartition("[")[2].split("]")[0].split()
            state = words.get(word[0] if word else "", "unknown")
            if state == "failed" and word[0] == "stopped" and runlevel not in ("default", "boot"):
                continue  # belongs to no runlevel that is up
            states.setdefault(name, state)
    return states


def _runit() -> Dict[str, str]:
    for base in ("/run/runit/runsvdir/current", "/var/service", "/service", "/etc/service"):
        if os.path.isdir(base):
            return {name: _sv_state(maybe(f"{base}/{name}/supervise/stat")) for name in sorted(os.listdir(base))}
    raise NoManager("runit's services are nowhere to be found")


def _sv_state(stat: Optional[str]) -> str:
    words = {"run": "active", "down": "failed", "finish": "deactivating"}
    return words.get((stat or "").split(",")[0].strip(), "unknown")
