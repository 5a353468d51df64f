"""Object ids after a ZEO server was killed: what it had given to a client and not yet stored, it gives again."""

import pytest
import zodburi
from persistent.mapping import PersistentMapping
from ZODB import DB

from opsapp.runtime.store.transactions import Store, is_connected
from tests.support.process import Zeo
from tests.support.waiting import until

pytestmark = pytest.mark.system


@pytest.fixture
def zeo(tmp_path):
    with Zeo(tmp_path) as zeo:
        yield zeo


@pytest.fixture
def stores(zeo):
    made = []
    for _ in range(2):
        factory, options = zodburi.resolve_uri(zeo.uris()["store"] + "&wait_timeout=5")
        made.append(Store({"": db_of(factory, options)}))
    yield made
    for store in made:
        store.close()


def db_of(factory, options):
    return DB(factory(), **options)


def add(root, name):
    root[name] = PersistentMapping(name=name)


def names(root):
    return {name: root[name]["name"] for name in root}


def plain(connection):
    return connection.root()


def test_no_id_is_used_for_two_objects(zeo, stores):
    for number, store in enumerate(stores):
        store.transact(add, (f"first-{number}",), root_from=plain)
    zeo.kill()
    zeo.start()
    until(lambda: all(is_connected(store.db) for store in stores), 20, what="both connected again")
    for number in range(120):
        for which, store in enumerate(stores):
            store.transact(add, (f"{number}-{which}",), root_from=plain)
    for store in stores:
        until(lambda store=store: len(store.transact(names, (), root_from=plain)) == 242, 5, what="all writes seen")
        found = store.transact(names, (), root_from=plain)
        assert all(name == inside for name, inside in found.items())
