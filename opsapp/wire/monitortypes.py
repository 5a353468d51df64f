"""The types of monitors, each declared once.

From this table come the API's schema, the page's form, the defaults, the checks of addresses, the message to agents and
the probes of server and agents. A type whose answer comes over the web gives a `body` check; another one a `probe`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Callable, Dict, NamedTuple, Optional, Set, Tuple, Type, get_type_hints
from urllib.parse import SplitResult, urlsplit

from . import dns, probes, webchecks
from .dataclass import frozen
from .kinds import LEFT_OUT, REQUIRED, DeclaredField
from .records import parts_of
from .typesettings import (
    COMPARISONS,
    DnsSettings,
    JsonSettings,
    KeywordSettings,
    PluginSettings,
    PushSettings,
    SnmpSettings,
    TypeSettings,
)
from .urls import is_host, text_problem

WEB_SCHEMES = ("http", "https")
PROBE, PLUGIN, FINER = "probe", "plugin", "probe-finer"  # what an agent says in its hello that it understands
_FINER = ("accepted_statuses", "max_redirects", "ip_family", "body", "comparison")
_AS_EVER: Tuple[Any, ...] = (None, [], "", probes.FAMILIES[0], COMPARISONS[0])
_AGENT = re.compile(r"agent://[A-Za-z0-9]{1,64}/?")


class MonitorType(NamedTuple):
    name: str
    about: str  # what it does, for the form
    address: str  # what its `url` looks like; empty: it has none
    schemes: Tuple[str, ...] = ()
    needs_port: bool = False
    address_problem: Callable[[SplitResult], Optional[str]] = lambda parts: None
    settings: Type[TypeSettings] = TypeSettings
    probe: Optional[probes.Probe] = None
    body: Optional[webchecks.BodyCheck] = None  # of the web's answer, beside its status
    on_host: bool = False  # an agent alone can look: `agent_id`, or those of `probe_from`
    on_service: bool = False  # the service alone can look: it has what agents do without

    @property
    def is_web(self) -> bool:
        return self.schemes == WEB_SCHEMES

    @property
    def is_probed(self) -> bool:
        """Server or agent looks at it from outside; the others are called, or report."""
        return self.is_web or self.on_host or self.on_service or self.probe is not None

    @property
    def by_agents(self) -> bool:
        return self.is_probed and not self.on_service

    @property
    def shows_certificate(self) -> bool:
        return self.is_web or "tls" in self.schemes

    @property
    def feature(self) -> str:
        """What an agent must understand to look at it."""
        return PLUGIN if self.on_host else PROBE

    def features(self, asked: Dict[str, Any]) -> Set[str]:
        """The features that a look as asked for needs: an older agent would leave out what it does not know."""
        finer = any(asked.get(name) not in _AS_EVER for name in _FINER)
        return {self.feature, FINER} if finer else {self.feature}

    def url_problem(self, url: str) -> Optional[str]:
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

    @property
    def own_parts(self) -> Tuple[DeclaredField, ...]:
        record: Any = self.settings
        return parts_of(record)

    def own(self, settings: Any) -> TypeSettings:
        """What its probe gets beside the general settings."""
        return self.settings(**{part.name: getattr(settings, part.name) for part in self.own_parts})

    def problems(self, settings: Any) -> Dict[str, str]:
        needed = (part.name for part in self.own_parts if part.default is REQUIRED)
        missing = {name: "is required for this type" for name in needed if getattr(settings, name) is None}
        return missing or self.own(settings).problems()


def _agent_problem(parts: SplitResult) -> Optional[str]:
    return None if _AGENT.fullmatch(parts.geturl()) else "must look like agent://AGENT_ID"


def _snmp_problem(parts: SplitResult) -> Optional[str]:
    more = parts.path.strip("/") or parts.query or parts.fragment or "@" in parts.netloc
    return "must be a host and a port alone, as in snmp://host:161" if more else None


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
        settings=DnsSettings,
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
        settings=KeywordSettings,
        body=webchecks.keyword_problem,
    ),
    MonitorType(
        "json",
        "Asks for JSON, and looks at a value in it.",
        "https://host/path",
        WEB_SCHEMES,
        settings=JsonSettings,
        body=webchecks.json_problem,
    ),
    MonitorType("push", "Waits to be called: by a backup job, by cron.", "", settings=PushSettings),
    MonitorType(
        "agent", "Looks whether a host still reports.", "agent://AGENT_ID", ("agent",), address_problem=_agent_problem
    ),
    MonitorType(
        "snmp",
        "Asks a device for a value by SNMP.",
        "snmp://host",
        ("snmp",),
        address_problem=_snmp_problem,
        settings=SnmpSettings,
        on_service=True,
    ),
    MonitorType("plugin", "Runs a monitoring plugin on a host.", "", settings=PluginSettings, on_host=True),
)
TYPES: Dict[str, MonitorType] = {declared.name: declared for declared in _DECLARED}


@lru_cache(maxsize=None)
def every_own() -> Any:
    """The own settings of all types beside each other, as the API has them: None where it is of another type."""
    own: Dict[str, Tuple[Any, Any]] = {}  # the type and what it is where nothing was said
    for declared in TYPES.values():
        types = get_type_hints(declared.settings, include_extras=True)
        for part in declared.own_parts:
            default = None if part.default in (REQUIRED, LEFT_OUT) else part.default
            own.setdefault(part.name, (Optional[types[part.name]] if default is None else types[part.name], default))
    defaults = {name: default for name, (_hint, default) in own.items()}
    hints = {name: hint for name, (hint, _default) in own.items()}
    return frozen(type("EveryTypeSettings", (), {"__annotations__": hints, **defaults}))
