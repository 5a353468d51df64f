"""Runs that are made of other runs: their parts are durable runs of their own, so there is nothing to take up again.

A part that ends takes its parent on in the same transaction.
"""

from __future__ import annotations

from opsapp.automations.logic import workflow
from opsapp.automations.logic.runs import FINAL
from opsapp.automations.resources import Run, runs_of
from opsapp.lib.problems import Conflict, Invalid, NotFound
from opsapp.tree.root import Root

from . import flow


def begin(root: Root, run: Run, now: float) -> None:
    _take(root, run, workflow.first(run.definition.kind, run.definition.params), now)


def part_ended(root: Root, part: Run, now: float) -> None:
    """The parent goes on, or comes to its own end."""
    parent = runs_of(root).get(part.parent)
    if parent is None or parent.is_over or (part.step, part.id) not in [each[:2] for each in parent.parts]:
        return
    parent.parts = tuple(
        (name, run_id, part.status if run_id == part.id else how) for name, run_id, how in parent.parts
    )
    _say(root, parent, part.step or "", part, now)
    _go_on(root, parent, now)


def _go_on(root: Root, parent: Run, now: float) -> None:
    if parent.cancelled_by is not None:
        flow.end(root, parent, "cancelled", now, reason=parent.reason)
        return
    done = [(name, status) for name, _, status in parent.parts]
    _take(root, parent, workflow.following(parent.definition.kind, parent.definition.params, done), now)


def _take(root: Root, parent: Run, step: workflow.Step, now: float) -> None:
    """One step after the other, as long as they end at once."""
    if step.automation_id is None or step.name is None:
        flow.end(root, parent, step.status, now, reason=step.reason)
        return
    said = _edited(root, parent, step.automation_id)
    part = None
    if said is None:
        try:
            part = flow.ask(
                root,
                now,
                step.automation_id,
                given={},
                by=parent.requested_by,
                origin=f"run:{parent.id}",
                parent=parent,
                step=step.name,
            )
        except (Conflict, NotFound, Invalid) as refusal:
            said = refusal.message
    if part is None:
        flow.write(root, parent, f"[{step.name}: not run: {said}]\n", now)
        parent.parts += ((step.name, "", "failed"),)
        _go_on(root, parent, now)
        return
    parent.parts += ((step.name, part.id, part.status),)
    if part.status in FINAL:
        _say(root, parent, step.name, part, now)
        _go_on(root, parent, now)


def _edited(root: Root, parent: Run, automation_id: str) -> str | None:
    """What was approved is all that runs."""
    wanted = parent.uses.get(automation_id)
    if wanted is None:
        return None
    return None if flow.find(root, automation_id).definition.digest == wanted else "it was edited after the approval"


def _say(root: Root, parent: Run, name: str, part: Run, now: float) -> None:
    """A line of the parent's output about a part."""
    label = str(int(name) + 1) if parent.definition.kind == "composite" else name
    said = f": {part.reason}" if part.reason else ""
    flow.write(root, parent, f"[{label}: {part.settings['name']}: {part.status}{said}; run {part.id}]\n", now)
