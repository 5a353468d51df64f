"""Bodies, queries and answers of /api/agents, and the YAML section `agents`."""

from __future__ import annotations

from typing import Any

import colander

from opsapp.web.fields import (
    Anything,
    Body,
    Choice,
    Flag,
    ListOf,
    MapOf,
    Nullable,
    Number,
    Paging,
    Query,
    Text,
    Whole,
    name_text,
)
from opsapp.wire.commands import COMMANDS, check_params
from opsapp.wire.fields import WireError

from .logic import PRIVATE_LOGS, STATUSES

ASKED = tuple(sorted(COMMANDS.keys() - {"heal"}))  # heals are for the pipeline alone

HOST_KEY = Text(
    1,
    2000,
    pattern=r"SHA256:\S+|(\S+\s+){0,2}[A-Za-z0-9+/]{60,}={0,2}(\s.*)?",
    must="be a SHA256: fingerprint or a public key line",
)
PATH = Text(1, 4096, pattern=r"/[\s\S]*", must="be an absolute path")
TAG = Text(1, 64, pattern=r"[A-Za-z0-9][A-Za-z0-9_.:-]*", example="a word like web-1")


USER = Text(1, 32, pattern=r"[a-z_][a-z0-9_-]*", example="a user name like opsapp")


class AgentsSection(Body):
    """How often agents report, and what they may cost."""

    report_interval_s = colander.SchemaNode(Number(0.2, 3600), missing=15)
    command_expiry_s = colander.SchemaNode(Number(0.2, 7 * 86400), missing=3600)
    max_file_bytes = colander.SchemaNode(Whole(1, 1 << 40), missing=1 << 30)
    known_hosts = colander.SchemaNode(Nullable(Text(1, 4096)), missing=None)
    run_as = colander.SchemaNode(USER, missing="root")
    private_logs = colander.SchemaNode(ListOf(Text(1, 255), 1000), missing=PRIVATE_LOGS)


class ExecutorSection(Body):
    """As whom the service runs what it runs on its own machine; see `engine.executor`."""

    user = colander.SchemaNode(Nullable(USER), missing=None)
    socket = colander.SchemaNode(Nullable(Text(1, 100, pattern=r"/[^\0]+", example="a path like /run/x")), missing=None)
    python = colander.SchemaNode(Nullable(Text(1, 4096, pattern=r"/[^\0]+", example="/usr/bin/python3")), missing=None)

    def validator(self, node: colander.SchemaNode, value: dict[str, Any]) -> None:
        if value["socket"] and not value["user"]:
            raise colander.Invalid(node, "socket needs user: the one as whom that executor runs")


class NewAgent(Body):
    label = colander.SchemaNode(name_text())
    tags = colander.SchemaNode(ListOf(TAG, 50, unique=True), missing=())


class AgentChange(Body):
    label = colander.SchemaNode(name_text())
    tags = colander.SchemaNode(ListOf(TAG, 50, unique=True))


class AgentKey(Body):
    agent_id = colander.SchemaNode(Text())
    key = colander.SchemaNode(Text(64, 64))
    status = colander.SchemaNode(Text())


class Deployed(AgentKey):
    replaced = colander.SchemaNode(Flag())
    same_machine = colander.SchemaNode(ListOf(Text()))


class Done(Body):
    status = colander.SchemaNode(Choice("updated", "deleted", "revoked"))


class AgentRow(Body):
    id = colander.SchemaNode(Text())
    label = colander.SchemaNode(Text())
    hostname = colander.SchemaNode(Text())
    ip = colander.SchemaNode(Text())
    os = colander.SchemaNode(Text())
    version = colander.SchemaNode(Text())
    status = colander.SchemaNode(Choice(*STATUSES))
    last_seen = colander.SchemaNode(Nullable(Whole(0)))
    tags = colander.SchemaNode(ListOf(Text()))
    hostname_conflict = colander.SchemaNode(Flag())
    clone_detected_at = colander.SchemaNode(Nullable(Whole(0)))
    unreadable = colander.SchemaNode(Text(), missing=colander.drop)


class AgentDetail(AgentRow):
    created_at = colander.SchemaNode(Whole(0))
    metrics = colander.SchemaNode(MapOf(Anything()))
    metrics_at = colander.SchemaNode(Nullable(Whole(0)))
    capabilities = colander.SchemaNode(Nullable(MapOf(Anything())))
    connected = colander.SchemaNode(Flag())
    clock_skew_s = colander.SchemaNode(Nullable(Number()))
    agent_node = colander.SchemaNode(Nullable(Text()))


