"""A case is one heal attempt: what its steps, each with a verdict of its own, come to for trust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

FAILED = ("failed", "rolled_back")
TAKEN = ("verified", *FAILED, "inconclusive", "lost")  # outcomes of a step that was taken, or could not be
CHAIN_OVER = (*FAILED, "skipped")  # outcomes of a case whose chain has come to its end


class Tried(NamedTuple):
    """A step that was executed: what is known of it, and under which definition of the rule it was begun."""

    judged: str
    definition: str | None


def comes_to(tried: Sequence[Tried], outcome: str, definition: str) -> str | None:
    """`verified`, `failed`, or `inconclusive`, which counts neither way; None when nothing was executed.

    `outcome` is how the case ended. What was begun under another definition of the rule is no evidence about this one.
    A chain that was cut short (a person, a window, the condition gone by itself) has not failed.
    """
    steps = [step.judged for step in tried if step.definition in (None, definition)]
    if not steps:
        return None
    if "verified" in steps:
        return "verified"
    return "failed" if outcome in CHAIN_OVER and steps[-1] in FAILED else "inconclusive"
