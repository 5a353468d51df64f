"""Who is told how a case ended: nothing that still holds ends silently, unless a person decided so."""

from __future__ import annotations

from opsapp.healing.logic.levels import PREDICTIVE_SOURCES

from .case import About

# Nobody has decided, and the condition is not known to be gone. `notified` has a message of its own.
UNRESOLVED = ("failed", "rolled_back", "inconclusive", "lost", "skipped", "expired")
# How the reasons begin of what was withdrawn because it is over, or because a person changed something.
KNOWN = ("condition_gone", "target_gone", "rule_disabled", "rule_edited", "paused", "healing is paused",
         "the case or its rule is gone")  # fmt: skip
INTERNAL = "internal_error"


def tells(outcome: str, reason: str) -> bool:
    """Whether people are told that this was not resolved. What a root cause, a window or a pause suppresses has its
    message there, or a person who wanted it."""
    if outcome == "withdrawn":
        return not reason.startswith(KNOWN)
    if outcome == "suppressed":
        return reason.startswith(INTERNAL)
    return outcome in UNRESOLVED


def has_end(about: About) -> bool:
    """Whether people who are told of a case are told when its condition is over, too. A monitor's incident tells its
    own end, and what is only predicted has not begun."""
    return str(about.subject or "").startswith("agent:") and about.source not in PREDICTIVE_SOURCES
