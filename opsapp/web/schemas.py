"""What the YAML file says of the web itself, the log and the time zone."""

from __future__ import annotations

import ipaddress
import zoneinfo
from urllib.parse import urlsplit

import colander

from opsapp.runtime import packing
from opsapp.wire.urls import web_problem

from .fields import Body, Choice, Flag, ListOf, Nullable, Number, Text, Whole, check


def _url_problem(value: str) -> str | None:
    wrong = web_problem(value, credentials=False)
    if wrong:
        return wrong
    parts = urlsplit(value)
    return "must be an http or https address without a query" if parts.query or parts.fragment else None


def network_problem(value: str) -> str | None:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return "must be an address or a network like 10.0.0.0/8"
    return None


def _zone_problem(value: str) -> str | None:
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return "must be the name of a time zone like Europe/Berlin"
    return None


class WebSection(Body):
    base_url = colander.SchemaNode(
        Nullable(Text(1, 500)), missing=None, validator=check(lambda url: url and _url_problem(url))
    )
    trusted_proxies = colander.SchemaNode(
        ListOf(colander.SchemaNode(Text(1, 60), validator=check(network_problem)), 100), missing=()
    )
    scrape_token = colander.SchemaNode(Nullable(Text(16, 200)), missing=None)


class LimitsSection(Body):
    """`web.limits`: what a client may cost. A key left out keeps the server's own default."""

    head_timeout_s = colander.SchemaNode(Number(0.1, 600), missing=30)
    body_timeout_s = colander.SchemaNode(Number(0.1, 600), missing=30)
    idle_timeout_s = colander.SchemaNode(Number(0.1, 3600), missing=75)
    send_timeout_s = colander.SchemaNode(Number(0.1, 600), missing=30)
    body_grace_s = colander.SchemaNode(Number(0.1, 600), missing=10)
    min_body_rate_bytes = colander.SchemaNode(Whole(1, 1 << 30), missing=1024)
    max_body_bytes = colander.SchemaNode(Whole(1024, 1 << 20), missing=1 << 20)
    max_buffered_bytes = colander.SchemaNode(Whole(1 << 20, 1 << 40), missing=256 << 20)
    streams_per_user = colander.SchemaNode(Whole(1, 100_000), missing=20)
    agents_share = colander.SchemaNode(Number(0, 0.8), missing=0.5)
    address_share = colander.SchemaNode(Number(0.01, 1), missing=0.25)
    judged_from_bytes = colander.SchemaNode(Whole(0, 1 << 30), missing=64 << 10)


class LogSection(Body):
    format = colander.SchemaNode(Choice("text", "json"), missing="text")
    level = colander.SchemaNode(Choice("debug", "info", "warning", "error"), missing="info")


class PackSection(Body):
    """`store.pack`: when an embedded store drops its past by itself."""

    enabled = colander.SchemaNode(Flag(), missing=packing.DEFAULTS["enabled"])
    days = colander.SchemaNode(Whole(0, 3650), missing=packing.DEFAULTS["days"])
    hour = colander.SchemaNode(Nullable(Whole(0, 23)), missing=packing.DEFAULTS["hour"])
    growth = colander.SchemaNode(Number(1, 1000), missing=packing.DEFAULTS["growth"])
    least_mb = colander.SchemaNode(Whole(0, 1 << 20), missing=packing.DEFAULTS["least_mb"])
    latest_days = colander.SchemaNode(Number(0.001, 3650), missing=packing.DEFAULTS["latest_days"])
    look_s = colander.SchemaNode(Number(0.1, 86400), missing=packing.DEFAULTS["look_s"])


class Config(Body):
    """The whole file. Sections are added by the rooms; what belongs to no room stands here."""

    timezone = colander.SchemaNode(Text(1, 60), missing="UTC", validator=check(_zone_problem))
