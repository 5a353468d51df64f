"""Real two-database stores in a directory, and a plain `transact` over them, for tests that need no server."""

import contextlib

import transaction
import ZODB
from ZODB.FileStorage import FileStorage
from ZODB.POSException import ConflictError


class Stores:
    def __init__(self, directory):
        self.directory = directory
        databases = {}
        self.main = ZODB.DB(FileStorage(str(directory / "main.fs")), database_name="main", databases=databases)
        self.history = ZODB.DB(FileStorage(str(directory / "history.fs")), database_name="history", databases=databases)

    def close(self):
        self.main.close()
        self.history.close()

    @contextlib.contextmanager
    def begin(self):
        """The main root in a transaction; commits at the end of the block."""
        manager = transaction.TransactionManager(explicit=True)
        manager.begin()
        connection = self.main.open(manager)
        try:
            yield connection.root()
            manager.commit()
        except BaseException:
            manager.abort()
            raise
        finally:
            connection.close()

    def transact(self, fn, *values, tries=5):
        for left in reversed(range(tries)):
            try:
                with self.begin() as root:
                    return fn(root, *values)
            except ConflictError:
                if not left:
                    raise

    def measured(self, fn, *values):
        """`fn(history root, *values)` in a transaction."""
        return self.transact(lambda root: fn(root._p_jar.get_connection("history").root(), *values))


def stands_still(db):
    """A commit that stands still between its vote and its end: its connection and its transaction."""
    manager = transaction.TransactionManager()
    stuck = db.open(manager)
    stuck.root()["shared"]["by"] = "the one that stands still"
    voted = manager.get()
    stuck.tpc_begin(voted)
    stuck.commit(voted)
    stuck.tpc_vote(voted)
    return stuck, voted
