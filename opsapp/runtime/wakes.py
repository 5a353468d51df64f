"""Wake-ups after a commit: from the thread that committed to the workers of the queue.

They carry nothing: the queue is in the store, so a lost wake-up costs a moment and never an effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opsapp.tree.root import Root

from .base import base_of


def wake_after_commit(root: Root, *names: str) -> None:
    after_commit(root, base_of(root).wake, *names)


def after_commit(root: Root, fn: Callable[..., Any], *values: Any) -> None:
    """Call `fn` once the present transaction is committed, in its thread. For memory and wake-ups only: what must not
    be lost is a row of a queue."""
    connection: Any = root._p_jar
    store = base_of(root).store

    def call(committed: bool) -> None:
        if committed:
            store.note_commit()  # whoever is woken looks at once whether there was any
            fn(*values)

    connection.transaction_manager.get().addAfterCommitHook(call)
