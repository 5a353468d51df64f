"""What tells a host which service asks it, and whether that is the latest one: the store's identity and fencing tokens.

The identity goes with every copy of the store. A token is the time of a lease's takeover in milliseconds, or the last
token plus one where the clock is behind: so it grows after a restore too. For a clock that was wrong, `opsapp restore`
reads the tokens of the store that it sets aside.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ZODB
from ZODB.FileStorage.FileStorage import FileStorage

from opsapp.runtime.store.embedded import is_store
from opsapp.tree.classes import class_factory
from opsapp.tree.root import KEY, Root

log = logging.getLogger(__name__)

STORE, LEASES = "store-id", "leases"


def set_up(root: Root) -> None:
    """Evolve step: also for stores from before they had an identity."""
    root.system.setdefault(STORE, secrets.token_hex(16))


def store_id(root: Root) -> str:
    identifier: str = root.system[STORE]
    return identifier


def next_token(last: int, now: float) -> int:
    return max(last + 1, int(now * 1000))


def newest_token(main: Path) -> int:
    """0 when there is none, or the store cannot be read."""
    if not is_store(main):
        return 0
    try:
        return _in_store(main, _newest, read_only=True)
    except Exception:  # it may be damaged in any way: that is often why a backup is restored
        log.info("%s cannot be read: only the clock says which fencing token comes next", main.name, exc_info=True)
        return 0


def keep_ahead(main: Path, given_out: int, now: float) -> bool:
    """Make the store in this file give out newer tokens than that one; whether it had to be written. A right clock does
    so by itself."""
    if given_out < int(now * 1000):
        return False
    _in_store(main, lambda leases: _raise(leases, given_out), read_only=False)
    return True


def _newest(leases: Any) -> int:
    return max((lease.token for lease in leases.values()), default=0)


def _raise(leases: Any, least: int) -> int:
    for lease in leases.values():
        lease.token = max(lease.token, least)
    return least


def _in_store(main: Path, fn: Callable[[Any], int], *, read_only: bool) -> int:
    """`fn` over the leases of a store that no server uses."""
    db = ZODB.DB(FileStorage(str(main), read_only=read_only), class_factory=class_factory)
    try:
        with db.transaction() as connection:
            top = connection.root()
            return fn(top[KEY].system[LEASES]) if KEY in top else 0
    finally:
        db.close()
