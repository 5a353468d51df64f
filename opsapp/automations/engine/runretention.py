"""What runs leave behind: old ones are forgotten, so many days and so many of each automation are kept. And what a
clock that is set does to those under way.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from opsapp.automations.config import RunsRetention
from opsapp.automations.logic.runs import FINAL
from opsapp.automations.resources import Run, automations_of, run_of, runs_of, standing_of
from opsapp.runtime.node import Node, node_of
from opsapp.tree.root import Root

from . import clockmoves

PAGE = 200


def forget(root: Root, now: float) -> bool:
    """Delete a page of runs that nobody wants kept; whether there may be more."""
    days = node_of(root).config[RunsRetention].days
    before = f"{int((now - days * 86400) * 1000):012x}"
    old: list[str] = []
    for run_id in runs_of(root).keys():  # noqa: SIM118 - a Folder is no mapping
        if run_id >= before or len(old) >= PAGE:
            break
        old.append(run_id)
    return sum(_drop(root, run_id) for run_id in old) >= PAGE


def trim(root: Root, first: str = "") -> str | None:
    """Delete what a page of automations has beyond the runs that each may keep; the automation to go on with, or
    None."""
    most, dropped = node_of(root).config[RunsRetention].per_automation, 0
    ids = list(islice(automations_of(root).keys(first), PAGE + 1))
    for automation_id in ids[:PAGE]:
        surplus = min(runs_of(root).count_ended(automation_id, *FINAL) - most, PAGE)
        history = standing_of(root, automation_id).history if surplus > 0 else ()
        dropped += sum(_drop(root, run_id) for run_id in list(islice(history, max(0, surplus))))
        if dropped >= PAGE:
            return automation_id  # it may have more
    return ids[PAGE] if len(ids) > PAGE else None


def _drop(root: Root, run_id: str) -> bool:
    run: Run | None = run_of(root, run_id)
    if run is None or not run.is_over:
        return False
    del runs_of(root)[run_id]
    if run.automation_id in automations_of(root):
        standing_of(root, run.automation_id).history.discard(run_id)
    else:
        runs_of(root).forget_counts(run.automation_id)
    return True


def step(node: Node) -> bool:
    first: str | None = ""
    while first is not None:
        first = node.transact(trim, first)
    return node.transact(forget, node.clock.now())


def start(node: Node) -> None:
    clockmoves.PIECES.carry(node)
    node.supervisor.add("automations-purge", partial(step, node), every=3600.0, lease="housekeeping", cleans=True)
