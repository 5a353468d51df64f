"""The section `maintenance` of the YAML file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.settings import Between, Most, SchemaAt

DeclaredWindow = Annotated[JsonObject, SchemaAt("opsapp.maintenance.schemas.NewWindow")]


@dataclass(frozen=True)
class MaintenanceSettings:
    """The windows that are declared there, and how far ahead the status page tells of windows."""

    windows: Annotated[tuple[DeclaredWindow, ...], Most(1000)] = ()
    announce_days: Annotated[float, Between(0, 365)] = 30
