"""What a pack deletes, a thousand transactions by one statement.

RelStorage finds out what may go, but then puts five questions for each transaction: half of a pack's time. Must not:
decide what is deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from relstorage.adapters.connections import StoreConnection
from relstorage.adapters.packundo import HistoryPreservingPackUndo

log = logging.getLogger(__name__)

PAGE = 1000
DUE = (
    'SELECT tx.tid FROM "transaction" tx LEFT JOIN pack_state_tid old USING (tid)'
    " WHERE tx.tid > 0 AND tx.tid <= %s AND (NOT tx.packed OR old.tid IS NOT NULL) ORDER BY tx.tid"
)
OLD = "old.tid BETWEEN %(first)s AND %(last)s"
STEPS = (
    f"DELETE FROM current_object now USING pack_state old WHERE {OLD} AND now.zoid = old.zoid AND now.tid = old.tid",
    f"DELETE FROM object_state was USING pack_state old WHERE {OLD} AND was.zoid = old.zoid AND was.tid = old.tid",
    f"UPDATE object_state SET prev_tid = 0 FROM pack_state_tid old"
    f" WHERE {OLD} AND object_state.prev_tid = old.tid AND object_state.tid <= %(pack_tid)s",
    'UPDATE "transaction" tx SET packed = TRUE,'
    " is_empty = NOT EXISTS (SELECT FROM object_state was WHERE was.tid = tx.tid)"
    " WHERE tx.tid BETWEEN %(first)s AND %(last)s"
    " AND (NOT tx.packed OR EXISTS (SELECT FROM pack_state_tid old WHERE old.tid = tx.tid))",
)


class BulkPack(HistoryPreservingPackUndo):
    """Each page is a transaction of its own, so that locks are held for moments."""

    def pack(self, pack_tid: int, packed_func: Callable[[int, int], object] | None = None) -> None:
        connection = StoreConnection(self.connmanager)
        try:
            for first, last, deleted in self._pages(connection, pack_tid):
                connection.commit()
                log.info("packed as far as transaction %d, from %d: %d states", last, first, len(deleted))
                if packed_func is not None:
                    for oid, tid in deleted:
                        packed_func(oid, tid)
            self._pack_cleanup(connection)
            connection.commit()
        except BaseException:
            connection.rollback_quietly()
            raise
        finally:
            connection.drop()

    @staticmethod
    def _pages(connection: Any, pack_tid: int) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
        """First and last transaction of each page, and the states that it deleted."""
        cursor = connection.cursor
        cursor.execute("ANALYZE pack_state")  # they were filled a moment ago, and the planner knows nothing of them
        cursor.execute("ANALYZE pack_state_tid")
        cursor.execute(DUE, (pack_tid,))
        tids = [tid for (tid,) in cursor.fetchall()]
        for start in range(0, len(tids), PAGE):
            page = {"first": tids[start], "last": tids[start : start + PAGE][-1], "pack_tid": pack_tid}
            cursor.execute(f"SELECT old.zoid, old.tid FROM pack_state old WHERE {OLD}", page)
            deleted = cursor.fetchall()
            for step in STEPS:
                cursor.execute(step, page)
            yield page["first"], page["last"], deleted
