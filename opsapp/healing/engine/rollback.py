"""A rollback that an admin requests. The pipeline performs it, because only it writes the ledger; the caller waits
outside of any transaction, as a greenlet or as a thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import gevent

from opsapp.healing.records import RolledBack
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.messages import RollbackWanted
from opsapp.lib.ids import new_id
from opsapp.lib.problems import Conflict, NotFound, Unavailable
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.actions import ACTIONS

from .inventory import inventory_of

Seen = TypeVar("Seen")


def wait_for(node: Node, look: Callable[[], Seen], *, patience_s: float, every_s: float) -> Seen:
    """Wait until `look` sees something, or return at the end of the patience what it sees then. A greenlet lets others
    run meanwhile."""
    end = node.clock.monotonic() + patience_s
    while not (seen := look()) and node.clock.monotonic() < end:
        (gevent.sleep if node.hub.is_here() else time.sleep)(every_s)
    return seen


PATIENCE_S = 120.0
LOOK_S = 0.1


def refuse_impossible(root: Root, ledger_id: int) -> None:
    """409 if the entry is not final, not reversible, without snapshot, or rolled back already; 503 if its host is
    offline."""
    healing = healing_of(root)
    record = healing.ledger.record(ledger_id)
    if record is None:
        raise NotFound("There is no such ledger entry.")
    if not record.is_final:
        raise Conflict("This heal has not ended yet.", code="not_final")
    if not healing.ledger.can_roll_back(record):
        raise Conflict("This heal has been rolled back already.", code="already_rolled_back")
    action = ACTIONS.get(record.action_type)
    if action is None or not action.reversible:
        raise Conflict("This action cannot be reversed.", code="not_reversible")
    if ledger_id not in healing.snapshots:
        raise Conflict("There is no snapshot to go back to.", code="no_snapshot")
    _refuse_absent(root, healing.snapshots[ledger_id]["agent_id"])


def _refuse_absent(root: Root, agent_id: str) -> None:
    """It would roll back when it returns, perhaps long after somebody wanted it."""
    host = inventory_of(root).by_subject.get(f"agent:{agent_id}")
    if host is None:
        raise Conflict("The agent of this heal no longer exists.", code="no_host")
    if not host.online:
        raise Unavailable(f"{host.name} is offline: nothing was sent to it.", code="host_offline", retry_after=30)


def perform(node: Node, ledger_id: int) -> RolledBack:
    request = new_id()
    node.transact(_ask, ledger_id, request)
    result = wait_for(node, lambda: node.transact(_look, request), patience_s=PATIENCE_S, every_s=LOOK_S)
    if result is None:
        raise Unavailable(
            "The rollback has not ended yet: look at the ledger.", code="still_rolling_back", retry_after=10
        )
    return result


def _ask(root: Root, ledger_id: int, request: str) -> None:
    healing_of(root).book.submit(root, RollbackWanted(ledger_id, request))


def _look(root: Root, request: str) -> RolledBack | None:
    """Once its entry is final; Conflict if somebody else was faster."""
    healing = healing_of(root)
    if request not in healing.answers:
        return None
    entry_id = healing.answers[request]
    if entry_id is None:
        raise Conflict("This heal has been rolled back already.", code="already_rolled_back")
    record = healing.ledger.record(entry_id)
    if record is None or not record.is_final:
        return None
    outcome = str(record.outcome)
    return RolledBack(entry_id, record.rolls_back or 0, outcome, outcome, record.reason)
