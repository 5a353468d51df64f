"""A store names classes as they were called when their objects were written: each is still read."""

import sys
from contextlib import closing, contextmanager
from importlib import import_module
from types import ModuleType

import pytest
import ZODB
from ZODB.broken import Broken
from ZODB.FileStorage import FileStorage

from opsapp.runtime.store import inspection
from opsapp.runtime.store.transactions import Store
from opsapp.tree.classes import ADDRESSES, stored_class

ARGUMENTS = {
    "AttemptLimit": (5, 60, 300),
    "BelievedStep": (1.0, "nginx-down", "box-1", 0, False),
    "LeftPiece": ((), 0.0),
    "LedgerEntry": ({},),
    "RecentHeal": (1.0, "nginx-down", None),
}


@contextmanager
def called_before(cls, address):
    """The class under an address that it had, as the version that had it there would store its objects."""
    now = cls.__module__, cls.__name__, cls.__qualname__
    module, _, name = address.rpartition(".")
    there = sys.modules.get(module)
    sys.modules[module] = holder = there or ModuleType(module)
    setattr(holder, name, cls)
    cls.__module__, cls.__name__, cls.__qualname__ = module, name, name
    yield
    cls.__module__, cls.__name__, cls.__qualname__ = now
    delattr(holder, name)
    if there is None:
        del sys.modules[module]


@pytest.fixture
def written_before(tmp_path):
    """The file of a store that has an object of this class, under an address that the class had."""

    def write(cls, address):
        path = tmp_path / "main.fs"
        with called_before(cls, address), closing(ZODB.DB(FileStorage(str(path)))) as database:
            record = cls(*ARGUMENTS.get(ADDRESSES[address].rpartition(".")[2], ()))
            with database.transaction() as connection:
                connection.root()["record"] = record
        assert address.rpartition(".")[0].encode() in path.read_bytes()
        return path

    return write


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_object_stored_under_its_old_address_is_read(written_before, address):
    module, _, name = ADDRESSES[address].rpartition(".")
    cls = getattr(import_module(module), name)
    path = written_before(cls, address)
    assert inspection.damaged(path) == []
    with closing(ZODB.DB(FileStorage(str(path)))) as database:
        Store({"": database})
        with database.transaction() as connection:
            assert type(connection.root()["record"]) is cls


def test_a_class_that_is_nowhere_stays_broken():
    assert issubclass(stored_class("opsapp.runtime.nowhere", "Lease"), Broken)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_class_stands_where_another_was(address):
    """An object that is written there would be read as the other."""
    module, _, name = address.rpartition(".")
    try:
        there = import_module(module)
    except ModuleNotFoundError:
        return
    assert not hasattr(there, name)
