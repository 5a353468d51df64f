"""Bodies, queries and answers of /api/agents, and the YAML section `agents`."""

from __future__ import annotations

from typing import Any

from opsapp.web.fields import (
    Body,
    Paging,
    Query,
    anything,
    choice,
    field,
    flag,
    list_of,
    map_of,
    name_text,
    number,
    order,
    scalar,
    text,
    whole,
)
from opsapp.wire.commands import COMMANDS, check_params
from opsapp.wire.fields import WireError
from opsapp.wire.messages import REPORT

from .logic import MEASURED, STATUSES

ASKED = tuple(sorted(COMMANDS.keys() - {"heal"}))  # heals are for the pipeline alone

HOST_KEY = text(
    1,
    2000,
    pattern=r"SHA256:\S+|(\S+\s+){0,2}[A-Za-z0-9+/]{60,}={0,2}(\s.*)?",
    must="be a SHA256: fingerprint or a public key line",
)
PATH = text(1, 4096, pattern=r"/[\s\S]*", must="be an absolute path")
TAG = text(1, 64, pattern=r"[A-Za-z0-9][A-Za-z0-9_.:-]*", example="a word like web-1")


USER = text(1, 32, pattern=r"[a-z_][a-z0-9_-]*", example="a user name like opsapp")


class NewAgent(Body):
    label = name_text()
    tags = list_of(TAG, 50, unique=True, default=())


class AgentChange(Body):
    label = name_text()
    tags = list_of(TAG, 50, unique=True)


class AgentKey(Body):
    agent_id = text()
    key = text(64, 64)
    status = text()


class Deployed(AgentKey):
    replaced = flag()
    same_machine = list_of(text())


class KeyRevoked(Body):
    status = choice("revoked")


class AgentRow(Body):
    id = text()
    label = text()
    hostname = text()
    ip = text()
    os = text()
    version = text()
    status = choice(*STATUSES)
    last_seen = whole(0, null=True)
    unheard = flag()
    tags = list_of(text())
    hostname_conflict = flag()
    clone_detected_at = whole(0, null=True)
    unreadable = text(optional=True)


class AgentMetrics(Body):
    """A snapshot of a host: numbers that are not known are left out."""

    cpu_percent = number(optional=True)
    mem_percent = number(optional=True)
    disk_percent = number(optional=True)
    swap_percent = number(optional=True)
    load1 = number(optional=True)
    load5 = number(optional=True)
    load15 = number(optional=True)
    uptime_s = number(optional=True)
    disks = map_of(number())
    services = map_of(text(), 4000)
    starts = map_of(number(), 4000)
    containers = map_of(text(), 4000)
    metrics = map_of(scalar(), 4000)
    network = map_of(map_of(number()))
    temperatures = map_of(number())
    failed_units = list_of(text())
    top_processes = list_of(map_of(scalar()))


class AgentDetail(AgentRow):
    created_at = whole(0)
    metrics = AgentMetrics()
    metrics_at = whole(0, null=True)
    capabilities = map_of(anything(), null=True)
    connected = flag()
    clock_skew_s = number(null=True)
    agent_node = text(null=True)


class AgentList(Paging):
    ids = list_of(text(1, 64), 100, default=None)  # these alone
    q = text(0, 200, default=None)
    status = choice(*STATUSES, default=None)
    tag = text(1, 64, default=None)


class FleetList(AgentList):
    sort = order("status", "label", "last_seen", "os", "version", *MEASURED)


REPORTED = {"string": text(), "integer": whole(), "number": number(), "boolean": flag(), "array": list_of(anything())}
# What an agent says of its host, as the wire checks it; what nobody here knows is ignored.
Report = type(
    "Report",
    (Body,),
    {
        name: field(REPORTED.get(wire.describe().get("type", "object"), map_of(anything())), optional=not wire.required)
        for name, wire in REPORT.items()
    },
)


class CommandSent(Body):
    command_id = text()
    type = text()
    params = map_of(anything())


class ReportAnswer(Body):
    status = choice("ok")
    interval = number(0)
    commands = list_of(CommandSent)
    cancel = list_of(text())
    policy_version = whole(0)
    time = number(0, default=None)
    protected_processes = list_of(text(), default=None)
    policies = map_of(anything(), default=None)


class NewCommand(Body):
    sample = {"type": "shell", "params": {"command": "uptime"}}
    type = text(1, 64)
    params = map_of(anything(), 100, default=None)

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


class CommandAccepted(Body):
    command_id = text()
    status = text()


class CommandRecord(Body):
    command_id = text()
    type = text()
    params = map_of(anything())
    status = text()
    exit_code = whole(null=True)
    output = text(0, 1 << 21)
    truncated = flag()
    reason = text(null=True)
    data = map_of(anything(), null=True)
    cancel_requested = flag()
    created_at = whole(0)
    delivered_at = whole(0, null=True)
    started_at = whole(0, null=True)
    finished_at = whole(0, null=True)
    requested_by = text()


class MetricsRange(Paging):
    range_h = whole(1, 24 * 730, default=24)
    resolution = whole(60, 86400, default=60)
    until = whole(0, 10**11, default=None)


class HistoryPoint(Body):
    time = whole(0)
    cpu_percent = number(default=None)
    mem_percent = number(default=None)
    disk_percent = number(default=None)
    swap_percent = number(default=None)
    load1 = number(default=None)
    load5 = number(default=None)
    load15 = number(default=None)
    rx_bytes_s = number(default=None)
    tx_bytes_s = number(default=None)
    disks = map_of(number())


class FleetRow(AgentRow):
    """An agent with what it measured last and in the last hours: a list's row needs no request of its own."""

    cpu_percent = number(null=True)
    mem_percent = number(null=True)
    disk_percent = number(null=True)
    uptime_s = number(null=True)
    metrics_at = whole(0, null=True)
    outdated = flag()
    failed_units = whole(0)
    failing = list_of(text())
    since = whole(0)
    step_s = whole(1)
    cpu = list_of(number(null=True))
    mem = list_of(number(null=True))


class Logs(Query):
    source = choice("journald", "file", default="journald")
    unit = text(1, 255, pattern=r"[A-Za-z0-9_@.:\\][A-Za-z0-9_@.:\\-]*", example="nginx.service", default=None)
    path = field(PATH, default=None)
    lines = whole(0, 10000, default=100)
    last_event_id = text(0, 1000, default=None)


class FileWanted(Query):
    path = PATH


class FileStored(Body):
    status = choice("stored")
    path = text()
    size = whole(0)
    sha256 = text(64, 64)


class Deploy(Body):
    sample = {"host": "web-1.example.org", "ssh_user": "deploy", "ssh_key": "/etc/opsapp/deploy-key"}
    host = text(1, 253, pattern=r"[A-Za-z0-9:][A-Za-z0-9._:-]*", example="a host name or address")
    ssh_user = text(1, 64, pattern=r"[A-Za-z_][A-Za-z0-9_.-]*", example="a user name")
    ssh_port = whole(1, 65535, default=22)
    ssh_key = PATH
    label = name_text(default=None)
    host_key = field(HOST_KEY, default=None)
    allow_plain_http = flag(default=False)
