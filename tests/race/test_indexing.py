"""A store that is killed after its index was written is opened from there, with all that was committed since."""

import shutil
import threading

from opsapp.runtime.store.indexed import save_grown
from tests.support.stores import Stores


def write(root, name):
    root[name] = "x" * 200


def test_the_index_is_written_as_the_store_grows_and_while_others_commit(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "killed").mkdir()
    store, written = Stores(tmp_path / "data"), {}
    storage, ended = store.main.storage, threading.Event()

    def writer():
        for n in range(300):
            store.transact(write, f"entry-{n}")
        ended.set()

    threading.Thread(target=writer).start()
    before = storage._saved
    while not ended.is_set():
        save_grown([storage], written, worth=5_000)
    saved = storage._saved - before
    assert saved > 3
    save_grown([storage], written, worth=1 << 30)
    assert storage._saved - before == saved  # it has not grown by so much
    store.transact(write, "last")
    for name in ("main.fs", "main.fs.index", "history.fs"):
        shutil.copy(tmp_path / "data" / name, tmp_path / "killed" / name)  # what a killed process leaves
    store.close()

    again = Stores(tmp_path / "killed")
    assert again.main.storage._used_index
    assert again.transact(sorted) == sorted([f"entry-{n}" for n in range(300)] + ["last"])
    again.close()
