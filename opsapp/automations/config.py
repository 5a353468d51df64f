"""The sections `automations` and `retention.runs` of the YAML file."""

from __future__ import annotations

from typing import Annotated

from opsapp.lib.settings import Between, Length
from opsapp.wire.dataclass import frozen

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@frozen
class ProgramLimits:
    """Limits of each program on the server; null: none."""

    open_files: Annotated[int | None, Between(16, 1_000_000)] = 1024
    memory_mb: Annotated[int | None, Between(16, 1 << 20)] = 4096
    file_mb: Annotated[int | None, Between(1, 1 << 20)] = 1024
    cpu_s: Annotated[int | None, Between(1, 86_400)] = None


@frozen
class AutomationSettings:
    server_scripts: bool = True
    max_running: Annotated[int, Between(1, 1000)] = 20
    max_waiting: Annotated[int, Between(1, 10_000)] = 100
    kill_grace_s: Annotated[float, Between(0.1, 5)] = 5
    retry_delay_s: Annotated[float, Between(0, 3600)] = 5
    webhook_calls_per_minute: Annotated[int, Between(1, 100_000)] = 60
    path: Annotated[str, Length(1, 4000)] = PATH
    limits: ProgramLimits = ProgramLimits()


@frozen
class RunsRetention:
    days: Annotated[int, Between(1, 3650)] = 90
    per_automation: Annotated[int, Between(10, 100_000)] = 1000
