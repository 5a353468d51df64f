"""What pages say of traces: whether there are any, and the id under which people search for one."""

from __future__ import annotations

from opsapp.automations.records import RunRecord
from opsapp.runtime.node import Node

from .config import TracingSettings
from .logic.ids import trace_of

__all__ = ["is_traced", "trace_of_case", "trace_of_run"]

FOR_A_HEAL = "heal "  # how the origin of a run begins that a heal wants; the heal's id, and so the case's, follows


def is_traced(node: Node) -> bool:
    return node.config[TracingSettings].endpoint is not None


def trace_of_case(case_id: str) -> str:
    return trace_of("case", case_id).hex()


def trace_of_run(run: RunRecord) -> str | None:
    """None for a part of another run, which stands in the trace of that."""
    if run.origin.startswith(FOR_A_HEAL):
        return trace_of_case(run.origin.removeprefix(FOR_A_HEAL).partition(".")[0])
    return None if run.parent else trace_of("run", run.run_id).hex()
