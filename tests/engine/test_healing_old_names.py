"""Stores that were written before a class of healing was renamed or moved are still read."""

from contextlib import contextmanager
from importlib import import_module

import pytest
import transaction
import ZODB
from ZODB.FileStorage import FileStorage

LEDGER = "opsapp.healing.resources.ledger"
MOVED = [
    ("opsapp.healing.resources.deeds", "Deeds", "opsapp.healing.resources.server_actions", "ServerActions"),
    ("opsapp.healing.resources.surroundings", "Dependencies", "opsapp.healing.resources.dependencies", "Dependencies"),
    ("opsapp.healing.resources.ledger", "Entry", LEDGER, "LedgerEntry"),
    ("opsapp.healing.resources.ledger", "Index", LEDGER, "EntryIndex"),
    ("opsapp.healing.resources", "Begun", "opsapp.healing.resources", "RecentHeal"),
    ("opsapp.healing.stages.reported", "Begun", "opsapp.healing.stages.reported", "BelievedStep"),
    ("opsapp.healing.logic.chain", "Mark", "opsapp.healing.logic.chain", "UnsignedLinks"),
    ("opsapp.healing.logic.effectiveness", "Tally", "opsapp.healing.logic.effectiveness", "OutcomeTally"),
]
ARGUMENTS = {
    "LedgerEntry": ({},),
    "RecentHeal": (1.0, "nginx-down", None),
    "BelievedStep": (1.0, "nginx-down", "box-1", 0, False),
}


@pytest.mark.parametrize(("old_module", "old_name", "module", "name"), MOVED)
def test_an_object_stored_under_its_old_name_is_read(tmp_path, old_module, old_name, module, name):
    renamed = getattr(import_module(module), name)
    path = str(tmp_path / "store.fs")
    with called(renamed, old_module, old_name), written(path) as root:
        root["kept"] = renamed(*ARGUMENTS.get(name, ()))
    assert old_module.encode() in (tmp_path / "store.fs").read_bytes()
    with written(path) as root:
        assert type(root["kept"]) is renamed


@contextmanager
def written(path):
    """The root of a store file, committed and closed at the end."""
    database = ZODB.DB(FileStorage(path))
    connection = database.open()
    yield connection.root()
    transaction.commit()
    connection.close()
    database.close()


@contextmanager
def called(renamed, module, name):
    """The class under another name, as it was stored before."""
    present = renamed.__module__, renamed.__name__
    renamed.__module__, renamed.__name__ = module, name
    yield
    renamed.__module__, renamed.__name__ = present