class AgentList(Paging):
    q = colander.SchemaNode(Text(0, 200), missing=None)
    status = colander.SchemaNode(Choice(*STATUSES), missing=None)
    tag = colander.SchemaNode(Text(1, 64), missing=None)


class ReportAnswer(Body):
    status = colander.SchemaNode(Choice("ok"))
    interval = colander.SchemaNode(Number(0))
    commands = colander.SchemaNode(ListOf(Anything()))
    cancel = colander.SchemaNode(ListOf(Text()))
    policy_version = colander.SchemaNode(Whole(0))
    time = colander.SchemaNode(Number(0), missing=None)
    protected_processes = colander.SchemaNode(ListOf(Text()), missing=None)
    policies = colander.SchemaNode(MapOf(Anything()), missing=None)


class NewCommand(Body):
    type = colander.SchemaNode(Text(1, 64))
    params = colander.SchemaNode(MapOf(Anything(), 100), missing=None)

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
            return {f"params.{name}": said for name, said in wrong.fields.items()} or {"params": str(wrong)}
        return {}


class CommandAccepted(Body):
    command_id = colander.SchemaNode(Text())
    status = colander.SchemaNode(Text())


class CommandRecord(Body):
    command_id = colander.SchemaNode(Text())
    type = colander.SchemaNode(Text())
    params = colander.SchemaNode(MapOf(Anything()))
    status = colander.SchemaNode(Text())
    exit_code = colander.SchemaNode(Nullable(Whole()))
    output = colander.SchemaNode(Text(0, 1 << 21))
    truncated = colander.SchemaNode(Flag())
    reason = colander.SchemaNode(Nullable(Text()))
    data = colander.SchemaNode(Nullable(MapOf(Anything())))
    cancel_requested = colander.SchemaNode(Flag())
    created_at = colander.SchemaNode(Whole(0))
    delivered_at = colander.SchemaNode(Nullable(Whole(0)))
    started_at = colander.SchemaNode(Nullable(Whole(0)))
    finished_at = colander.SchemaNode(Nullable(Whole(0)))
    requested_by = colander.SchemaNode(Text())


class History(Paging):
    range_h = colander.SchemaNode(Whole(1, 24 * 730), missing=24)
    resolution = colander.SchemaNode(Whole(60, 86400), missing=60)


class HistoryPoint(Body):
    time = colander.SchemaNode(Whole(0))
    cpu_percent = colander.SchemaNode(Number(), missing=None)
    mem_percent = colander.SchemaNode(Number(), missing=None)
    disk_percent = colander.SchemaNode(Number(), missing=None)
    swap_percent = colander.SchemaNode(Number(), missing=None)
    load1 = colander.SchemaNode(Number(), missing=None)
    load5 = colander.SchemaNode(Number(), missing=None)
    load15 = colander.SchemaNode(Number(), missing=None)
    disks = colander.SchemaNode(MapOf(Number()))


class Logs(Query):
    source = colander.SchemaNode(Choice("journald", "file"), missing="journald")
    unit = colander.SchemaNode(
        Text(1, 255, pattern=r"[A-Za-z0-9_@.:\\][A-Za-z0-9_@.:\\-]*", example="nginx.service"), missing=None
    )
    path = colander.SchemaNode(PATH, missing=None)
    lines = colander.SchemaNode(Whole(0, 10000), missing=100)


class FileWanted(Query):
    path = colander.SchemaNode(PATH)


class Stored(Body):
    status = colander.SchemaNode(Choice("stored"))
    path = colander.SchemaNode(Text())
    size = colander.SchemaNode(Whole(0))
    sha256 = colander.SchemaNode(Text(64, 64))


class Deploy(Body):
    host = colander.SchemaNode(Text(1, 253, pattern=r"[A-Za-z0-9:][A-Za-z0-9._:-]*", example="a host name or address"))
    ssh_user = colander.SchemaNode(Text(1, 64, pattern=r"[A-Za-z_][A-Za-z0-9_.-]*", example="a user name"))
    ssh_port = colander.SchemaNode(Whole(1, 65535), missing=22)
    ssh_key = colander.SchemaNode(PATH)
    label = colander.SchemaNode(name_text(), missing=None)
    host_key = colander.SchemaNode(HOST_KEY, missing=None)
    allow_plain_http = colander.SchemaNode(Flag(), missing=False)
