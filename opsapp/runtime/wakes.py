"""Wake-ups after a commit: from the thread that committed to whoever works the queue.

They carry nothing. The queue is in the store, so a wake-up that is lost costs a moment and never an effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from persistent import Persistent

if TYPE_CHECKING:
    from opsapp.tree.root import Root

    from .node import Node


def bind(db: Any, node: Node) -> None:
    """Let every connection of this database find its node."""
    db.opsapp_node = node


def node_of(resource: Persistent) -> Node:
    """The node that has opened the database of this resource: the root, or anything stored below it."""
    connection: Any = resource._p_jar
    return connection.db().opsapp_node


def wake_after_commit(root: Root, *names: str) -> None:
    """Wake the workers of these queues once the present transaction is committed."""
    after_commit(root, node_of(root).wake, *names)


def after_commit(root: Root, fn: Callable[..., Any], *values: Any) -> None:
    """Call `fn(*values)` once the present transaction is committed, in its thread. For memory and wake-ups only: what
    must not be lost is a row of a queue."""
    connection: Any = root._p_jar

    def call(committed: bool) -> None:
        if committed:
            fn(*values)

    connection.transaction_manager.get().addAfterCommitHook(call)
