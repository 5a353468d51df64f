"""The tree as it was: reads over a historical connection, and how far back they reach.

Only the main database: series are kept by time anyway. The limits are the store's own times, not the node's clock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import transaction
from persistent.TimeStamp import TimeStamp
from transaction.interfaces import NoTransaction
from ZEO.Exceptions import ClientDisconnected
from ZODB.POSException import POSKeyError, ReadConflictError

from opsapp.lib.problems import Gone, StoreAway
from opsapp.tree.root import Root, root_of

PACKED = "packed_until"


def note_pack(root: Root, until: float) -> None:
    """Transaction function, before a pack: what it may drop can be read no more, even if it breaks off."""
    root.system[PACKED] = max(until, root.system.get(PACKED, 0.0))


def readable_since(root: Root) -> float:
    """Transaction function: the last schema step or the pack horizon, whichever is later."""
    evolved = root.system.get("evolved")
    if evolved is None:
        return root.system.get(PACKED, 0.0)
    evolved._p_activate()  # a ghost has no serial
    return max(root.system.get(PACKED, 0.0), TimeStamp(evolved._p_serial).timeTime())


def read_at(db: Any, at: int, fn: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    manager = transaction.TransactionManager(explicit=True)
    connection = db.open(transaction_manager=manager, before=_before(db, at))
    try:
        manager.begin()
        return fn(root_of(connection), *values)
    except ClientDisconnected as away:
        raise StoreAway from away
    except (POSKeyError, ReadConflictError) as missing:  # packed meanwhile, or by somebody who did not tell
        raise gone() from missing
    finally:
        with contextlib.suppress(NoTransaction):
            manager.abort()
        connection.close()


def gone() -> Gone:
    return Gone("The store does not reach back to that time.", code="before_horizon")


def _before(db: Any, at: int) -> bytes:
    """The transaction id before which this whole second lies; no later than what is stored."""
    end = datetime.fromtimestamp(at + 1, timezone.utc)
    seconds = end.second + end.microsecond / 1e6
    wanted = TimeStamp(end.year, end.month, end.day, end.hour, end.minute, seconds).raw()
    last = TimeStamp(db.lastTransaction())
    return min(wanted, last.laterThan(last).raw())
