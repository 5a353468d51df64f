"""What goes into a probe and what comes out of it: the one small interface of all types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ProbeTarget:
    """Everything a probe needs to know, as plain values; `timeout` bounds the whole check in seconds."""

    monitor_id: str
    type: str
    url: str
    timeout: float = 10.0
    expected_status: int | None = None
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    follow_redirects: bool = True
    verify_tls: bool = True
    keyword: str = ""
    keyword_absent: bool = False
    json_path: str = ""
    expected_value: Any = None
    body: bytes = b""  # sent along; no monitor has one, what calls a webhook does


@dataclass(slots=True)
class Outcome:
    """`ok` is None when the probe could not look at all: that is neither up nor down."""

    ok: bool | None
    response_time_ms: float | None = None
    detail: str = ""
    phases: dict[str, float] | None = None
    certificate_days: float | None = None
    protocol: str | None = None
    http_status: int | None = None


class Refused(Exception):
    """The address policy does not let the service reach this address."""


class Unavailable(Exception):
    """This probe cannot run here (for example no right to open an ICMP socket)."""
