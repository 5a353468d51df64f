"""Runs made of other runs: their parts are durable runs of their own, so there is nothing to take up again.

What a parent knows of its parts, and which comes next. `flow` begins them.
"""

from __future__ import annotations

from typing import Any

from opsapp.automations.logic.runs import FINAL
from opsapp.automations.logic.workflow import CompositeParams, Step, WorkflowParams
from opsapp.automations.resources import Automation, Run, automations_of, runs_of
from opsapp.lib.problems import Invalid, Problem
from opsapp.tree.root import Root

from .notices import write


def plan_of(parent: Run) -> CompositeParams | WorkflowParams:
    params = parent.params
    assert isinstance(params, CompositeParams | WorkflowParams)
    return params


def following(parent: Run) -> Step:
    """The step that follows the part which ended last."""
    if parent.cancelled_by is not None:
        return Step(None, None, "cancelled", parent.reason)
    done = [(name, status) for name, _, status in parent.parts]  # in their order
    return plan_of(parent).following(done)


def handed_on(parent: Run, part: Automation) -> dict[str, Any]:
    """The inputs of the parent that the part declares too. What the parent was not given is the part's own default."""
    declared = part.settings.gives
    return {name: value for name, value in parent.inputs.items() if name in declared and value != ""}


def enter(root: Root, parent: Run, name: str, part: Run, now: float) -> bool:
    """Whether this new part is under way: it may have ended at once."""
    parent.parts += ((name, part.id, part.status),)
    if part.status not in FINAL:
        return True
    _say(root, parent, name, part, now)
    return False


def refuse(root: Root, parent: Run, name: str, automation_id: str, why: str, now: float) -> None:
    automation = automations_of(root).get(automation_id)
    named = automation_id if automation is None else automation.name
    write(root, parent, f"[{_label(parent, name)}: {named}: not run: {why}]\n", now)
    parent.parts += ((name, "", "failed"),)


def refusal_of(problem: Problem) -> str:
    """The refusal in one sentence, because there are no fields beside it."""
    if not isinstance(problem, Invalid):
        return problem.message
    return "; ".join(f"{field} {message}" for field, message in problem.by_field().items())


def note_end(root: Root, parent: Run, part: Run, now: float) -> bool:
    """Whether the parent goes on: not when it is over, or has not heard of this part yet."""
    if parent.is_over or (part.step, part.id) not in [(name, run_id) for name, run_id, _ in parent.parts]:
        return False
    parent.parts = tuple(
        (name, run_id, part.status if run_id == part.id else status) for name, run_id, status in parent.parts
    )
    _say(root, parent, part.step or "", part, now)
    return True


def _say(root: Root, parent: Run, name: str, part: Run, now: float) -> None:
    """A line of the parent's output about a part."""
    said = f"{part.status}: {part.reason}" if part.reason else part.status
    write(root, parent, f"[{_label(parent, name)}: {part.settings.name}: {said}]\n", now)


def _label(parent: Run, step: str) -> str:
    return str(int(step) + 1) if parent.settings.type == "composite" else step


def open_of(root: Root, run: Run) -> list[Run]:
    """Those that are not over."""
    ids = [part for _, part, status in run.parts if status not in FINAL]
    return [part for part in runs_of(root).some(ids) if not part.is_over]
