"""What of healing is configured: `healing:` and `approvals:` of the YAML, as the stages want it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opsapp.runtime.node import Node


def settings_of(node: Node) -> dict[str, Any]:
    return {**node.config["healing"], "approval_expiry_s": float(node.config["approvals"]["expiry_s"])}
