"""How many stored objects an answer costs, by class: of a list, its rows and what leads to them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ZODB.Connection import Connection


def loads_of(service: Any, monkeypatch: Any, client: Any, path: str) -> tuple[Any, Counter[str]]:
    """The answer to a second asking, after caches of the service are filled, and what it loads from the store."""
    client.get(path)
    loaded: Counter[str] = Counter()
    real = Connection.setstate

    def setstate(connection: Any, persistent: Any) -> None:
        loaded[type(persistent).__name__] += 1
        real(connection, persistent)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "setstate", setstate)
        service.node.store.db.cacheMinimize()
        return client.get(path).json, loaded
