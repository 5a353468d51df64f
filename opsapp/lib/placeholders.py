"""What stands in a text for a value: `{{input:name}}`, `{{secret:name}}`, `{{event:name}}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

PLACE = re.compile(r"\{\{\s*(input|secret|event):([A-Za-z0-9_.-]{1,64})\s*\}\}")


def places(value: Any) -> set[tuple[str, str]]:
    """Every (kind, name) anywhere in this value."""
    if isinstance(value, str):
        return set(PLACE.findall(value))
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return {place for part in parts for place in places(part)}
