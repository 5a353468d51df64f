"""What others see of a run: its output, the `run` event of /api/stream, the message about a failure."""

from __future__ import annotations

from opsapp.automations.records import RunSummary
from opsapp.automations.resources import Run
from opsapp.lib.durations import whole
from opsapp.lib.lastwords import telling_line
from opsapp.notify.engine import tell
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.runtime.wakes import after_commit
from opsapp.tree.root import Root
from opsapp.wire.records import plain

from .watchers import changed

LOOKED_AT = 8000  # characters at the end of an output


def write(root: Root, run: Run, text: str, now: float) -> None:
    """More output; whoever follows it here is woken by the commit."""
    run.write(text, now)
    _wake(root, run)


def tell_people(root: Root, run: Run) -> None:
    emit(root, "run", plain(summary(run)) | {"agents": [agent_id for agent_id, *_ in run.commands]})
    _wake(root, run)


def _wake(root: Root, run: Run) -> None:
    after_commit(root, changed, node_of(root), run.id)


def started(run: Run) -> dict[str, str]:
    """The run's start, for whoever has asked for it."""
    shown = {"run_id": run.id, "status": run.status}
    return shown if run.request_id is None else {**shown, "request_id": run.request_id}


def summary(run: Run) -> RunSummary:
    return RunSummary(
        run.id,
        run.automation_id,
        run.name,
        run.kind,
        run.status,
        run.reason,
        whole(run.started),
        whole(run.finished),
        run.requested_by,
        run.origin,
    )


def said_last(run: Run) -> str:
    """The line of its output that says why it failed; secrets are hidden there already."""
    start = max(run.wrote_before, run.output.size - LOOKED_AT)
    return telling_line("".join(text for _, text, _ in run.output.since(start, LOOKED_AT)))


def tell_of_failure(root: Root, run: Run, now: float) -> None:
    name, said = run.name, said_last(run)
    tell(
        root,
        now,
        key=f"automation:{run.automation_id}",
        kind=f"run.{run.status}",
        severity="warning",
        title=f"{name}: {run.status}",
        text=(f"{said}\n" if said else "")
        + f"Run {run.id} of {name} ended {run.status}"
        + (f": {run.reason}" if run.reason else "")
        + ".",
        tags=("automation",),
        ids={"run": run.id, "automation": run.automation_id},
    )
