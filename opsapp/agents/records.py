"""Agents and their commands as they are answered, and what is sent of them. What a host reports is `wire.reports`.

Must not: know what is stored (`resources`).
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from opsapp.lib.visible import name_kind
from opsapp.wire.commands import COMMANDS, check_params
from opsapp.wire.dataclass import frozen
from opsapp.wire.fields import WireError
from opsapp.wire.kinds import Anything, AnyValues, Choice, DeclaredField, MapOf, Text, Whole
from opsapp.wire.records import AT_TIMES, Between, FormField, Most, Told
from opsapp.wire.reports import AgentMetrics, Id

from .logic import STATUSES

ASKED = tuple(sorted(COMMANDS.keys() - {"heal"}))  # heals are for the pipeline alone
Tag = Annotated[str, Text(1, 64, r"[A-Za-z0-9][A-Za-z0-9_.:-]*", "a word like web-1")]
Path = Annotated[str, Text(1, 4096, r"/[\s\S]*", must="be an absolute path")]
HostKey = Annotated[
    str,
    Text(
        1,
        2000,
        r"SHA256:\S+|(\S+\s+){0,2}[A-Za-z0-9+/]{60,}={0,2}(\s.*)?",
        must="be a SHA256: fingerprint or a public key line",
    ),
]
At = Annotated[int, Whole(0)]
Line = tuple[float | None, ...]


@frozen
class GivenAgent:
    """What people say of an agent."""

    component: ClassVar[str] = "Agent"

    label: Annotated[str, name_kind(), FormField("Name", hint="As you call it. It can be changed later.")]
    tags: Annotated[
        tuple[Tag, ...],
        Most(50, unique=True),
        FormField("Tags", "names", "Words like web or shop", of="tag", by="name", clears=True),
    ] = ()


@frozen
class AgentRow(GivenAgent):
    id: Told[str] = ""
    hostname: Told[str] = ""
    ip: Told[str] = ""
    os: Told[str] = ""
    version: Told[str] = ""
    status: Told[Annotated[str, Choice(*STATUSES)]] = "pending"
    last_seen: Told[At | None] = None
    unheard: Told[bool] = False
    stopped_at: Told[At | None] = None
    hostname_conflict: Told[bool] = False
    clone_detected_at: Told[At | None] = None
    unreadable: Annotated[str, AT_TIMES] = ""

    @property
    def name(self) -> str:
        return self.label or self.hostname

    def matches(self, q: str | None, status: str | None, tag: str | None) -> bool:
        if (status is not None and self.status != status) or (tag is not None and tag not in self.tags):
            return False
        words = (self.label, self.hostname, self.ip, self.os, self.id, *self.tags) if q else ()
        return not q or any(q.lower() in word.lower() for word in words)


@frozen
class AgentDetail(AgentRow):
    """Everything of one agent."""

    created_at: Told[At] = 0
    metrics: Told[AgentMetrics] = field(default_factory=AgentMetrics)
    metrics_at: Told[At | None] = None
    capabilities: Told[AnyValues | None] = None
    connected: Told[bool] = False
    clock_skew_s: Told[float | None] = None
    agent_node: Told[str | None] = None


@frozen
class HostProblem:
    """`since` is known of silence alone."""

    kind: Literal["silent", "service", "cpu", "memory", "disk", "inodes", "read_only", "clock", "service_manager"]
    words: str
    grave: bool = False
    since: At | None = None


@frozen
class MeasuredRow(AgentRow):
    """An agent with what it measured last."""

    cpu_percent: Told[float | None] = None
    mem_percent: Told[float | None] = None
    disk_percent: Told[float | None] = None
    uptime_s: Told[float | None] = None
    metrics_at: Told[At | None] = None
    failed_units: Told[Annotated[int, Between(0)]] = 0
    failing: Told[tuple[str, ...]] = ()
    problems: Told[tuple[HostProblem, ...]] = ()

    @property
    def urgency(self) -> tuple[int, int, int]:
        """The lower, the sooner it wants somebody: silence, what is grave, what is not; then what is not known."""
        grave = sum(problem.grave for problem in self.problems)
        if self.unreadable or any(problem.kind == "silent" for problem in self.problems):
            return 0, STATUSES.index(self.status), 0
        if self.problems:
            return 1 if grave else 2, -grave, -len(self.problems)
        return 3 + ("offline", "pending", "online").index(self.status), 0, 0


@frozen
class FleetRow(MeasuredRow):
    """A row with the last hours, so that a list's row needs no request of its own."""

    outdated: Told[bool] = False
    since: Told[At] = 0
    step_s: Told[Annotated[int, Between(1)]] = 1
    cpu: Told[Line] = ()
    mem: Told[Line] = ()


@frozen
class AgentKey:
    agent_id: str
    key: Annotated[str, Text(64, 64)]
    status: str


@frozen
class Deployed(AgentKey):
    replaced: bool
    same_machine: tuple[str, ...]


@frozen
class Deploy:
    sample: ClassVar[dict[str, str]] = {
        "host": "web-1.example.org",
        "ssh_user": "deploy",
        "ssh_key": "/etc/opsapp/deploy-key",
    }

    host: Annotated[
        str,
        Text(1, 253, r"[A-Za-z0-9:][A-Za-z0-9._:-]*", "a host name or address"),
        FormField("Host", hint="A name or an address that this server reaches."),
    ]
    ssh_user: Annotated[
        str,
        Text(1, 64, r"[A-Za-z_][A-Za-z0-9_.-]*", "a user name"),
        FormField("SSH user", hint="root, or one that may use sudo without a password."),
    ]
    ssh_key: Annotated[Path, FormField("Key file on this server", hint="For example /root/.ssh/id_ed25519")]
    ssh_port: Annotated[int, Between(1, 65535), FormField("SSH port", "number", preset="22")] = 22
    label: Annotated[str | None, name_kind(), FormField("Name")] = None
    host_key: Annotated[
        HostKey | None, FormField("Host key", hint="Its SHA256: fingerprint. Empty: the one in known_hosts.")
    ] = None
    allow_plain_http: Annotated[
        bool, FormField("Allow a server without TLS", "flag", "Its network can read the key then.")
    ] = False


@frozen
class NewCommand:
    component: ClassVar[str] = "Command"
    sample = {"type": "shell", "params": {"command": "uptime"}}

    type: Annotated[str, Text(1, 64)]
    params: Annotated[dict[str, Any] | None, MapOf(DeclaredField("", Anything()), 100)] = None

    @staticmethod
    def across(values: dict[str, Any]) -> dict[str, str]:
        """What the type makes of the parameters."""
        if values.get("type", ASKED[0]) not in ASKED:
            return {"type": f"must be one of {', '.join(ASKED)}"}
        if values.keys() != {"type", "params"}:
            return {}
        try:
            check_params(values["type"], values["params"] or {})
        except WireError as wrong:
            return {f"params.{name}": message for name, message in wrong.fields.items()} or {"params": str(wrong)}
        return {}


@frozen
class CommandAccepted:
    command_id: Id
    status: str


@frozen
class CommandRecord:
    command_id: str
    type: str
    params: AnyValues
    status: str
    exit_code: Annotated[int | None, Whole()]
    output: Annotated[str, Text(0, 1 << 21)]
    truncated: bool
    reason: str | None
    data: AnyValues | None
    cancel_requested: bool
    created_at: At
    delivered_at: At | None
    started_at: At | None
    finished_at: At | None
    requested_by: str
