"""The one way into healing for other rooms."""

from __future__ import annotations

from .config import HealingSettings
from .engine import proposed
from .engine.archive import ArchiveVerdict, archived, case_page, check, ledger_page
from .engine.trace import trace
from .letters import LetterSettings
from .logic.reasons import reason
from .places import healing_of

__all__ = [
    "ArchiveVerdict",
    "HealingSettings",
    "LetterSettings",
    "archived",
    "case_page",
    "check",
    "healing_of",
    "ledger_page",
    "proposed",
    "reason",
    "trace",
]
