"""The state an action is about to change, recorded before it and brought back when it must be undone.

Must not: run the action.
"""

from __future__ import annotations

import os
from typing import Callable, Dict, List, NamedTuple, Optional, Set, Union

from opsapp.wire.actionparams import HealParams
from opsapp.wire.actiontypes import OWN
from opsapp.wire.dataclass import frozen
from opsapp.wire.fields import WireError, dumps, loads
from opsapp.wire.records import made, plain
from opsapp.wire.reports import Passed

from . import firewall, network, storage
from .capabilities import ToolManifest
from .config import AgentConfig
from .containers import inspect
from .disk import write_whole
from .native import threads, top_process
from .proc import memory, processes
from .recreate import limits
from .services import ask, parse_show, show

KEEP_MOST = 500
UNIT = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "UnitFileState",
    "MainPID",
    "NRestarts",
    "Result",
    "ActiveEnterTimestamp",
    "ExecMainStatus",
)


class Unknown(OSError):
    """The state could not be recorded."""


class LocalHost(NamedTuple):
    capabilities: ToolManifest
    protected: Set[str]
    config: AgentConfig
    clock_ahead_s: Callable[[], Optional[float]] = lambda: None  # of the server's; None while that is unknown


@frozen
class Snapshot:
    kind: str
    taken_at: float
    action_type: str
    params: Passed
    state: Passed


def snapshot_of(kept: Dict[str, object]) -> Snapshot:
    """An older one may not say of which action it is."""
    return made(Snapshot, {"kind": "", "taken_at": 0.0, "action_type": "", "params": {}, "state": {}, **kept})


class SnapshotKind(NamedTuple):
    take: Callable[[HealParams, LocalHost], dict]
    restore: Union[str, Callable[[dict], List[List[str]]], None] = None  # a native step, or what makes argument lists
    same: Callable[[dict, dict], bool] = lambda before, now: before == now
    # how the state is looked at again; None: as it was taken
    again: Optional[Callable[[dict, HealParams, LocalHost], dict]] = None

    def way_back(self, state: dict) -> List[List[str]]:
        if isinstance(self.restore, str):
            return [[OWN + self.restore]]
        return self.restore(state) if self.restore else []

    def now(self, before: dict, params: HealParams, host: LocalHost) -> dict:
        return self.again(before, params, host) if self.again else self.take(params, host)


class Snapshots:
    """One snapshot for each heal, the oldest dropped beyond KEEP_MOST."""

    def __init__(self, directory: str):
        self._directory = os.path.join(directory, "snapshots")
        os.makedirs(self._directory, mode=0o700, exist_ok=True)

    def save(self, heal_id: str, snapshot: Snapshot) -> None:
        write_whole(self._path(heal_id), dumps(plain(snapshot)))
        kept = sorted(os.scandir(self._directory), key=lambda entry: entry.stat().st_mtime)
        for entry in kept[:-KEEP_MOST]:
            os.unlink(entry.path)

    def load(self, heal_id: str) -> Optional[Snapshot]:
        try:
            with open(self._path(heal_id), "rb") as file:
                return snapshot_of(loads(file.read()))
        except FileNotFoundError:
            return None
        except WireError as error:
            raise Unknown(f"the kept snapshot cannot be read: {error}") from None

    def _path(self, heal_id: str) -> str:
        return os.path.join(self._directory, f"s-{heal_id}.json")


def take_unit(params: HealParams, host: LocalHost) -> dict:
    capabilities = host.capabilities
    name = params.service
    if capabilities.usable("systemctl"):
        code, output = show(UNIT, ["--", name])
        units = parse_show(output)
        if code != 0 or not units:
            raise Unknown(f"systemctl show {name}: {output.strip()[:200]}")
        return {"service": name, **units[0]}
    for tool, argv in (
        ("rc-service", ["rc-service", name, "status"]),
        ("sv", ["sv", "status", name]),
        ("service", ["service", name, "status"]),
    ):
        if capabilities.usable(tool):
            code, output = ask(argv)
            return {"service": name, "status_code": code, "status": output.strip()[:500]}
    raise Unknown("no service manager works here")


def take_container(params: HealParams, _host: LocalHost) -> dict:
    inspected = inspect(params.container)
    if inspected is None:
        raise Unknown(f"no container {params.container} was found")
    return {"runtime": inspected["runtime"], **_container(inspected, params.container)}


