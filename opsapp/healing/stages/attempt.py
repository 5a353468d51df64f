"""Judges a case as one heal attempt: what its steps come to for trust, and the cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from opsapp.wire.causes import CAUSES
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice

FAILED = ("failed", "rolled_back")
TAKEN = ("verified", *FAILED, "inconclusive", "lost")  # outcomes of a step that was taken, or could not be
CHAIN_OVER = (*FAILED, "skipped")  # outcomes of a case whose chain has come to its end


@frozen
class CauseNamed:
    """As the host said before the last step or after it failed."""

    id: Annotated[str, Choice(*CAUSES)]
    text: str


@frozen
class CaseCause(CauseNamed):
    """`evidence`: for operators; of the unit of a private log for admins."""

    evidence: tuple[str, ...]


@frozen
class FoundCause(CaseCause):
    """`unit`: whose log the evidence may be of."""

    unit: str | None = None


class Tried(NamedTuple):
    """An executed step, and the rule's definition when it was begun."""

    judged: str
    definition: str | None


def comes_to(tried: Sequence[Tried], outcome: str, definition: str) -> str | None:
    """`inconclusive` counts neither way; None: nothing was executed. `outcome`: of the case. What was begun under
    another definition is no evidence. A chain that was cut short (a person, a window, over by itself) has not
    failed."""
    steps = [step.judged for step in tried if step.definition in (None, definition)]
    if not steps:
        return None
    if "verified" in steps:
        return "verified"
    return "failed" if outcome in CHAIN_OVER and steps[-1] in FAILED else "inconclusive"
