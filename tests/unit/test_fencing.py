"""Fencing tokens over restores, with clocks that are right and wrong."""

from opsapp.runtime.cluster import fence, leases
from opsapp.tree.root import KEY, Root
from tests.support.stores import Stores


def store(directory, token):
    """A store whose lease was taken over under this token; its main file."""
    directory.mkdir()
    stores = Stores(directory)

    def make(top):
        root = top[KEY] = Root()
        leases.set_up(root)
        root.system["leases"]["healing"] = lease = leases.Lease()
        lease.token = token

    stores.transact(make)
    stores.close()
    return directory / "main.fs"


def test_a_takeover_has_the_time_as_its_token_or_one_more_than_the_last():
    assert fence.next_token(0, 1000.5) == 1_000_500
    assert fence.next_token(7, 1000.5) == 1_000_500
    assert fence.next_token(2_000_000, 1000.5) == 2_000_001


def test_where_the_clock_is_right_a_restored_store_is_not_written(tmp_path):
    main = store(tmp_path / "a", 1_000_000)
    before = main.read_bytes()
    assert fence.newest_token(main) == 1_000_000
    assert not fence.keep_ahead(main, 1_000_000, now=2000.0)
    assert main.read_bytes() == before


def test_a_clock_that_was_ahead_does_not_put_a_restored_store_behind(tmp_path):
    """The store that is set aside gave out tokens of next year."""
    aside, restored = store(tmp_path / "a", 9_000_000), store(tmp_path / "b", 5)
    assert fence.keep_ahead(restored, fence.newest_token(aside), now=2000.0)
    assert fence.newest_token(restored) == 9_000_000


def test_what_cannot_be_read_has_given_out_nothing_that_is_known(tmp_path):
    assert fence.newest_token(tmp_path / "missing") == 0
    (tmp_path / "main.fs").write_bytes(b"no store" * 100)
    assert fence.newest_token(tmp_path / "main.fs") == 0
    empty = tmp_path / "empty"
    empty.mkdir()
    Stores(empty).close()
    assert fence.newest_token(empty / "main.fs") == 0


def test_a_store_has_one_identity_for_good():
    root = Root()
    fence.set_up(root)
    first = fence.store_id(root)
    fence.set_up(root)
    assert fence.store_id(root) == first
    assert len(first) == 32
