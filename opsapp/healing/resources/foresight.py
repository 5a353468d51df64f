"""Stores what was foreseen at the last look, and the events that people were told of."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Mapping

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.healing.foretold import ForecastRecord
from opsapp.wire.records import made, plain

SOONEST = 50


DRAWN = ("fan", "past")


class ForesightBook(Persistent):
    """An agent's forecasts are one packed value: each look makes all anew."""

    bound: float | None = None  # how rare an anomaly has to be, as the last whole look found it

    def __init__(self) -> None:
        self.packed = OOBTree()  # agent id -> bytes
        self.soonest: tuple[Mapping[str, object], ...] = ()  # those that come true first, without their pictures
        self.told: dict[tuple[str, str, str], float] = {}  # (source, rule, target) -> when

    def keep(self, agent_id: str, rows: list[ForecastRecord]) -> None:
        if rows:
            self.packed[agent_id] = zlib.compress(json.dumps([*map(plain, rows)], separators=(",", ":")).encode())
        else:
            self.packed.pop(agent_id, None)

    def of(self, agent_id: str) -> list[ForecastRecord]:
        packed = self.packed.get(agent_id)
        rows = [] if packed is None else json.loads(zlib.decompress(packed))
        return [made(ForecastRecord, row) for row in rows]

    def about(self, agent_id: str | None, seen: Collection[str] | None) -> list[ForecastRecord]:
        """Of one agent, or of all; of those that are `seen` alone, where that is not None."""
        agents = self.packed if agent_id is None else (agent_id,)
        return [row for known in agents if seen is None or known in seen for row in self.of(known)]

    def coming(self) -> list[ForecastRecord]:
        return [made(ForecastRecord, row) for row in self.soonest]

    def close(self, agents: Iterable[str], coming: Iterable[ForecastRecord]) -> None:
        """Agents that are gone have no forecasts."""
        for gone in set(self.packed) - set(agents):
            del self.packed[gone]
        first = map(plain, sorted(coming, key=lambda row: row.hits_at or 0)[:SOONEST])
        self.soonest = tuple({name: value for name, value in row.items() if name not in DRAWN} for row in first)
