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
    "healed_by",
    "is_busy",
    "outermost",
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

MOST_PARENTS = 50  # of a run: automations made of automations
HEAL = "heal "  # how the origin of a run begins that a heal wants


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


def outermost(root: Root, run: Run) -> Run:
    """The run that this one is a part of, as far as they can be read."""
    for _ in range(MOST_PARENTS):
        above = run_of(root, run.parent) if run.parent else None
        if above is None:
            break
        run = above
    return run


def healed_by(run: Run) -> str | None:
    """The id of the heal that wants it: a case's and the step's number."""
    return run.origin.removeprefix(HEAL) if run.origin.startswith(HEAL) else None


def is_busy(root: Root, state: AutomationStanding) -> bool:
    """One that cannot be read ends never, and keeps no other waiting."""
    if state.current is not None and run_of(root, state.current) is None:
        state.change(current="")
    return state.current is not None
