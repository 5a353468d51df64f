"""What is stored under /api/automations and /api/secrets, and the queues of runs beside it."""

from __future__ import annotations

from typing import Any

from opsapp.tree.root import Root

from .automations import (
    Automation,
    Automations,
    AutomationState,
    Definition,
    Template,
    Templates,
    WebhookAddress,
    Webhooks,
)
from .board import KEY, Board, board_of
from .runs import Output, Run, Runs
from .secrets import Secret, Secrets, reseal, reveal

__all__ = [
    "Automation",
    "AutomationState",
    "Automations",
    "Board",
    "Definition",
    "Output",
    "Run",
    "Runs",
    "Secret",
    "Secrets",
    "Template",
    "Templates",
    "WebhookAddress",
    "Webhooks",
    "automations_of",
    "board_of",
    "reseal",
    "reveal",
    "runs_of",
    "secrets_of",
    "set_up",
]


def set_up(root: Root) -> None:
    """Evolve step: no automations yet."""
    root["api"]["automations"] = Automations()
    root["api"]["secrets"] = Secrets()
    root.system[KEY] = Board()


def automations_of(root: Root) -> Any:
    return root["api"]["automations"]


def runs_of(root: Root) -> Any:
    return root["api"]["automations"].runs


def secrets_of(root: Root) -> Any:
    return root["api"]["secrets"]
