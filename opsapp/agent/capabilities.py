"""Which tools this host has and which of them work. Usable means tried, not only found.

Must not: change anything on the host; take longer than BUDGET_S.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import shutil
import threading
import time
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from opsapp.wire.causes import LOOKS
from opsapp.wire.version import VERSION

from .metrics import os_release
from .proc import maybe
from .services import ask, init_system

log = logging.getLogger("capabilities")
TRY_S = 5.0
BUDGET_S = 60.0
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w.+~-]*|\b\d+\b")


class Tool(NamedTuple):
    """An argument list that must end well and change nothing, and one that tells its version."""

    attempt: Tuple[str, ...]
    version: Tuple[str, ...] = ("--version",)
    accept: Tuple[int, ...] = (0,)
    needs: str = ""  # a path without which it cannot work
    said: str = ""  # what the attempt's output must match


_V = ("--version",)
TOOLS: Dict[str, Tool] = {
    # service managers
    "systemctl": Tool(
        ("is-system-running",),
        accept=(0, 1),
        needs="/run/systemd/system",
        said=r"running|degraded|starting|maintenance|stopping|initializing",
    ),
    "service": Tool(_V, needs="/etc/init.d"),
    "rc-service": Tool(("--list",), needs="/run/openrc"),
    "sv": Tool((), accept=(0, 1, 100), version=(), needs="/run/runit"),
    "journalctl": Tool(("--lines=1", "--quiet", "--no-pager")),
    "loginctl": Tool(("list-sessions", "--no-pager")),
    # containers and virtual machines
    "podman": Tool(("ps", "--quiet")),
    "docker": Tool(("ps", "--quiet")),
    "docker-compose": Tool(("version",), version=("version", "--short")),
    "docker compose": Tool(("version",), version=("version", "--short")),
    "virsh": Tool(("list", "--all"), version=("--version",)),
    "qm": Tool(("list",), version=("help",)),
    "kubectl": Tool(("version", "--client"), version=("version", "--client")),
    # packages
    "apt-get": Tool(("check", "--quiet"), accept=(0, 100)),
    "unattended-upgrade": Tool(("--help",), version=()),
    "dnf": Tool(_V),
    "yum": Tool(_V),
    "zypper": Tool(_V),
    "apk": Tool(_V),
    "pacman": Tool(_V),
    "snap": Tool(_V),
    # logs, files, disks
    "logrotate": Tool(_V),
    "find": Tool(("/", "-maxdepth", "0")),
    "tar": Tool(_V),
    "rsync": Tool(_V),
    "df": Tool(("/",)),
    "zpool": Tool(("list",), version=("version",)),
    "zfs": Tool(("list",), version=("version",)),
    "btrfs": Tool(("filesystem", "show"), accept=(0, 1)),
    "mdadm": Tool(("--detail", "--scan")),
    "smartctl": Tool(("--scan",)),
    "fsck": Tool(("-N",), accept=(0,), version=("--version",)),
    # network
    "ip": Tool(("link", "show"), version=("-V",)),
    "iptables": Tool(("-S",)),
    "nft": Tool(("list", "tables")),
    "ufw": Tool(("status",), said=r"Status: active"),
    "firewall-cmd": Tool(("--state",)),
    "resolvectl": Tool(("status", "--no-pager")),
    "systemd-resolve": Tool(("--statistics",)),
    "nscd": Tool(("-g",)),
    "wg": Tool(("show",)),
    "wg-quick": Tool((), accept=(0, 1)),
    "networkctl": Tool(("list", "--no-pager")),
    "tailscale": Tool(("status",), version=("version",)),
    "nmcli": Tool(("general", "status")),
    "ping": Tool(("-c", "1", "-W", "1", "127.0.0.1"), version=("-V",)),
    "curl": Tool(_V),
    "ethtool": Tool(_V),
    "ifup": Tool(_V),
    "chronyc": Tool(("tracking",)),
    # name servers
    "unbound-control": Tool(("status",), version=()),
    "rndc": Tool(("status",), version=()),
    "rec_control": Tool(("ping",), version=("--version",)),
    "pihole": Tool(("status",), version=("version",)),
    # Windows, from its Linux subsystem
    **{
        name: Tool(("/?",), version=(), accept=(0, 1))
        for name in (
            "wevtutil.exe",
            "sfc.exe",
            "usoclient.exe",
            "chkdsk.exe",
            "chkntfs.exe",
            "schtasks.exe",
            "appcmd.exe",
            "pnputil.exe",
            "gpupdate.exe",
            "repadmin.exe",
        )
    },
    "wsl.exe": Tool(("--status",), version=()),
    # shells, processes, the rest
    "sh": Tool(("-c", "exit 0"), version=()),
    "bash": Tool(("-c", "exit 0")),
    "python3": Tool(("-I", "-S", "-c", "pass")),
    "ps": Tool(("-p", "1"), version=("--version",)),
    "kill": Tool(("-0", "{pid}"), version=()),
    "renice": Tool(_V),
    "sysctl": Tool(("-n", "kernel.ostype")),
    "sudo": Tool(("-n", "true")),
    "certbot": Tool(_V),
    "acme.sh": Tool(_V),
    "dehydrated": Tool(_V),
    "samba-gpupdate": Tool(("--help",), version=()),
    "restic": Tool(("version",), version=("version",)),
    "borg": Tool(_V),
    "ansible-playbook": Tool(_V),
    "crontab": Tool(("-l",), accept=(0, 1), version=()),
    "shutdown": Tool(("--help",), version=("--version",)),
    "openssl": Tool(("version",), version=("version",)),
}


class ToolManifest:
    """Probed in the background; a single tool can be asked for before the whole probe is through."""

    def __init__(self, clock: Callable[[], float] = time.time):
        self._clock = clock
        self._lock = threading.Lock()
        self._found: Dict[str, dict] = {}
        self.manifest: Optional[dict] = None

    def usable(self, tool: str) -> bool:
        with self._lock:
            known = self._found.get(tool)
            if known is None:
                known = self._found[tool] = try_tool(tool, TRY_S)
        return bool(known["usable"])

    def probe(self) -> dict:
        deadline = time.monotonic() + BUDGET_S
        tools = {name: try_tool(name, min(TRY_S, deadline - time.monotonic())) for name in TOOLS}
        release = os_release()
        manifest = {
            "os": platform.system().lower(),
            "distro": release.get("ID", ""),
            "distro_version": release.get("VERSION_ID", ""),
            "kernel": platform.release(),
            "init_system": init_system(),
            "is_wsl": "microsoft" in platform.release().lower(),
            "is_container": in_container(),
            "capabilities": {**tools, LOOKS: {"available": True, "usable": True, "version": VERSION}},
            "probed_at": int(self._clock()),
        }
        with self._lock:
            self._found = dict(tools)
            self.manifest = manifest
        return manifest


def try_tool(name: str, seconds: float) -> dict:
    program, *part = name.split()  # "docker compose" is a part of docker
    path = shutil.which(program) or shutil.which(program, path="/usr/local/sbin:/usr/sbin:/sbin")
    if not path:
        return {"available": False, "usable": False, "version": None}
    tool = TOOLS.get(name)
    if tool is None:
        return {"available": True, "usable": os.access(path, os.X_OK), "version": None}
    if seconds <= 0:
        return {"available": True, "usable": False, "version": None}
    whole = [path, *part]
    return {"available": True, "usable": _works(whole, tool, seconds), "version": _version(whole, tool, seconds)}


def _works(whole: List[str], tool: Tool, seconds: float) -> bool:
    if tool.needs and not os.path.exists(tool.needs):
        return False
    argv = [*whole, *(part.replace("{pid}", str(os.getpid())) for part in tool.attempt)]
    code, output = ask(argv, seconds)
    return code in tool.accept and bool(not tool.said or re.search(tool.said, output))


def _version(whole: List[str], tool: Tool, seconds: float) -> Optional[str]:
    if not tool.version:
        return None
    _, output = ask([*whole, *tool.version], seconds)
    match = _VERSION.search(output)
    return match.group(0)[:64] if match else None


def in_container() -> bool:
    if any(map(os.path.exists, ("/.dockerenv", "/run/.containerenv", "/run/host/container-manager"))):
        return True
    environ = maybe("/proc/1/environ")
    return bool(environ and "container=" in environ)
