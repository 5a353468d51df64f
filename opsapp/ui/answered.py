"""Answers that the API writes as JSON, read as records: of each, what pages show.

Must not: declare what the API answers as a record already (`records` of its room).
"""

from __future__ import annotations

from opsapp.healing.records import InletLabels
from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import AnyValues


@dataclass(frozen=True)
class HostPoint:
    """What a host reported within a bucket, as means."""

    time: int
    disks: dict[str, float]
    cpu_percent: float | None = None
    mem_percent: float | None = None
    disk_percent: float | None = None
    swap_percent: float | None = None
    load1: float | None = None
    load5: float | None = None
    load15: float | None = None
    rx_bytes_s: float | None = None
    tx_bytes_s: float | None = None


@dataclass(frozen=True)
class ChecksPoint:
    """What the checks of a monitor came to within a bucket."""

    time: int
    status: str
    p95_ms: float | None = None
    uptime: float | None = None


@dataclass(frozen=True)
class PluginPoint:
    """What a plugin measured within a bucket, as means."""

    time: int
    metrics: dict[str, float]


@dataclass(frozen=True)
class DoctorFinding:
    level: str
    what: str
    said: str


@dataclass(frozen=True)
class DoctorFindings:
    findings: tuple[DoctorFinding, ...]


@dataclass(frozen=True)
class ConfiguredKey:
    name: str
    value: str
    usual: str
    changed: bool


@dataclass(frozen=True)
class Configured:
    from_file: bool
    settings: tuple[ConfiguredKey, ...]


@dataclass(frozen=True)
class StoreShown:
    sizes: dict[str, float]
    packed_at: int | None
    pack_problem: str | None


@dataclass(frozen=True)
class StatusSummary:
    """What visitors see, as far as a page asks whether there is anything."""

    monitors: tuple[AnyValues, ...]


@dataclass(frozen=True)
class InletShown:
    id: str
    name: str
    mapping: InletLabels
    created_by: str
    created_at: int
    firing: int
    unknown_targets: int
    last_event_at: int | None
    refused: int
    last_refusal: str


@dataclass(frozen=True)
class SubscriberCounts:
    confirmed: dict[str, int]
    pending: int
    waiting: int
