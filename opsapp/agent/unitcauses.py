"""Why a unit of systemd does not run: what forbids it, what it lacks, what its last start said.

What the last lines say is only named where the host, looked at now, is so. Must not: start, stop or change anything.
"""

from __future__ import annotations

import os
import pwd
import re
import signal
import socket
from typing import Callable, List, Mapping, Match, NamedTuple, Optional, Tuple

from opsapp.wire.causes import HostCause, cause_of

from . import diskcauses
from .disks import is_read_only_at
from .holders import Holder, listener
from .proc import cgroup_of, maybe, name_of
from .services import ask, is_masked

PROPERTIES = (
    "Id", "LoadState", "UnitFileState", "ActiveState", "Result", "ExecMainCode", "ExecMainStatus", "ExecStart",
    "PIDFile", "MemoryMax", "RootDirectory", "RootImage", "ControlGroup", "ExecMainExitTimestampMonotonic",
    "User", "TriggeredBy",
)  # fmt: skip
LINES = 15
_KILLED, _DUMPED = "2", "3"  # how the kernel says that a process was ended by a signal
KERNEL_LINES = 1000
_OUT_OF_MEMORY = re.compile(
    r"\[ *(?P<at>\d+\.\d+)\].*oom-kill:.*?(?:oom_memcg=(?P<limited>[^,]+),)?task_memcg=(?P<of>[^,]+),"
)
SLACK_S = 60.0  # the clock of the kernel's log and the monotonic one drift apart
_IN_USE = re.compile(r"(?i)address already in use|bind\(\).*\(98[:)]|EADDRINUSE")
_PORT = re.compile(r"(?i)(?:\]|[\d*]|localhost|::|\bport)[:= ]+(\d{2,5})\b")
# Where a command line says on which port its program listens. One that it connects to (--db-port, a URL) is held, and
# rightly so.
_OWN_PORT = re.compile(
    r"(?:^| )(?:-[pbl]|--?(?:(?:https?|server|web)[-_.]?)?port|--?[\w.-]*(?:listen|bind)[\w.-]*|http\.server|runserver)"
    r"[ =]?(?:[\w.\[\]*:-]*:)?(\d{2,5})(?=$|[ ,])"
)
_SOCKET_PORT = re.compile(r"(?m)^Listen=.*:(\d{2,5}) \(")
_NO_ROOM = re.compile(r"No space left on device|Read-only file system|ENOSPC|EROFS")
_PATH = re.compile(r"(/[\w.@+-]+)+")
_PID_FILE = re.compile(r"(/[\w.@+-]+)+\.pid\b")
COMM_LENGTH = 15  # of a program's name, the kernel keeps so much
_NO_NAME = re.compile(
    r"(?i)(?:host not found in \w+|could not resolve host|cannot resolve|name or service not known|"
    r"temporary failure in name resolution)\W*(?P<name>[a-z0-9_.-]+\.[a-z0-9.-]+)?"
)
_NOT_YET_VALID = re.compile(r"(?i)not yet valid|clock skew|CERT_NOT_YET_VALID")
_STEP_FAILED = re.compile(r"Failed at step [A-Z_]+ spawning ")  # systemd, before the program has begun
_NO_VARIABLES = re.compile(r"Failed to load environment files")
NO_USER = "217"  # of this step some versions write no line
# What systemd says by the status of a process that it could not turn into the program.
STEPS = {
    "200": "its working directory cannot be entered",
    "203": "its program cannot be executed",
    "208": "its input cannot be opened",
    "209": "its output cannot be opened",
    "216": "its group is not known on the host",
    "217": "its user is not known on the host",
    "222": "its output of errors cannot be opened",
    "224": "its session cannot be opened (PAM)",
    "226": "a directory that it is limited to does not exist, or the limits cannot be set up",
    "233": "its runtime directory cannot be made",
    "238": "its state directory cannot be made",
    "239": "its cache directory cannot be made",
    "240": "its log directory cannot be made",
    "241": "its configuration directory cannot be made",
    "243": "a secret that it is given cannot be read",
}
_NO_PLACE = re.compile(r"(?i)privilege separation directory")  # it is there only while the unit runs


class Budget(NamedTuple):
    """The seconds that are left for looking."""

    left: Callable[[], float]

    def going(self) -> bool:
        return self.left() > 0

    def ask(self, argv: List[str]) -> Tuple[int, str]:
        return ask(argv, max(0.05, self.left()))


# Programs of well-known units that test their configuration, as their own units do before each start.
TESTS = {
    "nginx": ("nginx", "-t"),
    "ssh": ("sshd", "-t"),
    "sshd": ("sshd", "-t"),
    "apache2": ("apache2ctl", "configtest"),
    "httpd": ("httpd", "-t"),
    "haproxy": ("haproxy", "-c", "-f", "/etc/haproxy/haproxy.cfg"),
    "named": ("named-checkconf",),
    "bind9": ("named-checkconf",),
    "unbound": ("unbound-checkconf",),
    "dnsmasq": ("dnsmasq", "--test"),
    "rsyslog": ("rsyslogd", "-N1"),
}


