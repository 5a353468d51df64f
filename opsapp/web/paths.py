"""Tables over paths that the hub reads before anything is routed: sinks, large bodies, lanes of their own. Filled by
`includeme` (`config.add_sink`, `add_body_limit`, `add_own_lane`, `add_forwardable`)."""

from __future__ import annotations

import re
from typing import Any

REGISTRY_KEY = "opsapp.paths"
SIGN_IN_LIMIT = 16 << 10  # bytes of a body by which somebody signs in


class Paths:
    """What is special about which path. A `*` in a pattern stands for one segment."""

    def __init__(self) -> None:
        self._sinks: list[tuple[str, re.Pattern[str], int]] = []
        self._limits: list[tuple[str, re.Pattern[str], int]] = []
        self._forwardable: list[tuple[str, re.Pattern[str]]] = []
        self._lanes: list[tuple[str, re.Pattern[str], str]] = []

    def add_sink(self, method: str, pattern: str, above: int = -1) -> None:
        """Its body is left unread until its view has answered, if it has more than `above` bytes or does not say how
        many."""
        self._sinks.append((method, _compiled(pattern), above))

    def add_body_limit(self, method: str, pattern: str, limit: int) -> None:
        """Such a request may carry a body of up to `limit` bytes."""
        self._limits.append((method, _compiled(pattern), limit))

    def add_own_lane(self, method: str, pattern: str, name: str) -> None:
        """Such requests may come as a storm: nobody else waits behind them."""
        self._lanes.append((method, _compiled(pattern), name))

    def lane(self, method: str, path: str) -> str | None:
        for known, pattern, name in self._lanes:
            if method == known and pattern.fullmatch(path):
                return name
        return None

    def add_forwardable(self, method: str, pattern: str) -> None:
        """Such a request may come from another node of the cluster."""
        self._forwardable.append((method, _compiled(pattern)))

    def is_forwardable(self, method: str, path: str) -> bool:
        return any(method == known and pattern.fullmatch(path) for known, pattern in self._forwardable)

    def is_sink(self, method: str, path: str, length: int | None) -> bool:
        return any(
            method == known and (length is None or length > above) and pattern.fullmatch(path)
            for known, pattern, above in self._sinks
        )

    def body_limit(self, method: str, path: str, default: int) -> int:
        for known, pattern, limit in self._limits:
            if method == known and pattern.fullmatch(path):
                return limit
        return default


def _compiled(pattern: str) -> re.Pattern[str]:
    """Empty segments are no segments to traversal, so they are none here."""
    parts = [part for part in pattern.split("/") if part]
    return re.compile("".join("/+" + ("[^/]+" if part == "*" else re.escape(part)) for part in parts) + "/*")


def includeme(config: Any) -> None:
    """Directives for features; the table is `registry["opsapp.paths"]`."""
    paths = config.registry.setdefault(REGISTRY_KEY, Paths())
    config.add_directive("add_sink", lambda _config, method, pattern, above=-1: paths.add_sink(method, pattern, above))
    config.add_directive(
        "add_own_lane", lambda _config, method, pattern, name: paths.add_own_lane(method, pattern, name)
    )
    config.add_directive("add_forwardable", lambda _config, method, pattern: paths.add_forwardable(method, pattern))
    config.add_directive(
        "add_body_limit", lambda _config, method, pattern, limit: paths.add_body_limit(method, pattern, limit)
    )
