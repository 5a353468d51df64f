"""The sections `server`, `web`, `web.limits` and `log` of the YAML file."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from opsapp.lib.networks import network_problem
from opsapp.lib.settings import Between, CheckedBy, Length, Most
from opsapp.wire.dataclass import frozen
from opsapp.wire.urls import web_problem

Network = Annotated[str, Length(1, 60), CheckedBy(network_problem)]


def _url_problem(value: str) -> str | None:
    wrong = web_problem(value, credentials=False)
    if wrong:
        return wrong
    parts = urlsplit(value)
    return "must be an http or https address without a query" if parts.query or parts.fragment else None


PublicAddress = Annotated[str | None, Length(1, 500), CheckedBy(_url_problem)]


@frozen
class ServerSettings:
    """`server`: another name of `web.base_url`, which `configfile.validate` fills from it."""

    public_url: PublicAddress = None


@frozen
class WebSettings:
    """`web`"""

    base_url: PublicAddress = None
    trusted_proxies: Annotated[tuple[Network, ...], Most(100)] = ()
    scrape_token: Annotated[str | None, Length(16, 200)] = None


@frozen
class LimitSettings:
    head_timeout_s: Annotated[float, Between(0.1, 600)] = 30
    body_timeout_s: Annotated[float, Between(0.1, 600)] = 30
    idle_timeout_s: Annotated[float, Between(0.1, 3600)] = 75
    send_timeout_s: Annotated[float, Between(0.1, 600)] = 30
    body_grace_s: Annotated[float, Between(0.1, 600)] = 10
    min_body_rate_bytes: Annotated[int, Between(1, 1 << 30)] = 1024
    max_body_bytes: Annotated[int, Between(1024, 1 << 20)] = 1 << 20
    max_buffered_bytes: Annotated[int, Between(1 << 20, 1 << 40)] = 256 << 20
    streams_per_user: Annotated[int, Between(1, 100_000)] = 20
    agents_share: Annotated[float, Between(0, 0.8)] = 0.5
    address_share: Annotated[float, Between(0.01, 1)] = 0.25
    judged_from_bytes: Annotated[int, Between(0, 1 << 30)] = 64 << 10


@frozen
class LogSettings:
    """`log`"""

    format: Literal["text", "json"] = "text"
    level: Literal["debug", "info", "warning", "error"] = "info"
