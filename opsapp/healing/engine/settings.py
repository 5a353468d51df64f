"""What of healing is configured: `healing:` and `approvals:` of the YAML, as the stages want it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opsapp.healing.stages.trust import Breaker

if TYPE_CHECKING:
    from opsapp.runtime.node import Node


def settings_of(node: Node) -> dict[str, Any]:
    return {**node.config["healing"], "approval_expiry_s": float(node.config["approvals"]["expiry_s"])}


def breaker_of(settings: Mapping[str, Any]) -> Breaker:
    return Breaker(int(settings["breaker"]["failures"]), float(settings["breaker"]["window_s"]))
