"""Configuration: flags over environment over the JSON file over defaults. One frozen value for the whole program.

Must not: read anything after the start; keep the key anywhere but in memory and its own file.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import field, fields
from typing import Dict, List, Mapping, Optional, Tuple

from opsapp.wire.dataclass import dataclass
from opsapp.wire.fields import Check, FieldProblem, JsonObject, boolean, listing, number, text
from opsapp.wire.urls import is_plain_abroad, web_problem
from opsapp.wire.version import VERSION

from .local import Backup, Certificate, Instance, Wrong, read_backups, read_certificates, read_instances

SECRET_FILES = (
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssl/private",
    "*/.ssh/id_*",
    "/etc/ssh/ssh_host_*_key",
    "*.pem",
    "*.key",
    "/proc/*/environ",
    "/proc/*/mem",
    "/proc/kcore",
)
# of the host itself: a container with an init of its own is no reason to leave it alone
OF_THE_HOST = (
    "init",
    "systemd",
    "systemd-journal",
    "systemd-logind",
    "systemd-udevd",
    "dbus-daemon",
    "dbus-broker",
    "conmon",
)
PROTECTED = (
    *OF_THE_HOST,
    "sshd",
    "postgres",
    "mysqld",
    "mariadbd",
    "mongod",
    "redis-server",
    "valkey-server",
    "etcd",
    "influxd",
    "clickhouse-serv",
    "runzeo",
    "opsapp",
    "opsapp-agent",
    "pserve",
    "containerd",
    "dockerd",
)
_NAMES = listing(text(4096, low=1), 10000)
_PATHS = listing(text(4096, also=lambda path: None if path[:1] in ("/", "*") else "must be an absolute path"), 10000)
_DIRECTORIES = listing(text(4096, also=lambda path: None if path[:1] == "/" else "must be an absolute path"), 100)
_CHECKS: Dict[str, Check] = {
    "interval_s": number(0.2, 3600),
    "service_check_s": number(0.2, 3600),
    "container_check_s": number(1, 3600),
    "container_removed_s": number(60, 30 * 86400),
    "capability_check_s": number(10, 7 * 86400),
    "max_file_bytes": number(1, 2**50),
    "spool_bytes": number(65536, 2**40),
    "reserve_bytes": number(0, 2**30),
    "start_expiry_s": number(1, 7 * 86400),
    "retry_first_s": number(0.05, 600),
    "retry_most_s": number(0.1, 3600),
    "update_trial_s": number(1, 3600),
    "busy_limit": number(1, 64),
    "lookout_s": number(0.2, 3600),
    **dict.fromkeys(("allow_paths", "deny_paths", "viewer_paths"), _PATHS),
    "plugin_dirs": _DIRECTORIES,
    **dict.fromkeys(("dns_names", "vpn_interfaces", "protected_processes"), _NAMES),
    "allow_plain_http": boolean(),
}


class ConfigError(ValueError):
    """A mistake of the user, told in one line."""


@dataclass(frozen=True)
class AgentConfig:
    server: str
    agent_id: str
    key: str
    state_dir: str
    key_file: str = ""
    allow_plain_http: bool = False  # to a server on another machine
    allow_paths: Tuple[str, ...] = ("/",)
    deny_paths: Tuple[str, ...] = SECRET_FILES
    viewer_paths: Tuple[str, ...] = ("/var/log",)
    max_file_bytes: int = 2**30
    plugin_dirs: Tuple[str, ...] = ()  # below them stand the monitoring plugins that it runs; none: it runs none
    protected_processes: Tuple[str, ...] = PROTECTED  # never ended or reniced, whatever the server asks
    websocket: bool = True  # false: poll only
    ca_file: str = ""  # PEM of the authorities to trust, instead of the system's
    interval_s: float = 15  # until the server says otherwise
    service_check_s: float = 1.0  # how often unit states are looked at for a change
    container_check_s: float = 120
    container_removed_s: float = 3600  # how long a container that is gone is reported as removed
    capability_check_s: float = 6 * 3600
    start_expiry_s: float = 3600  # an accepted command that could not start for so long never does
    spool_bytes: int = 16 * 2**20
    reserve_bytes: int = 2**20  # kept aside on the disk, so that a full one can be healed
    retry_first_s: float = 1.0
    retry_most_s: float = 60.0
    update_trial_s: float = 60.0
    busy_limit: int = 8  # commands at once
    lookout_s: float = 15  # between looks at name resolution, tunnels and backups
    dns_names: Tuple[str, ...] = ()  # what must be resolvable; none: some name server must answer
    vpn_interfaces: Tuple[str, ...] = ()  # tunnels beside those that are found
    backups: Mapping[str, Backup] = field(default_factory=dict)
    certificates: Mapping[str, Certificate] = field(default_factory=dict)
    instances: Mapping[str, Instance] = field(default_factory=dict)  # media servers
    once: bool = False
    check: bool = False
    guard: int = 0  # of an update: the process to watch
    key_from_environment: bool = False


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="opsapp-agent", description="The opsapp agent: reports, runs commands, heals.")
    made.add_argument("--server", metavar="URL", help="base URL of the service (OPSAPP_SERVER)")
    made.add_argument("--id", metavar="AGENT_ID", dest="agent_id", help="this agent's id (OPSAPP_AGENT_ID)")
    made.add_argument("--key-file", metavar="FILE", help="file with the agent key (or OPSAPP_AGENT_KEY)")
    made.add_argument("--state", metavar="DIR", dest="state_dir", help="journal, spool and lock live here")
    made.add_argument("--config", metavar="FILE", help="JSON file with any of these and path rules")
    made.add_argument(
        "--allow-plain-http",
        action="store_true",
        help="take a server on another machine without TLS: its network can read key and commands",
    )
    made.add_argument("--once", action="store_true", help="report once by polling, do what the answer asks, and exit")
    made.add_argument("--check", action="store_true", help="report once by polling, do nothing else, and exit")
    made.add_argument("--guard", type=int, metavar="PID", help=argparse.SUPPRESS)
    made.add_argument("--version", action="version", version=f"opsapp-agent {VERSION}")
    return made


def load(argv: List[str], environ: Mapping[str, str]) -> AgentConfig:
    flags = parser().parse_args(argv)
    given: JsonObject = _from_file(flags.config) if flags.config else {}
    given.update(_from_environment(environ))
    given.update({name: value for name, value in vars(flags).items() if value and name != "config"})
    if flags.key_file:
        given.pop("key", None)
    return _complete(given)


def _from_file(path: str) -> JsonObject:
    try:
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ConfigError(f"{path} must hold a JSON object")
    known = {setting.name for setting in fields(AgentConfig)} - {
        "key",
        "once",
        "check",
        "guard",
        "key_from_environment",
    }
    unknown = sorted(set(given) - known)
    if unknown:
        raise ConfigError(f"{path}: unknown keys: {', '.join(unknown)}")
    return {name: value for name, value in given.items() if value is not None}


def _from_environment(environ: Mapping[str, str]) -> JsonObject:
    names = {"OPSAPP_SERVER": "server", "OPSAPP_AGENT_ID": "agent_id", "OPSAPP_AGENT_KEY": "key"}
    return {key: environ[name] for name, key in names.items() if environ.get(name)}


def _complete(given: JsonObject) -> AgentConfig:
    for name, check in _CHECKS.items():
        if name not in given:
            continue
        try:
            value = check(given[name])
        except FieldProblem as problem:
            raise ConfigError(f"{name} {problem}") from None
        given[name] = tuple(value) if isinstance(value, list) else value
    try:
        given["backups"] = read_backups(given.get("backups", {}))
        given["certificates"] = read_certificates(given.get("certificates", {}))
        given["instances"] = read_instances(given.get("instances", {}))
    except Wrong as mistake:
        raise ConfigError(str(mistake)) from None
    if "protected_processes" in given:
        given["protected_processes"] = PROTECTED + given["protected_processes"]
    for name in ("server", "agent_id"):
        if not isinstance(given.get(name), str) or not given[name]:
            raise ConfigError(f"{name} is missing: give it as a flag, in the environment or in the config file")
    _check_server(given["server"], given.get("allow_plain_http", False))
    given["server"] = given["server"].rstrip("/")
    if "key" not in given:
        given["key"] = read_key(given.get("key_file"))
    else:
        given["key_from_environment"] = True
    given.setdefault("state_dir", _default_state())
    own = tuple(os.path.realpath(path) for path in (given.get("key_file"), given["state_dir"]) if path)
    given["deny_paths"] = tuple(given.get("deny_paths", SECRET_FILES)) + own
    return AgentConfig(**given)


def _check_server(url: str, allow_plain: bool) -> None:
    wrong = web_problem(url, credentials=False)
    if wrong:
        raise ConfigError(f"server must be an http or https URL: it {wrong}")
    if is_plain_abroad(url) and not allow_plain:
        raise ConfigError(
            f"the server {url} is on another machine and has no TLS: whoever is on the network in "
            "between could read this agent's key and send it commands. Use https. If you trust that "
            "network, give --allow-plain-http, or allow_plain_http in the config file"
        )


def read_key(path: Optional[str]) -> str:
    if not path:
        raise ConfigError("no key: give --key-file or OPSAPP_AGENT_KEY")
    try:
        with open(path, encoding="ascii") as file:
            key = file.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the key file {path}: {getattr(error, 'strerror', 'not text')}") from None
    if not key or not key.isprintable() or " " in key:
        raise ConfigError(f"{path} holds no key")
    return key


def _default_state() -> str:
    if os.geteuid() == 0:
        return "/var/lib/opsapp-agent"
    return os.path.expanduser("~/.local/state/opsapp-agent")
