"""The HTTP surface of /api/automations and /api/secrets: validated input, one call, a dict."""

from __future__ import annotations

from typing import Any

IMPORT_LIMIT = 8 << 20


def includeme(config: Any) -> None:
    config.add_body_limit("POST", "/api/automations/import", IMPORT_LIMIT)
    config.scan("opsapp.automations.views")
