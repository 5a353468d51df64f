"""What no heal touches on this host, whatever the server asks: init, sshd, databases, the agent, the service.

Names come from the configuration (`protected_processes`). A service or container is protected by its name, by the
usual names of a protected program, and by what its main process is. Must not: act.
"""

from __future__ import annotations

import os
from typing import Optional, Set

from opsapp.wire.actionparams import HealParams

from .config import OF_THE_HOST
from .containers import inspect
from .proc import maybe, name_of
from .services import ask

# unit and container names that a protected program usually goes by
ALIASES = {
    "sshd": {"ssh", "sshd"},
    "postgres": {"postgres", "postgresql"},
    "mysqld": {"mysql", "mysqld"},
    "mariadbd": {"mariadb", "mysql"},
    "mongod": {"mongod", "mongodb", "mongo"},
    "redis-server": {"redis", "redis-server"},
    "valkey-server": {"valkey", "valkey-server"},
    "influxd": {"influxdb"},
    "dbus-daemon": {"dbus"},
    "dbus-broker": {"dbus", "dbus-broker"},
    "clickhouse-serv": {"clickhouse-server", "clickhouse"},
    "systemd-journal": {"systemd-journald"},
    "dockerd": {"docker"},
}


def refusal(action_type: str, params: HealParams, protected: Set[str]) -> Optional[str]:
    """Why the action is refused; None when nothing speaks against it."""
    if action_type == "service_reset_failed":
        return None  # it touches a mark in the service manager, not the service
    if params.service:
        return _service(params.service, protected)
    if params.container:
        return _container(params.container, protected)
    return None


def names(protected: Set[str]) -> Set[str]:
    return protected | {alias for name in protected for alias in ALIASES.get(name, ())}


def is_named(name: str, protected: Set[str]) -> bool:
    """`postgresql@15-main.service` is postgresql."""
    plain = name[: -len(".service")] if name.endswith(".service") else name
    return bool({plain, plain.partition("@")[0]} & names(protected))


def _service(service: str, protected: Set[str]) -> Optional[str]:
    if is_named(service, protected):
        return f"protected: the service {service}"
    code, output = ask(["systemctl", "show", "--no-pager", "--property=MainPID", "--value", "--", service])
    pid = int(output.strip()) if code == 0 and output.strip().isdigit() else 0
    return _process(pid, f"the service {service}", protected)


def _container(container: str, protected: Set[str]) -> Optional[str]:
    if is_named(container, protected):
        return f"protected: the container {container}"
    inspected = inspect(container) or {}
    pid = (inspected.get("State") or {}).get("Pid") or 0
    return _process(pid, f"the container {container}", protected - set(OF_THE_HOST))


def _process(pid: int, what: str, protected: Set[str]) -> Optional[str]:
    name = name_of(pid) if pid else ""
    return f"protected: {what} runs {name}" if pid and is_protected(pid, name, protected) else None


def is_protected(pid: int, name: str, protected: Set[str]) -> bool:
    """Judged by its name, or by what an interpreter runs: the agent and the service are Python programs."""
    if pid == os.getpid() or name in protected:
        return True
    if not name.startswith(("python", "pypy")):
        return False
    words = (maybe(f"/proc/{pid}/cmdline") or "").split("\0")[1:6]
    programs = {os.path.basename(word) for word in words}
    return bool(programs & protected) or any(word.startswith(("opsapp.", "opsapp-agent")) for word in programs)
