"""A case is one heal attempt: what its steps, each with a verdict of its own, come to for trust, and by what cause."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from opsapp.wire.causes import CAUSES
from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import Choice

FAILED = ("failed", "rolled_back")
TAKEN = ("verified", *FAILED, "inconclusive", "lost")  # outcomes of a step that was taken, or could not be
CHAIN_OVER = (*FAILED, "skipped")  # outcomes of a case whose chain has come to its end


@dataclass(frozen=True)
class CauseNamed:
    """Why it was as it was, as the host said before the last step or after it failed."""

    id: Annotated[str, Choice(*CAUSES)]
    text: str


@dataclass(frozen=True)
class CaseCause(CauseNamed):
    """`evidence`: lines that show it, for operators; of the unit of a private log for admins."""

    evidence: tuple[str, ...]


@dataclass(frozen=True)
class FoundCause(CaseCause):
    """`unit`: whose log the evidence may be of."""

    unit: str | None = None


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
