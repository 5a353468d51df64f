"""Configuration: flags over environment over the JSON file over defaults.

Must not: read anything after the start; keep the key anywhere but in memory and its own file.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import field, fields
from typing import Annotated, Callable, List, Mapping, Optional, Tuple

from opsapp.wire.checks import OnWire, checked
from opsapp.wire.dataclass import frozen
from opsapp.wire.fields import FieldProblem, JsonObject, boolean, listing, number, text
from opsapp.wire.kinds import Anything
from opsapp.wire.records import Between, parts_of
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


def _beginning(*signs: str) -> Callable[[str], Optional[str]]:
    return lambda path: None if path[:1] in signs else "must be an absolute path"


Names = Annotated[Tuple[str, ...], OnWire(listing(text(4096, low=1), 10000))]
Paths = Annotated[Tuple[str, ...], OnWire(listing(text(4096, also=_beginning("/", "*")), 10000))]
Directories = Annotated[Tuple[str, ...], OnWire(listing(text(4096, also=_beginning("/")), 100))]
Backups = Annotated[Mapping[str, Backup], Anything(), OnWire(read_backups)]
Certificates = Annotated[Mapping[str, Certificate], Anything(), OnWire(read_certificates)]
Instances = Annotated[Mapping[str, Instance], Anything(), OnWire(read_instances)]


class ConfigError(ValueError):
    """A mistake of the user, told in one line."""


@frozen
class AgentConfig:
    server: str
    agent_id: str
    key: str
    state_dir: str
    key_file: str = ""
    allow_plain_http: Annotated[bool, OnWire(boolean())] = False  # to a server on another machine
    allow_paths: Paths = ("/",)
    deny_paths: Paths = SECRET_FILES
    viewer_paths: Paths = ("/var/log",)
    max_file_bytes: Annotated[int, OnWire(number(1, 2**50))] = 2**30
    plugin_dirs: Directories = ()  # below them stand the monitoring plugins that it runs; none: it runs none
    protected_processes: Names = PROTECTED  # never ended or reniced, whatever the server asks
    websocket: bool = True  # false: poll only
    ca_file: str = ""  # PEM of the authorities to trust, instead of the system's
    interval_s: Annotated[float, Between(0.2, 3600)] = 15  # until the server says otherwise
    service_check_s: Annotated[float, Between(0.2, 3600)] = 1.0  # how often unit states are looked at for a change
    container_check_s: Annotated[float, Between(1, 3600)] = 120
    # how long a container that is gone is reported as removed
    container_removed_s: Annotated[float, Between(60, 30 * 86400)] = 3600
    capability_check_s: Annotated[float, Between(10, 7 * 86400)] = 6 * 3600
    # an accepted command that could not start for so long never does
    start_expiry_s: Annotated[float, Between(1, 7 * 86400)] = 3600
    spool_bytes: Annotated[int, OnWire(number(65536, 2**40))] = 16 * 2**20
    # kept aside on the disk, so that a full one can be healed
    reserve_bytes: Annotated[int, OnWire(number(0, 2**30))] = 2**20
    retry_first_s: Annotated[float, Between(0.05, 600)] = 1.0
    retry_most_s: Annotated[float, Between(0.1, 3600)] = 60.0
    update_trial_s: Annotated[float, Between(1, 3600)] = 60.0
    busy_limit: Annotated[int, OnWire(number(1, 64))] = 8  # commands at once
    lookout_s: Annotated[float, Between(0.2, 3600)] = 15  # between looks at name resolution, tunnels and backups
    dns_names: Names = ()  # what must be resolvable; none: some name server must answer
    vpn_interfaces: Names = ()  # tunnels beside those that are found
    backups: Backups = field(default_factory=dict)
    certificates: Certificates = field(default_factory=dict)
    instances: Instances = field(default_factory=dict)  # media servers
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
    for part in parts_of(AgentConfig):
        if not part.marks or part.name not in given:
            continue
        try:
            value = checked(part).check(given[part.name])
        except FieldProblem as problem:
            raise ConfigError(f"{part.name} {problem}") from None
        except Wrong as mistake:
            raise ConfigError(str(mistake)) from None
        given[part.name] = tuple(value) if isinstance(value, list) else value
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
