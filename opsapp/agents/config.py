"""The sections `agents` and `executor` of the YAML file, and what of `healing` every agent is told."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.settings import Between, Length, Most
from opsapp.wire.dataclass import frozen

from .logic import PRIVATE_LOGS

USER = Length(1, 32, r"[a-z_][a-z0-9_-]*", "a user name like opsapp")
Names = Annotated[tuple[Annotated[str, Length(1, 255)], ...], Most(1000)]
PROTECTED = (
    "init", "systemd", "sshd", "ssh", "postgresql", "postgres", "mysql", "mysqld", "mariadb", "zeo", "opsapp",
    "opsapp-agent")  # fmt: skip


@frozen
class AgentSettings:
    """`agents`: how often they report, and what they may cost."""

    report_interval_s: Annotated[float, Between(0.2, 3600)] = 15
    command_expiry_s: Annotated[float, Between(0.2, 7 * 86400)] = 3600
    max_file_bytes: Annotated[int, Between(1, 1 << 40)] = 1 << 30
    known_hosts: Annotated[str | None, Length(1, 4096)] = None
    run_as: Annotated[str, USER] = "root"
    private_logs: Names = PRIVATE_LOGS


@frozen
class ExecutorSettings:
    """`executor`: as whom the service runs what it runs on its own machine; see `engine.executor`."""

    user: Annotated[str | None, USER] = None
    socket: Annotated[str | None, Length(1, 100, r"/[^\0]+", "a path like /run/x")] = None
    python: Annotated[str | None, Length(1, 4096, r"/[^\0]+", "/usr/bin/python3")] = None
    isolation: Literal["auto", "off"] = "auto"
    no_new_privs: bool = False
    host_processes: Names = ()  # ids of automations whose scripts are not kept apart from what else runs here

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        if sound.get("socket") and "user" in sound and not sound["user"]:
            return {"socket": "needs user: the one as whom that executor runs"}
        return {}


@frozen
class NamedMetrics:
    """`metrics` of `prediction` of `healing`: what is history because it is named; * stands for any."""

    metrics: Annotated[tuple[Annotated[str, Length(1, 255)], ...], Most(100)] = ()


@frozen
class ProtectedSettings:
    """`protected` of `healing`: what nothing acts upon, on the service's machine and on agents."""

    targets: Names = ()
    processes: Names = PROTECTED
