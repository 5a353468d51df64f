"""Who holds the leases of a cluster, as the store has it."""

import contextlib

import transaction
import zodburi
from ZODB import DB

from opsapp.tree.root import KEY


class LeaseBook:
    """A connection of its own to the store."""

    def __init__(self, uri):
        factory, options = zodburi.resolve_uri(uri)
        self._db = DB(factory(), **options)

    def close(self):
        self._db.close()

    def owners(self):
        """The name of the node that holds each lease; "" of one that is free."""
        manager = transaction.TransactionManager(explicit=True)
        manager.begin()
        connection = self._db.open(manager)
        try:
            leases = connection.root()[KEY].system["leases"]
            return {name: lease.owner.partition(":")[0] for name, lease in leases.items()}
        finally:
            manager.abort()
            connection.close()

    def all_held_by(self, name):
        owners = self.owners()
        return bool(owners) and set(owners.values()) == {name}


@contextlib.contextmanager
def lease_book(uri):
    book = LeaseBook(uri)
    try:
        yield book
    finally:
        book.close()
