"""An embedded store that packs itself: when it has grown, or after a time, and never without the room for it."""

import threading

import pytest
from ZODB.fsIndex import fsIndex

from opsapp.lib.problems import Conflict
from opsapp.runtime.store import diskspace, indexed, pack
from opsapp.runtime.store.pack import DAY_S, LastPack, Packer, PackSettings, is_due

MB = 1 << 20


@pytest.mark.parametrize(
    ("done", "size", "days_later", "due"),
    [
        (None, 1, 0, True),  # nobody knows when
        (LastPack(0, {"main": 40 * MB, "history": 60 * MB}), 199 * MB, 1, False),
        (LastPack(0, {"main": 40 * MB, "history": 60 * MB}), 200 * MB, 1, True),
        (LastPack(0, {"main": MB}), 63 * MB, 1, False),  # twice nothing is nothing
        (LastPack(0, {"main": MB}), 64 * MB, 1, True),
        (LastPack(0, {"main": MB}), MB, 29.9, False),
        (LastPack(0, {"main": MB}), MB, 30, True),
    ],
)
def test_it_is_due_by_growth_or_by_time(done, size, days_later, due):
    assert is_due(done, size, days_later * DAY_S, PackSettings()) is due


@pytest.fixture
def packer(service):
    """Of a store that has grown; it is packed in whatever hour."""
    node = service.node
    service.configure(PackSettings, hour=None, days=0)
    made = Packer(node)
    node.supervisor.add("store-pack", made.look, every=1.0)
    return made


def grow(service):
    for n in range(200):
        service.transact(lambda root, n=n: root.system.__setitem__("ballast", str(n) * 20_000))


def test_a_store_that_has_grown_is_packed_once(service, packer, tmp_path):
    grow(service)
    before = (tmp_path / "main.fs").stat().st_size
    assert service.ada.get("/api/store").json["packed_at"] is None
    packer.look()
    assert (tmp_path / "main.fs").stat().st_size < before / 5
    shown = service.ada.get("/api/store").json
    assert (shown["packed_at"] > 0, shown["pack_problem"]) == (True, None)
    assert not list(tmp_path.glob("*.old")) + list(tmp_path.glob("*.pack"))
    grow(service)
    before = (tmp_path / "main.fs").stat().st_size
    service.clock.advance(DAY_S)
    packer.look()
    assert (tmp_path / "main.fs").stat().st_size >= before  # not by so little


def test_only_in_its_hour_and_only_when_it_may(service, packer):
    hour = 1 + int(service.clock.now() % DAY_S) // 3600
    for settings in ({"hour": hour % 24}, {"hour": None, "enabled": False}):
        service.configure(PackSettings, **settings)
        packer.look()
        assert service.transact(pack.last) is None
    service.configure(PackSettings, enabled=True, hour=(hour - 1) % 24)
    packer.look()
    assert service.transact(pack.last) is not None


def test_without_the_room_for_it_nothing_is_packed_and_people_are_told(service, packer, monkeypatch, caplog):
    grow(service)
    monkeypatch.setattr(diskspace, "free", lambda _directory: 10 * MB)
    packer.look()
    assert service.transact(pack.last) is None
    assert "not enough room to pack" in service.ada.get("/api/store").json["pack_problem"]
    assert "not enough room to pack" in caplog.text
    refused = service.ada.post_json("/api/store/pack", {}, status=409).json
    assert refused["code"] == "no_room"
    with pytest.raises(Conflict):
        pack.pack(service.node.store, 1, 0.0)
    monkeypatch.undo()
    packer.look()  # not at once again
    assert service.transact(pack.last) is None
    service.clock.advance(DAY_S)
    packer.look()
    assert service.node.pack_problem is None
    assert service.transact(pack.last) is not None


def test_what_is_written_while_it_packs_is_there_afterwards(service, packer):
    grow(service)
    thread = threading.Thread(target=packer.look)
    thread.start()
    for n in range(50):
        service.transact(lambda root, n=n: root.system.__setitem__(f"meanwhile {n}", n))
    thread.join()
    assert service.transact(lambda root: [root.system[f"meanwhile {n}"] for n in range(50)]) == list(range(50))
    assert service.transact(pack.last) is not None


def test_a_pack_that_breaks_off_at_its_index_leaves_none_that_is_stale(service, packer, tmp_path, monkeypatch):
    """A start would take the file for one that was cut off."""

    def full(*_):
        raise OSError(28, "No space left on device")

    grow(service)
    service.node.store.db.storage._save_index()
    assert not indexed.is_cut_off(tmp_path / "main.fs")
    monkeypatch.setattr(fsIndex, "save", full)
    with pytest.raises(OSError, match="No space left"):
        pack.pack(service.node.store, 0, service.clock.now())
    monkeypatch.undo()
    assert not list(tmp_path.glob("main.fs.old"))
    assert not indexed.is_cut_off(tmp_path / "main.fs")
