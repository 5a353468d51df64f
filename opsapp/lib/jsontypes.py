"""The type of a JSON document at the edges: a request's body, an answer, a frame, a YAML file."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
