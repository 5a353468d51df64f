"""Queries and smaller bodies of /api/status; `opsapp.statuspages.records` declares the page and its subscribers."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from opsapp.lib.queries import LongQuery
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Text


@frozen
class NewLogo:
    component: ClassVar[str] = "Logo"

    image: Annotated[str, Text(1, 300_000, pattern=r"[A-Za-z0-9+/]+={0,2}", must="be a picture in base64")]


@frozen
class PagePassword:
    component: ClassVar[str] = "PagePassword"
    sample: ClassVar[dict[str, str]] = {"password": "correct horse battery"}

    password: Annotated[str, Text(10, 256)]


@frozen
class SubscriptionQuery(LongQuery):
    state: Literal["pending", "confirmed"] | None = None
