"""Trust levels and risk classes, and what they allow together."""

from __future__ import annotations

from typing import Annotated

from opsapp.wire.kinds import Choice

LEVELS = ("observation", "dry-run", "notify", "approve", "execute")
Level = Annotated[str, Choice(*LEVELS)]
SEVERITIES = ("info", "warning", "error", "critical")
RISKS = ("low", "medium", "high")
PREDICTIVE_SOURCES = ("prediction", "anomaly")

# What a case does at a level, before the risk of its action is looked at.
BEHAVIOUR = {
    "observation": "observe",
    "dry-run": "simulate",
    "notify": "notify",
    "approve": "request_approval",
    "execute": "execute",
}


def rank(level: str) -> int:
    return LEVELS.index(level)


def rank_of_risk(risk: str) -> int:
    return RISKS.index(risk)


def lowest(*levels: str) -> str:
    return min(levels, key=rank)


def one_below(level: str) -> str:
    return LEVELS[max(rank(level) - 1, 0)]


def one_above(level: str) -> str | None:
    return LEVELS[rank(level) + 1] if rank(level) + 1 < len(LEVELS) else None


def behaviour(level: str, risk: str) -> str:
    """The stricter of level and risk wins."""
    does = BEHAVIOUR[level]
    return "request_approval" if does == "execute" and risk == "high" else does


def tells_people(level: str, risk: str) -> bool:
    """A medium risk that runs by itself is announced."""
    return behaviour(level, risk) == "execute" and risk == "medium"
