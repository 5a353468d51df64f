"""Decides who is told how a case ended: what still holds never ends silently, unless a person decided so."""

from __future__ import annotations

from opsapp.healing.logic.levels import PREDICTIVE_SOURCES

from .case import About

# Nobody has decided, and the condition is not known to be gone. `notified` has a message of its own.
UNRESOLVED = ("failed", "rolled_back", "inconclusive", "lost", "skipped", "expired")
# How the reasons begin of what was withdrawn because it is over, or because a person changed something.
KNOWN = ("condition_gone", "target_gone", "rule_disabled", "rule_edited", "paused", "healing is paused",
         "the case or its rule is gone", "wave_stopped")  # fmt: skip
INTERNAL = "internal_error"


def tells(outcome: str, reason: str, *, acted: bool = False) -> bool:
    """What a root cause, window or pause suppresses has its message there; but not a chain that was stopped after a
    step."""
    if outcome == "withdrawn":
        return not reason.startswith(KNOWN)
    if outcome == "suppressed":
        return acted or reason.startswith(INTERNAL)
    return outcome in UNRESOLVED


BY_HAND = "see to it by hand."
NEXT = {
    "failed": f"{BY_HAND} The rule has no further step.",
    "rolled_back": f"{BY_HAND} What was done is undone.",
    "inconclusive": "look whether it is well: nobody could measure it.",
    "lost": "look on the host whether the action was done, before anybody repeats it.",
    "skipped": f"{BY_HAND} What the rule could do has not helped here before; give it another step.",
    "expired": f"{BY_HAND} Nobody has decided in time.",
    "suppressed": f"{BY_HAND} What the rule would do next was stopped.",
}


def what_next(outcome: str) -> str:
    return NEXT.get(outcome, BY_HAND)


def has_end(about: About) -> bool:
    """Whether its end is told too. A monitor's incident tells its own, and a prediction has not begun."""
    return str(about.subject or "").startswith("agent:") and about.source not in PREDICTIVE_SOURCES
