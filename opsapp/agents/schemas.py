"""Bodies, queries and answers of /api/agents, and the YAML section `agents`."""

from __future__ import annotations

from typing import Literal

from opsapp.web.fields import Body, Paging, Query, choice, field, list_of, map_of, number, order, text, whole
from opsapp.wire.dataclass import frozen

from .logic import MEASURED, STATUSES

PATH = text(1, 4096, pattern=r"/[\s\S]*", must="be an absolute path")


@frozen
class KeyRevoked:
    status: Literal["revoked"] = "revoked"


class AgentList(Paging):
    ids = list_of(text(1, 64), 100, default=None)  # these alone
    q = text(0, 200, default=None)
    status = choice(*STATUSES, default=None)
    tag = text(1, 64, default=None)


class FleetList(AgentList):
    sort = order("status", "label", "last_seen", "os", "version", *MEASURED)


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
