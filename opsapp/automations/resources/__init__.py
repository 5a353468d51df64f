"""What is stored under /api/automations and /api/secrets, and the queues of runs beside it."""

from __future__ import annotations

from typing import Any

from opsapp.tree.reading import is_sound
from opsapp.tree.root import Root

from .automations import (
    Automation,
    Automations,
    Definition,
    SchedulePlan,
    Template,
    Templates,
    WebhookAddress,
    Webhooks,
    digests,
    with_parts,
)
from .board import KEY, RunBoard, board_of
from .places import automations_of, secrets_of
from .runs import Output, Run, Runs
from .secrets import Secret, Secrets, all_values, forbidden, reseal, reveal, unusable
from .standing import AutomationStanding

__all__ = [
    "Automation",
    "AutomationStanding",
    "Automations",
    "Definition",
    "Output",
    "Run",
    "RunBoard",
    "Runs",
    "SchedulePlan",
    "Secret",
    "Secrets",
    "Template",
    "Templates",
    "WebhookAddress",
    "Webhooks",
    "all_values",
    "automations_of",
    "board_of",
    "digests",
    "forbidden",
    "is_busy",
    "reseal",
    "reveal",
    "run_of",
    "runs_of",
    "secrets_of",
    "set_up",
    "standing_of",
    "unusable",
    "with_parts",
]


def set_up(root: Root) -> None:
    """Evolve step: no automations yet."""
    automations_of.put(root, Automations(Runs()))
    secrets_of.put(root, Secrets())
    root.system[KEY] = RunBoard()


def standing_of(root: Root, automation_id: str) -> AutomationStanding:
    return AutomationStanding(automations_of(root).standings, automation_id)


def runs_of(root: Root) -> Any:
    return automations_of(root).runs


def run_of(root: Root, run_id: str | None) -> Run | None:
    """The run with what it does; None where there is none, or it cannot be read."""
    runs = runs_of(root)
    run: Run | None = runs.find(run_id)
    return run if run is not None and is_sound(runs, "definition of run", run.id, run.definition) else None


def is_busy(root: Root, state: AutomationStanding) -> bool:
    """One that cannot be read ends never, and keeps no other waiting."""
    if state.current is not None and run_of(root, state.current) is None:
        state.change(current="")
    return state.current is not None
