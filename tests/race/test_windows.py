"""Many switch one window at once: what is answered is what happened, in some order, and nothing is left half done."""

import pytest

from opsapp.maintenance.engine import board_of, windows
from opsapp.maintenance.records import WindowRecord
from opsapp.maintenance.resources import windows_of
from opsapp.wire import records
from tests.support.app import Service
from tests.support.together import at_once

WINDOW = {
    "name": "w",
    "start": "2058-01-01T00:00:00",
    "end": "2058-01-01T01:00:00",
    "recurring": None,
    "scope": [],
    "autonomy_override": "disabled",
    "enabled": True,
}


@pytest.fixture
def service(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    service = Service(tmp_path)
    yield service
    service.close()


def together(service, made, *deeds):
    """All at the same moment; how each went: done, a refusal's code, or gone."""

    def done(root, deed):
        window = windows_of(root).get(made)
        if window is None:
            return "gone"
        getattr(windows, deed)(root, window)
        return "done"

    return at_once([lambda deed=deed: service.transact(done, deed) for deed in deeds])


def is_active(service, made):
    return service.transact(lambda root: windows_of(root)[made].shown(service.clock.now(), "UTC").active)


@pytest.mark.parametrize("attempt", range(3))
def test_switched_on_by_many_it_is_on_once(service, attempt):
    made = service.transact(lambda root: windows.create(root, records.made(WindowRecord, WINDOW), "otto").__name__)
    results = together(service, made, *["activate"] * 8)
    assert sorted(results) == ["already_active"] * 7 + ["done"]
    assert is_active(service, made)
    assert board_of(service.node).covered(service.clock.now())("x")
    assert sorted(together(service, made, *["deactivate"] * 8)) == ["done"] + ["not_active"] * 7
    assert not is_active(service, made)
    assert not board_of(service.node).covered(service.clock.now())("x")


@pytest.mark.parametrize("attempt", range(3))
def test_on_off_and_deleted_at_once(service, attempt):
    made = service.transact(lambda root: windows.create(root, records.made(WindowRecord, WINDOW), "otto").__name__)
    deeds = ["activate", "deactivate"] * 3 + ["delete"] * 2
    results = together(service, made, *deeds)
    on = [result for deed, result in zip(deeds, results, strict=True) if deed == "activate"].count("done")
    off = [result for deed, result in zip(deeds, results, strict=True) if deed == "deactivate"].count("done")
    assert results[-2:] in (["done", "gone"], ["gone", "done"])
    assert on - off in (0, 1), "it goes off only after it went on"
    assert service.transact(lambda root: windows_of(root).get(made) is None)
