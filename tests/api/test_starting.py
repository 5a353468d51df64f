"""What tests take over from an application before them is what their own start would make."""

import pytest
from pyramid.config import Configurator

from opsapp import app as opsapp_app
from opsapp.runtime.cluster.fence import store_id
from opsapp.tree.root import Api
from opsapp.web import openapi
from tests.support import readystore
from tests.support.app import Service


@pytest.fixture
def slow(tmp_path, monkeypatch, service):
    """A service that takes over nothing."""
    monkeypatch.setattr(opsapp_app, "Configurator", Configurator)
    monkeypatch.setattr(readystore, "_ready", {})
    slow = Service(tmp_path / "slow")
    yield slow
    slow.close()


def kinds(registry):
    """Where something was registered, and what is in use there: a view, or how many that are told apart by method."""
    in_use = {place: registry.adapters.registered(*place) for place in registry._adapter_registrations}
    return {place: (type(used).__name__, len(getattr(used, "views", ()))) for place, used in in_use.items()}


def test_an_application_has_the_views_of_a_slow_start(service, slow):
    assert kinds(service.app.registry) == kinds(slow.app.registry)
    assert openapi.document(service.app.registry) == openapi.document(slow.app.registry)


def test_a_view_that_a_test_adds_is_its_own(service, tmp_path):
    config = Configurator(registry=service.app.registry)
    config.add_view(lambda context, request: None, context=Api, name="docs", request_method="PUT")
    config.add_view(lambda context, request: None, context=Api, name="added", request_method="GET")
    config.commit()
    other = Service(tmp_path / "other")
    names = [entry["introspectable"]["name"] for entry in other.app.registry.introspector.get_category("views")]
    other.close()
    assert "added" not in names
    assert names.count("docs") == 1


def records(root):
    """The tree by path, with the class of each record and what of its plain values is made by nobody's chance."""

    def below(item, path):
        yield path, type(item).__name__
        for name, child in sorted(getattr(item, "items", dict)()):
            if hasattr(child, "_p_jar"):
                yield from below(child, f"{path}/{name}")

    return [*below(root, ""), *sorted(root.system), *root.system["evolved"]]


def test_a_store_has_what_a_slow_start_makes_and_an_identity_of_its_own(service, slow):
    assert service.read(records) == slow.read(records)
    assert service.read(store_id) != slow.read(store_id)
    for known in (service, slow):
        entries = known.ada.get("/api/audit").json
        assert [(entry["time"], entry["action"], entry["target"]) for entry in entries] == [
            (known.clock.now(), "user.create", "admin")
        ], entries
