"""What is stored under /api/automations and /api/secrets, and the queues of runs beside it."""

from __future__ import annotations

from typing import Any

from opsapp.tree.root import Root

from .automations import (
    Automation,
    Automations,
    Definition,
    Template,
    Templates,
    WebhookAddress,
    Webhooks,
    digests,
    with_parts,
)
from .board import KEY, Board, board_of
from .plans import Plan
from .runs import Output, Run, Runs, index_ended
from .secrets import Secret, Secrets, reseal, reveal
from .standing import Standing, gather

__all__ = [
    "Automation",
    "Automations",
    "Board",
    "Definition",
    "Output",
    "Plan",
    "Run",
    "Runs",
    "Secret",
    "Secrets",
    "Standing",
    "Template",
    "Templates",
    "WebhookAddress",
    "Webhooks",
    "automations_of",
    "board_of",
    "digests",
    "gather_standings",
    "index_runs",
    "reseal",
    "reveal",
    "runs_of",
    "secrets_of",
    "set_up",
    "standing_of",
    "with_parts",
]


def set_up(root: Root) -> None:
    """Evolve step: no automations yet."""
    root["api"]["automations"] = Automations()
    root["api"]["secrets"] = Secrets()
    root.system[KEY] = Board()


def gather_standings(root: Root) -> None:
    """Evolve step: how automations stand, from each of them into one place."""
    gather(automations_of(root))


def index_runs(root: Root) -> None:
    """Evolve step: runs by how they ended."""
    index_ended(runs_of(root), board_of(root).queue)


def standing_of(root: Root, automation_id: str) -> Standing:
    return Standing(root["api"]["automations"].standings, automation_id)


def automations_of(root: Root) -> Any:
    return root["api"]["automations"]


def runs_of(root: Root) -> Any:
    return root["api"]["automations"].runs


def secrets_of(root: Root) -> Any:
    return root["api"]["secrets"]