def look(service: str, budget: Budget) -> Optional[HostCause]:
    """The cause of a unit's failure; None while it runs, or where nothing is known."""
    code, output = budget.ask(["systemctl", "show", "--no-pager", f"--property={','.join(PROPERTIES)}", "--", service])
    if code != 0 or "LoadState=" not in output:
        return None
    unit = dict(line.partition("=")[::2] for line in output.splitlines())
    name = service[: -len(".service")] if service.endswith(".service") else service
    return _forbidden(name, unit) or (None if unit["ActiveState"] == "active" else _stopped(name, unit, budget))


def _forbidden(name: str, unit: Mapping[str, str]) -> Optional[HostCause]:
    if is_masked(unit):
        return cause_of("masked", service=name)
    if unit["LoadState"] == "not-found":
        return cause_of("unit_missing", service=name)
    return None


def _stopped(name: str, unit: Mapping[str, str], budget: Budget) -> Optional[HostCause]:
    gone = missing_program(unit)
    if gone:
        return cause_of("binary_missing", service=name, path=gone)
    lines = last_lines(name, budget)
    return (
        _out_of_memory(name, unit, lines, budget)
        or of_lines(lines, unit, budget)
        or of_configuration(name, lines, budget)
        or stale_pid_file(name, unit, lines)
        or _of_clock(name, lines, budget)
        or not_startable(name, unit, lines)
        or ended(name, unit, lines)
    )


def missing_program(unit: Mapping[str, str]) -> str:
    """The program that is missing; one in a root of its own is not looked for."""
    if unit.get("RootDirectory") or unit.get("RootImage"):
        return ""
    path = _program(unit)
    return path if path and not os.path.exists(path) else ""


def last_lines(name: str, budget: Budget) -> List[str]:
    code, output = budget.ask(
        ["journalctl", "--no-pager", "--quiet", "--output=cat", f"--lines={LINES}", f"--unit={name}"]
    )
    return output.splitlines() if code == 0 else []


def _out_of_memory(name: str, unit: Mapping[str, str], lines: List[str], budget: Budget) -> Optional[HostCause]:
    """Where systemd is told nothing of it (cgroups of version 1), the kernel also says that it was for memory. Where
    its log cannot be read, a limit of the unit is the cause if the host has more."""
    killed = unit.get("ExecMainCode") == _KILLED and unit.get("ExecMainStatus") == str(int(signal.SIGKILL))
    is_known = unit.get("Result") == "oom-kill"
    said = _kernel_said(unit, budget) if is_known or killed else None
    if said is None and not is_known:
        return None
    limit = unit.get("MemoryMax", "infinity")
    own = limit.isdigit() and int(limit) < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if said is not None:
        own = limit.isdigit() and _belongs(said["limited"] or "", unit)
        lines = [*lines, said.string]
    if own:
        return cause_of("out_of_own_memory", *lines, service=name, limit=diskcauses.size_of(int(limit)))
    return cause_of("out_of_host_memory", *lines, service=name)


def _kernel_said(unit: Mapping[str, str], budget: Budget) -> Optional[Match[str]]:
    """Its line about a process of the unit that it killed for memory, where that was when the unit ended."""
    ended_us = unit.get("ExecMainExitTimestampMonotonic", "")
    if not ended_us.isdigit():
        return None
    journal = ["journalctl", "--dmesg", "--boot", "--no-pager", "--quiet", "--output=short-monotonic"]
    for argv in ([*journal, f"--lines={KERNEL_LINES}"], ["dmesg"]):
        code, output = budget.ask(argv)
        said = [line for line in map(_OUT_OF_MEMORY.search, output.splitlines()) if line and _belongs(line["of"], unit)]
        if code == 0 and said:
            return said[-1] if abs(float(said[-1]["at"]) - int(ended_us) / 1e6) <= SLACK_S else None
    return None


def _belongs(control_group: str, unit: Mapping[str, str]) -> bool:
    return "Id" in unit and unit["Id"] in control_group.split("/")


def of_lines(lines: List[str], unit: Mapping[str, str], budget: Budget) -> Optional[HostCause]:
    """The cause that the lines name, where it still holds; the newest complaint first."""
    for line in reversed(lines):
        cause = _port_held(line, unit, budget) or _no_room(line, budget) or _no_name(line)
        if cause is not None:
            return cause
    return None


def _port_held(line: str, unit: Mapping[str, str], budget: Budget) -> Optional[HostCause]:
    if not _IN_USE.search(line):
        return None
    for port in _PORT.findall(line) or _own_ports(unit, budget):
        holder = listener(int(port), budget.going)
        if holder is not None and not _is_of(holder, unit.get("ControlGroup", "")):
            return cause_of("port_held", line, port=port, process=holder.name, pid=holder.pid)
    return None


