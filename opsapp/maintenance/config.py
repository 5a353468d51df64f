"""The section `maintenance` of the YAML file."""

from __future__ import annotations

from typing import Annotated

from opsapp.lib.settings import Between, Most
from opsapp.wire.dataclass import frozen

from .records import WindowRecord


@frozen
class MaintenanceSettings:
    """`announce_days`: how far ahead the status page tells."""

    windows: Annotated[tuple[WindowRecord, ...], Most(1000)] = ()
    announce_days: Annotated[float, Between(0, 365)] = 30
