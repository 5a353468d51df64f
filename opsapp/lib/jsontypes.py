"""The type of a JSON document at the edges: a request's body, an answer, a frame, a YAML file. What the service itself
works with has a type of its own."""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
