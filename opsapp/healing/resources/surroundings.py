"""The name of the module under which stores that began with 0.1.0 hold their dependencies. Nothing else lives here."""

from __future__ import annotations

from .dependencies import Dependencies

__all__ = ["Dependencies"]
