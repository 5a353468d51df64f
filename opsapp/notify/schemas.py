"""Queries and smaller answers of /api/notifications; `opsapp.notify.records` declares the channels."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.lib.queries import LongQuery
from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import Choice, Text

from .logic import STATUSES


@dataclass(frozen=True)
class Tested:
    status: Literal["sent"]
    delivery_id: str


@dataclass(frozen=True)
class DeliveryQuery(LongQuery):
    status: Annotated[str | None, Choice(*STATUSES)] = None
    channel_id: Annotated[str | None, Text(1, 64)] = None
