"""/api/healing over the resources and the engine. One file per kind of thing; what all of them need is here."""

from __future__ import annotations

WORST_FIRST = ("critical", "error", "warning", "info")