def _own_ports(unit: Mapping[str, str], budget: Budget) -> List[str]:
    """Those that its command line and its sockets name, for a program that does not say which one is in use."""
    ports = _OWN_PORT.findall(unit.get("ExecStart", "").partition("argv[]=")[2].partition(" ;")[0])
    sockets = unit.get("TriggeredBy", "").split()
    if sockets:
        output = budget.ask(["systemctl", "show", "--no-pager", "--property=Listen", "--", *sockets])[1]
        ports += _SOCKET_PORT.findall(output)
    return ports


def _is_of(holder: Holder, control_group: str) -> bool:
    own = cgroup_of(holder.pid).splitlines()
    return bool(control_group) and any(row.endswith(f":{control_group}") for row in own)


def _no_room(line: str, budget: Budget) -> Optional[HostCause]:
    path = _PATH.search(line) if _NO_ROOM.search(line) else None
    if path is None:
        return None
    mount = diskcauses.mount_of(path[0])
    if "ead-only" in line or "EROFS" in line:
        return cause_of("read_only", line, mount=mount) if is_read_only_at(mount) else None
    return diskcauses.of_no_space(mount, budget.going)


def _no_name(line: str) -> Optional[HostCause]:
    complaint = _NO_NAME.search(line)
    name = complaint["name"] if complaint else None
    if not name:
        return None
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return cause_of("name_not_resolved", line, name=name.rstrip("."))
    return None


def of_configuration(name: str, lines: List[str], budget: Budget) -> Optional[HostCause]:
    test = TESTS.get(name)
    if test is None:
        return None
    code, output = budget.ask(list(test))
    if code <= 0 or _NO_PLACE.search(output):  # it passes, or it could not be asked
        return None
    complaints = output.splitlines()
    other = of_lines(complaints, {}, budget)
    return other or cause_of("config_broken", *(complaints or lines), service=name, test=" ".join(test))


def stale_pid_file(name: str, unit: Mapping[str, str], lines: List[str]) -> Optional[HostCause]:
    """Its process is gone, or is one of something else. systemd removes the unit's own one, so mostly the last lines
    name it."""
    complaints = [(said[0], line) for line in reversed(lines) for said in [_PID_FILE.search(line)] if said]
    for path, line in [(unit.get("PIDFile", ""), ""), *complaints]:
        pid = (maybe(path) or "").strip() if path else ""
        if pid.isdigit() and not _is_instance(int(pid), unit):
            return cause_of("stale_pid_file", line, service=name, path=path, pid=pid)
    return None


def _is_instance(pid: int, unit: Mapping[str, str]) -> bool:
    """Whether the process is of the unit, or of its program that somebody else started."""
    program, name = _program(unit), name_of(pid)
    by_hand = bool(name) and os.path.basename(program)[:COMM_LENGTH] == name
    return by_hand or _is_of(Holder(pid, name), unit.get("ControlGroup", ""))


def _program(unit: Mapping[str, str]) -> str:
    path = re.search(r"path=(/\S+)", unit.get("ExecStart", ""))
    return path[1] if path else ""


def _of_clock(name: str, lines: List[str], budget: Budget) -> Optional[HostCause]:
    refused = next((line for line in reversed(lines) if _NOT_YET_VALID.search(line)), None)
    if refused is None:
        return None
    return cause_of("clock_off", refused, service=name) if is_synchronised(budget) is False else None


def is_synchronised(budget: Budget) -> Optional[bool]:
    """Whether the clock is synchronised; None where nobody says."""
    code, output = budget.ask(["timedatectl", "show", "--property=NTPSynchronized"])
    return output.strip().endswith("=yes") if code == 0 and "NTPSynchronized=" in output else None


def not_startable(name: str, unit: Mapping[str, str], lines: List[str]) -> Optional[HostCause]:
    """What systemd lacked to start the program. A program may end with such a status, too: the line tells it apart."""
    status = unit.get("ExecMainStatus", "")
    is_said = any(map(_STEP_FAILED.search, lines)) or (status == NO_USER and _is_unknown(unit.get("User", "")))
    reason = STEPS.get(status) if is_said else None
    if unit.get("Result") == "resources" and any(map(_NO_VARIABLES.search, lines)):
        reason = "its file of variables cannot be read"
    return cause_of("not_startable", *lines, service=name, reason=reason) if reason else None


def _signal_of(status: str) -> str:
    try:
        return f"{status} ({signal.Signals(int(status)).name})"
    except ValueError:  # a real-time signal has no name
        return status


def _is_unknown(user: str) -> bool:
    try:
        return bool(user) and not user.isdigit() and not pwd.getpwnam(user)
    except KeyError:
        return True


def ended(name: str, unit: Mapping[str, str], lines: List[str]) -> Optional[HostCause]:
    """How its last process ended, where that was no good end."""
    status = unit.get("ExecMainStatus", "0")
    if unit.get("Result") in (None, "", "success") or status in ("", "0"):
        return None
    if unit.get("ExecMainCode") in (_KILLED, _DUMPED):
        return cause_of("ended_by_signal", *lines, service=name, signal=_signal_of(status))
    return cause_of("exited", *lines, service=name, code=status)
