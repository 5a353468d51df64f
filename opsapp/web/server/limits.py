"""What a client may cost: times, sizes and counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import Any

from opsapp.web.config import LimitSettings
from opsapp.wire.dataclass import frozen


@frozen(slots=True)
class Limits:
    """Seconds, bytes and counts."""

    head_timeout: float = 30.0  # from a head's first byte to its last
    body_timeout: float = 30.0  # without progress
    body_grace: float = 10.0  # how long a body may take, besides a second for each so many bytes:
    min_body_rate: int = 1024
    idle_timeout: float = 75.0  # between requests
    send_timeout: float = 30.0  # a client that does not read
    max_body: int = 1 << 20
    max_buffered: int = 256 << 20  # bytes of bodies that have arrived, of all connections together
    address_share: float = 0.25  # the part of it that one address may hold
    judged_from: int = 64 << 10  # a larger body is not read before its head was found good
    max_connections: int = 12_000
    streams_per_user: int = 20  # streams, sessions and uploads that one caller has open
    agents_share: float = 0.5  # the part of all connections that people's streams leave to agents
    max_waiting: int = 1_000  # requests that wait for a thread
    missed_after: float = 0.02  # a request that has waited so long is dropped if its client has gone
    threads: int = 2
    drain: float = 2.0  # how long a node among others waits for what a proxy has sent already, when it stops
    stop_after: float = 4.0  # how long running requests may go on when the server stops

    def with_settings(self, settings: Mapping[str, Any]) -> Limits:
        changed: dict[str, Any] = {}
        for field in fields(self):
            if field.name in settings:
                try:
                    changed[field.name] = type(getattr(self, field.name))(settings[field.name])
                except ValueError:
                    raise ValueError(f"{field.name} must be a number") from None
        return replace(self, **changed)

    def with_config(self, settings: LimitSettings) -> Limits:
        """These limits with those of the YAML's `web.limits`, whose keys also say their unit. A default there changes
        nothing, because the ini file may say it."""
        default = asdict(LimitSettings())
        changed = {name: value for name, value in asdict(settings).items() if value != default[name]}
        return self.with_settings({_UNIT.sub("", name): value for name, value in changed.items()})


_UNIT = re.compile("_(s|bytes)$")
