"""What runs leave behind: the old ones are forgotten, so many days and so many of each automation are kept."""

from __future__ import annotations

from itertools import islice

from opsapp.automations.resources import Run, automations_of, runs_of
from opsapp.runtime.node import Node
from opsapp.runtime.wakes import node_of
from opsapp.tree.root import Root

PAGE = 200


def forget(root: Root, now: float) -> bool:
    """Drop a page of runs that nobody wants kept; whether there may be more."""
    keep = node_of(root._p_jar).config["retention"]["runs"]
    before = f"{int((now - keep['days'] * 86400) * 1000):012x}"
    old: list[str] = []
    for run_id in runs_of(root).keys():  # noqa: SIM118 - a Folder is no mapping
        if run_id >= before or len(old) >= PAGE:
            break
        old.append(run_id)
    dropped = sum(_drop(root, run_id) for run_id in old)
    for automation in automations_of(root).values():
        surplus = len(automation.history) - keep["per_automation"]
        if surplus > 0:
            dropped += sum(_drop(root, run_id) for run_id in list(islice(automation.history, min(surplus, PAGE))))
        if dropped >= PAGE:
            return True
    return dropped >= PAGE


def _drop(root: Root, run_id: str) -> bool:
    run: Run | None = runs_of(root).get(run_id)
    if run is None or not run.is_over:
        return False
    automation = automations_of(root).get(run.automation_id)
    if automation is not None:
        automation.history.discard(run_id)
    del runs_of(root)[run_id]
    return True


def start(node: Node) -> None:
    node.supervisor.add(
        "automations-purge", lambda: node.transact(forget, node.clock.now()), every=3600.0, lease="housekeeping"
    )
