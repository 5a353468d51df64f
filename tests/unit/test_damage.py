"""What counts as damage of an object, and how a B-tree is read around what is broken in it."""

import errno
from pickle import UnpicklingError

import pytest
from BTrees.OOBTree import OOBTree
from persistent import Persistent
from persistent.mapping import PersistentMapping
from ZEO.Exceptions import ClientDisconnected
from ZODB.broken import find_global
from ZODB.FileStorage.format import CorruptedDataError
from ZODB.POSException import POSKeyError, ReadConflictError, StateLoadError

from opsapp.lib.problems import StoreAway, Unopened, Unreadable
from opsapp.tree.damage import Damage, is_damage, is_of_the_store, keys_of, load, loaded, reason_of
from opsapp.tree.folder import Folder, Record
from opsapp.tree.sharded import ShardedTree
from tests.support.stores import Stores


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (POSKeyError(b"\0" * 8), True),
        (StateLoadError(), True),
        (CorruptedDataError(), True),
        (UnpicklingError(), True),
        (AttributeError(), True),
        (OSError(errno.EIO, "bad sector"), True),
        (OSError(errno.ENOSPC, "full"), False),
        (Unreadable("Monitor 1", "TypeError"), True),
        (Unopened("no key", code="no_master_key"), True),
        (ClientDisconnected(), False),
        (ReadConflictError(), False),
        (StoreAway(), False),
        (MemoryError(), False),
        (ZeroDivisionError(), True),
        (RuntimeError(), False),
    ],
)
def test_what_is_damage_and_what_passes(problem, expected):
    assert is_damage(problem) is expected


def test_how_it_is_called():
    named, nameless = Damage("monitor", "1", "Shop", "gone"), Damage("agent", "2", "", "gone")
    assert (str(named), str(nameless)) == ("monitor Shop (1)", "agent (2)")
    assert str(Damage("part of the list of monitors", "", "", "gone")) == "part of the list of monitors"
    assert reason_of(ValueError("x" * 1000)).startswith("ValueError: xxx")
    assert len(reason_of(ValueError("x" * 1000))) == 200


def test_how_it_was_found():
    damaged = Damage.found("monitor", "1", ValueError("x"), "Shop")
    assert damaged == ("monitor", "1", "Shop", "ValueError: x", False)
    assert damaged.said == "its object in the store is damaged (ValueError: x)"
    shut = Unopened("This node does not have the key.", code="no_master_key", name="Shop")
    assert Damage.found("monitor", "1", shut) == ("monitor", "1", "Shop", "This node does not have the key.", True)
    assert Damage.found("monitor", "1", shut, "Before").name == "Before"
    assert Damage.found("monitor", "1", shut).said == "This node does not have the key."


class Pair(Record):
    loads_with = ("left", "right")

    def __init__(self, left):
        self.left, self.right = left, None


def test_an_item_is_loaded_with_its_parts():
    pair = Pair(Persistent())
    assert load(pair) is pair
    assert loaded(pair, "Pair 1") is pair


def test_what_has_a_sealed_part_that_was_not_opened_is_not_loaded():
    class Shut(Persistent):
        unopened = Unopened("no key", code="no_master_key")

    with pytest.raises(Unopened):
        load(Shut())
    with pytest.raises(Unopened, match="no key"):
        loaded(Shut(), "Shut 1")


def test_a_class_that_is_not_there_is_damage():
    broken = find_global("opsapp.nowhere", "Nothing")()
    with pytest.raises(TypeError, match=r"opsapp\.nowhere\.Nothing"):
        load(broken)
    with pytest.raises(Unreadable, match="Nothing 1 cannot be read"):
        loaded(broken, "Nothing 1")


def test_a_store_that_is_away_is_no_damage_of_what_is_asked_for():
    class Far(Persistent):
        def _p_activate(self):
            raise ClientDisconnected

    with pytest.raises(ClientDisconnected):
        loaded(Far(), "Far 1")


@pytest.fixture
def stores(tmp_path):
    stores = Stores(tmp_path)
    yield stores
    stores.close()


@pytest.mark.parametrize("count", [0, 1, 5, 200, 5000])
@pytest.mark.parametrize("kind", [OOBTree, ShardedTree])
def test_all_keys_of_a_sound_tree(stores, kind, count):
    names = [f"{n:05}" for n in range(count)]

    def fill(root):
        tree = root["tree"] = kind()
        for name in names:
            tree[name] = PersistentMapping()

    stores.transact(fill)
    assert stores.transact(lambda root: keys_of(root["tree"])) == (names, [])


@pytest.mark.parametrize("problem", [StateLoadError(), ClientDisconnected()])
def test_a_bucket_that_cannot_be_read_hides_no_other(stores, problem):
    def fill(root):
        tree = root["tree"] = OOBTree()
        for n in range(200):
            tree[f"{n:05}"] = 1

    def broken(root):
        tree = root["tree"]
        lost = tree._firstbucket._next if hasattr(tree, "_firstbucket") else tree.__getstate__()[0][2]
        names = set(lost.keys())
        lost._p_deactivate()
        real, connection = root._p_jar.setstate, root._p_jar

        def setstate(item):
            if item._p_oid == lost._p_oid:
                raise problem
            real(item)

        connection.setstate = setstate
        try:
            return names, keys_of(tree)
        finally:
            del connection.setstate

    stores.transact(fill)
    if not is_damage(problem):
        with pytest.raises(ClientDisconnected):
            stores.transact(broken)
        return
    names, (keys, reasons) = stores.transact(broken)
    assert names
    assert keys == sorted({f"{n:05}" for n in range(200)} - names)
    assert len(reasons) == 1


def test_a_folder_says_which_child_cannot_be_read():
    folder = Folder()
    folder["sound"] = Record()
    folder._children["broken"] = find_global("opsapp.nowhere", "Nothing")()
    assert folder["sound"].__name__ == "sound"
    assert keys_of(folder.tree) == (["broken", "sound"], [])
    with pytest.raises(Unreadable, match="broken cannot be read"):
        folder["broken"]


@pytest.mark.parametrize(
    ("problem", "expected"),
    [(StateLoadError(), True), (CorruptedDataError(), True), (Unreadable("x", "y"), True), (KeyError("x"), False)],
)
def test_what_is_no_mistake_of_a_program(problem, expected):
    assert is_of_the_store(problem) is expected
