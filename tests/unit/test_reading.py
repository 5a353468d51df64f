"""What a folder gives of what can be read, and where it notes the rest."""

import pytest
from BTrees.IOBTree import IOBTree
from ZEO.Exceptions import ClientDisconnected
from ZODB.broken import find_global

from opsapp.lib.problems import Unopened, Unreadable
from opsapp.tree.folder import Folder, Record
from opsapp.tree.reading import NOTED, ChildrenOf
from opsapp.tree.sharded import ShardedTree
from tests.support.stores import Stores


class Things(Folder):
    holds = "thing"


class ManyThings(Things):
    def __init__(self):
        self._children = ShardedTree()


class Shut(Record):
    unopened = Unopened("no key", code="no_master_key")


class Away(Record):
    def _p_activate(self):
        raise ClientDisconnected


@pytest.fixture
def stores(tmp_path):
    stores = Stores(tmp_path)
    yield stores
    stores.close()


def noted(stores, kind="thing"):
    return [damage.id for damage in vars(stores.main).get(NOTED, {}).get(kind, ())]


@pytest.fixture(params=[Things, ManyThings])
def folder(stores, request):
    """With one that is damaged and one that is shut; `ask` asks it in a transaction."""

    def fill(root):
        root["folder"] = folder = request.param()
        for name in ("a", "c"):
            folder[name] = Record()
        folder._children["b"] = find_global("opsapp.nowhere", "Nothing")()
        folder["d"] = Shut()

    stores.transact(fill)
    return lambda ask: stores.transact(lambda root: ask(root["folder"]))


def test_a_walk_gives_what_can_be_read(stores, folder):
    assert folder(lambda things: [name for name, _ in things.items()]) == ["a", "c"]
    assert noted(stores) == ["b", "d"]
    assert folder(lambda things: [thing.__name__ for thing in things.values()]) == ["a", "c"]
    assert noted(stores) == ["b", "d"], "each once, however often it is met"


def test_by_name_what_is_shut_is_given_too(stores, folder):
    names = ["d", "b", "a", "nowhere"]
    assert folder(lambda things: [name for name, _ in things.some_items(names)]) == ["d", "a"]
    assert folder(lambda things: [thing.__name__ for thing in things.some(names)]) == ["d", "a"]
    assert noted(stores) == ["b"]
    found = folder(lambda things: [things.find(name) is not None for name in ("a", "b", "d", "nowhere", None)])
    assert found == [True, False, True, False, False]


def test_who_must_tell_damaged_from_missing_gets_both(folder):
    def parted(things):
        read, damaged = things.parted(without=["c"])
        return [thing.__name__ for thing in read], [(damage.id, damage.shut) for damage in damaged]

    assert folder(parted) == (["a"], [("b", False), ("d", True)])
    assert folder(lambda things: (things.get("b") is None, things.get("nowhere"))) == (False, None)


def test_what_is_of_no_use_in_part_is_refused(folder):
    with pytest.raises(Unreadable, match="b cannot be read"):
        folder(lambda things: things.whole())

    def mended(things):
        del things["b"]
        return [thing.__name__ for thing in things.whole()]

    assert folder(mended) == ["a", "c", "d"]


def test_a_page_has_a_row_for_each(folder):
    rows = folder(lambda things: things.page_rows("abd", lambda thing: thing.__name__, lambda damage: f"-{damage.id}"))
    assert rows == ["a", "-b", "d"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda things: list(things.values()),
        lambda things: list(things.some("ea")),
        lambda things: things.page_rows("ea", lambda thing: thing.__name__, lambda damage: damage.id),
    ],
    ids=["all", "some", "page"],
)
def test_a_store_that_is_away_is_told_and_nothing_is_noted_as_damaged(stores, folder, ask):
    def add(things):
        things["e"] = Away()

    folder(add)
    with pytest.raises(ClientDisconnected):
        folder(ask)
    assert noted(stores) == []


def test_what_is_whole_again_is_noted_no_more(stores, folder):
    folder(lambda things: things.find("b"))
    assert noted(stores) == ["b"]

    def mend(things):
        del things["b"]
        things["b"] = Record()

    folder(mend)
    folder(lambda things: things.find("a"))
    assert noted(stores) == ["b"], "nobody has looked"
    folder(lambda things: list(things.values()))
    assert noted(stores) == ["d"]


def test_the_past_and_what_is_not_stored_yet_note_nothing(stores, folder):
    at = stores.main.lastTransaction()
    connection = stores.main.open(at=at)
    assert [name for name, _ in connection.root()["folder"].items()] == ["a", "c"]
    connection.close()
    fresh = Things()
    fresh._children["b"] = find_global("opsapp.nowhere", "Nothing")()
    assert list(fresh.values()) == []
    assert noted(stores) == []


def test_a_tree_that_is_no_folder(stores):
    def fill(root):
        root["tree"] = tree = IOBTree({number: Record() for number in range(500)})
        tree[77] = find_global("opsapp.nowhere", "Nothing")()

    stores.transact(fill)
    count = stores.transact(lambda root: len(list(ChildrenOf(root["tree"], "entry").values())))
    assert count == 499
    assert noted(stores, "entry") == ["77"]
