"""How many lasting answers there may be, of one caller whatever its credentials, and of all. People leave a part of all
connections to agents, and both some to requests that end. Hub only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from opsapp.web.identity import Identity

from .limits import Limits
from .refusal import Refusal

LASTING_SHARE = 0.9
AGENT = "agent"
RETRY_LATER = {"Retry-After": "5"}


class Lasting:
    def __init__(self, limits: Callable[[], Limits]):
        self._limits = limits
        self._connections: set[object] = set()
        self._by_caller: Counter[tuple[bool, str]] = Counter()
        self._of_agents = 0

    def __contains__(self, connection: object) -> bool:
        return connection in self._connections

    @contextmanager
    def holding(self, connection: object, caller: Identity | None) -> Iterator[None]:
        is_agent = caller is not None and caller.kind == AGENT
        self._check_room(is_agent=is_agent)
        name = (is_agent, caller.name) if caller is not None else None
        if name is not None and self._by_caller[name] >= self._limits().streams_per_user:
            most = self._limits().streams_per_user
            text = f"You have {most} streams, sessions or uploads open: close one."
            raise Refusal(429, "too_many_streams", text, keep=True, headers=RETRY_LATER)
        self._connections.add(connection)
        self._of_agents += is_agent
        if name is not None:
            self._by_caller[name] += 1
        try:
            yield
        finally:
            self._connections.discard(connection)
            self._of_agents -= is_agent
            if name is not None:
                self._by_caller[name] -= 1
                if not self._by_caller[name]:
                    del self._by_caller[name]

    def _check_room(self, *, is_agent: bool) -> None:
        limits = self._limits()
        people = len(self._connections) - self._of_agents
        is_full = len(self._connections) >= limits.max_connections * LASTING_SHARE
        if is_full or (not is_agent and people >= limits.max_connections * (LASTING_SHARE - limits.agents_share)):
            raise Refusal(503, "overloaded", "Too many streams are open.", keep=True, headers=RETRY_LATER)
