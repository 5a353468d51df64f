"""The section `tracing` of the YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from opsapp.lib.settings import Between, CheckedBy, Length
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import DeclaredField, MapOf, Text
from opsapp.wire.records import Sealed
from opsapp.wire.urls import web_problem

TRACES = "/v1/traces"


def endpoint_problem(url: str) -> str | None:
    return web_problem(url, credentials=False) or ("must have no query" if "?" in url or "#" in url else None)


HEADERS = MapOf(DeclaredField("", Text(0, 4000, r"[^\r\n]*", must="be one line")), 20, Text(1, 200, r"[A-Za-z0-9-]+"))


@frozen
class TracingSettings:
    """Where spans go. Without an `endpoint` there are none."""

    endpoint: Annotated[str | None, Length(1, 500), CheckedBy(endpoint_problem)] = None
    headers: Annotated[Mapping[str, str], HEADERS, Sealed()] = field(default_factory=dict)
    sample: Annotated[float, Between(0, 1)] = 1.0
    service: Annotated[str, Length(1, 100)] = "opsapp"
    timeout_s: Annotated[float, Between(0.1, 60)] = 10

    @property
    def url(self) -> str:
        """What the endpoint names is the base, as with `OTEL_EXPORTER_OTLP_ENDPOINT`."""
        base = (self.endpoint or "").rstrip("/")
        return base if base.endswith(TRACES) else base + TRACES
