"""Real two-database stores in a directory or at addresses, and a plain `transact` over them, for tests that need no
server."""

import contextlib

import transaction
import ZODB
import zodburi
from ZODB.FileStorage import FileStorage
from ZODB.POSException import ConflictError


@contextlib.contextmanager
def opened(uri):
    """The database at an address, as a store's URI is written."""
    factory, options = zodburi.resolve_uri(uri)
    db = ZODB.DB(factory(), **options)
    try:
        yield db
    finally:
        db.close()


class Stores:
    def __init__(self, directory, addresses=()):
        """`addresses`: of `main` and of `history`, when they are not files of the directory."""
        self.directory = directory
        self._databases = {}
        where = dict(zip(("main", "history"), addresses, strict=False))
        self.main, self.history = (self._open(name, where.get(name)) for name in ("main", "history"))

    def _open(self, name, address):
        factory, options = zodburi.resolve_uri(address) if address else (self._file(name), {})
        return ZODB.DB(factory(), **{**options, "database_name": name, "databases": self._databases})

    def _file(self, name):
        return lambda: FileStorage(str(self.directory / f"{name}.fs"))

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
