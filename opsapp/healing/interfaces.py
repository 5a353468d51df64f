"""The one way into healing for other rooms. What healing needs of them it registers or calls by their interfaces."""

from __future__ import annotations

from .config import HealingSettings
from .engine.archive import ArchiveVerdict, archived, case_page, check, ledger_page
from .engine.trace import trace

__all__ = ["ArchiveVerdict", "HealingSettings", "archived", "case_page", "check", "ledger_page", "trace"]
