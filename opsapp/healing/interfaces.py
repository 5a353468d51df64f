"""The one way into healing for other rooms. What healing needs of them it registers or calls by their interfaces."""

from __future__ import annotations

from .config import HealingSettings
from .engine.trace import trace

__all__ = ["HealingSettings", "trace"]