def take_limits(params: HealParams, host: LocalHost) -> dict:
    state = take_container(params, host)
    return {**state, "limits": limits(state["pid"]) if state["pid"] else {"memory": None, "cpus": None}}


def _container(inspected: dict, name: str) -> dict:
    state, host, config = (inspected.get(part) or {} for part in ("State", "HostConfig", "Config"))
    return {
        "container": name,
        "id": inspected.get("Id"),
        "image": inspected.get("ImageName") or config.get("Image"),
        "status": str(state.get("Status") or "").lower(),
        "pid": state.get("Pid"),
        "restart_policy": (host.get("RestartPolicy") or {}).get("Name"),
    }


def restore_container(state: dict) -> List[List[str]]:
    runtime, name = state["runtime"], state["container"]
    if state["status"] == "running":
        return [[runtime, "unpause", name]]
    if state["status"] == "paused":
        return [[runtime, "pause", name]]
    return [[runtime, "stop", name]]


def take_process(params: HealParams, host: LocalHost) -> dict:
    """The state of a process by number, or of the one on top just now. The action then concerns this one only."""
    if params.top:
        process = top_process(params.top, host.protected)
    else:
        process = next((candidate for candidate in processes() if candidate.pid == params.pid), None)
    if process is None:
        raise Unknown("there is no such process")
    return {
        "pid": process.pid,
        "name": process.name,
        "nice": process.nice,
        "started": process.started,
        "threads": threads(process.pid),
    }


def take_disk(_params: HealParams, _host: LocalHost) -> dict:
    code, output = ask(["df", "-P", "-k"])
    if code not in (0, 1):
        raise Unknown(f"df: {output.strip()[:200]}")
    rows = (line.split(None, 5) for line in output.splitlines()[1:])
    return {"used_kb": {row[5]: int(row[2]) for row in rows if len(row) == 6 and row[2].isdigit()}}


def take_memory(_params: HealParams, _host: LocalHost) -> dict:
    wanted = ("MemTotal", "MemAvailable", "Cached", "SwapFree", "SwapTotal")
    return {name: size for name, size in memory().items() if name in wanted}


def _alike(before: dict, now: dict) -> bool:
    """Whether both are the same; what had no limits may have got one as large as the host."""
    cores = os.cpu_count() or 1
    return before["memory"] == now["memory"] and (before["cpus"] or cores) == (now["cpus"] or cores)


def _same_priorities(before: dict, now: dict) -> bool:
    """Threads come and go: those that were there are compared."""
    old, new = before.get("threads", {}), now["threads"]
    left = {thread: about for thread, about in old.items() if new.get(thread, {}).get("started") == about["started"]}
    return (
        before["started"] == now["started"]
        and before["nice"] == now["nice"]
        and all(new[thread] == about for thread, about in left.items())
    )


KINDS: Dict[str, SnapshotKind] = {
    "unit": SnapshotKind(take_unit),
    "container": SnapshotKind(
        take_container,
        restore_container,
        lambda before, now: before["status"] == now["status"] and before["id"] == now["id"],
    ),
    "limits": SnapshotKind(
        take_limits,
        "restore_limits",
        lambda before, now: before["id"] == now["id"] and _alike(before["limits"], now["limits"]),
    ),
    "process": SnapshotKind(take_process, "restore_priority", _same_priorities),
    "disk": SnapshotKind(take_disk),
    "memory": SnapshotKind(take_memory),
    "link": SnapshotKind(network.take_link, "restore_link", network.link_is_back),
    "tunnel": SnapshotKind(network.take_tunnel, "restore_tunnel", lambda before, now: before["up"] == now["up"]),
    "resolver": SnapshotKind(network.take_resolver, "restore_resolver", network.resolver_is_back),
    "firewall": SnapshotKind(
        firewall.take_firewall, "remove_rule", lambda before, now: not now["present"], firewall.look_again
    ),
    "fsck": SnapshotKind(storage.take_fsck, "restore_fsck"),
    "certificate": SnapshotKind(storage.take_certificate),
    "project": SnapshotKind(storage.take_project),
    "packages": SnapshotKind(storage.take_packages),
    "timer": SnapshotKind(storage.take_timer),
    "vm": SnapshotKind(storage.take_vm),
    "backup": SnapshotKind(storage.take_backup),
    "host": SnapshotKind(storage.take_host),
}
