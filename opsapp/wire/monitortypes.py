"""The types of monitors, each declared once: its address, the settings that it alone has, and how it is looked at.

From this table come the API's schema, the page's form, the defaults, the checks of addresses, the message to agents and
the probes of server and agents. A type whose answer comes over the web gives a `body` check; another one a `probe`.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple
from urllib.parse import SplitResult, urlsplit

from . import dns, probes, webchecks
from .fields import Check, WireField, boolean, json_value, listing, may, text
from .jsonpath import parse_path
from .urls import is_host, text_problem

WEB_SCHEMES = ("http", "https")
LARGEST = 4000  # characters
MOST_LINES = 100
PROBE, PLUGIN = "probe", "plugin"  # what an agent says in its hello that it understands
_AGENT = re.compile(r"agent://[A-Za-z0-9]{1,64}/?")


class Setting(NamedTuple):
    """A setting that only some types have. `problem` says what is wrong with a value that is right so far."""

    name: str
    label: str  # in the form
    kind: str  # text, flag, json or lines (a list of texts): of the API's value and of the form's input
    required: bool = False
    default: Any = None
    hint: str = ""
    most: int = LARGEST
    problem: Callable[[Any], Optional[str]] = lambda value: None
    by_admin: bool = False  # only admins write it

    def check(self) -> Check:
        """For the message to agents."""
        kinds = {
            "text": text(self.most),
            "flag": boolean(),
            "json": json_value(),
            "lines": listing(text(self.most), MOST_LINES),
        }
        return kinds[self.kind]


class MonitorType(NamedTuple):
    name: str
    about: str  # what it does, for the form
    address: str  # what its `url` looks like; empty: it has none
    schemes: Tuple[str, ...] = ()
    needs_port: bool = False
    address_problem: Callable[[SplitResult], Optional[str]] = lambda parts: None
    settings: Tuple[Setting, ...] = ()
    probe: Optional[probes.Probe] = None
    body: Optional[webchecks.BodyCheck] = None  # of the web's answer, beside its status
    on_host: bool = False  # an agent alone can look: `agent_id`, or those of `probe_from`

    @property
    def is_web(self) -> bool:
        """Whether it is one web request, which each side sends in its own way."""
        return self.schemes == WEB_SCHEMES

    @property
    def is_probed(self) -> bool:
        """Whether anybody looks at it from outside, server or agent; the others are called, or report."""
        return self.is_web or self.on_host or self.probe is not None

    @property
    def feature(self) -> str:
        """What an agent must understand to look at it."""
        return PLUGIN if self.on_host else PROBE

    def url_problem(self, url: str) -> Optional[str]:
        """Why this is no address for a monitor of this type."""
        if not self.schemes:
            return f"must be empty for the type {self.name}" if url else None
        if not url:
            return "is required for this type"
        if text_problem(url):
            return text_problem(url)
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError:
            return "is not a URL"
        if parts.scheme not in self.schemes:
            return f"must begin with {' or '.join(scheme + '://' for scheme in self.schemes)}"
        if not host or not is_host(host):
            return "has no host"
        if port == 0 or (self.needs_port and port is None):
            return f"must name a port, as in {self.address}"
        return self.address_problem(parts)

    def own(self, settings: Mapping[str, Any]) -> Dict[str, Any]:
        """The settings that its probe gets beside the general ones."""
        return {own.name: settings.get(own.name, own.default) for own in self.settings}

    def problems(self, settings: Mapping[str, Any]) -> Dict[str, str]:
        """What this type misses among the settings, by field."""
        missing = [own.name for own in self.settings if own.required and settings.get(own.name) is None]
        return dict.fromkeys(missing, "is required for this type")


def _path_problem(path: str) -> Optional[str]:
    try:
        parse_path(path)
    except ValueError as problem:
        return str(problem)
    return None


def _size_problem(value: Any) -> Optional[str]:
    return "is too large" if len(json.dumps(value)) > LARGEST else None


def _agent_problem(parts: SplitResult) -> Optional[str]:
    return None if _AGENT.fullmatch(parts.geturl()) else "must look like agent://AGENT_ID"


def _command_problem(command: List[str]) -> Optional[str]:
    if not command[0].startswith("/"):
        return f"must begin with the whole path of the program, as in {_COMMAND_EXAMPLE}"
    return "is too long" if sum(map(len, command)) > LARGEST else None


_COMMAND_EXAMPLE = "/usr/lib/nagios/plugins/check_load"
_COMMAND = Setting(
    "command",
    "Command",
    "lines",
    True,
    hint="The program's whole path, then each argument on a line of its own. No shell reads them.",
    most=1000,
    problem=_command_problem,
    by_admin=True,
)
_PATH = Setting("json_path", "JSON path", "text", True, hint="For example $.status", most=500, problem=_path_problem)
_VALUE = Setting(
    "expected_value", "Expected value", "json", hint='For example 200, true or "ok"', problem=_size_problem
)
_DECLARED = (
    MonitorType("http", "Asks for a web page, and looks at its status.", "https://host/path", WEB_SCHEMES),
    MonitorType("tcp", "Opens a connection to a port.", "tcp://host:port", ("tcp",), needs_port=True, probe=probes.tcp),
    MonitorType("ping", "Sends an echo request to a host.", "ping://host", ("ping",), probe=probes.ping),
    MonitorType(
        "dns",
        "Asks a name server for a name.",
        "dns://resolver/name?type=A",
        ("dns",),
        address_problem=dns.address_problem,
        settings=(_VALUE,),
        probe=dns.probe,
    ),
    MonitorType(
        "tls", "Looks at the certificate of a port.", "tls://host:port", ("tls",), needs_port=True, probe=probes.tls
    ),
    MonitorType(
        "keyword",
        "Asks for a web page, and looks for a word in it.",
        "https://host/path",
        WEB_SCHEMES,
        settings=(
            Setting("keyword", "Keyword", "text", required=True, most=1000),
            Setting("keyword_absent", "Up when the keyword is missing", "flag", default=False),
        ),
        body=webchecks.keyword_problem,
    ),
    MonitorType(
        "json",
        "Asks for JSON, and looks at a value in it.",
        "https://host/path",
        WEB_SCHEMES,
        settings=(_PATH, _VALUE._replace(required=True)),
        body=webchecks.json_problem,
    ),
    MonitorType("push", "Waits to be called: by a backup job, by cron.", ""),
    MonitorType(
        "agent", "Looks whether a host still reports.", "agent://AGENT_ID", ("agent",), address_problem=_agent_problem
    ),
    MonitorType("plugin", "Runs a monitoring plugin on a host.", "", settings=(_COMMAND,), on_host=True),
)
TYPES: Dict[str, MonitorType] = {declared.name: declared for declared in _DECLARED}


def settings_by_types() -> List[Tuple[Setting, List[str]]]:
    """Each setting that only some types have, and the types that have it."""
    settings: Dict[str, Tuple[Setting, List[str]]] = {}
    for declared in TYPES.values():
        for setting in declared.settings:
            settings.setdefault(setting.name, (setting, []))[1].append(declared.name)
    return list(settings.values())


def message_fields() -> Dict[str, WireField]:
    """Those settings in the message that asks an agent to look."""
    return {setting.name: may(setting.check(), setting.default) for setting, _ in settings_by_types()}


def defaults() -> Dict[str, Any]:
    return {setting.name: setting.default for setting, _ in settings_by_types()}
